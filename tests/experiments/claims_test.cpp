// docs/claims.md against what it refers to: experiments, their claims and verdicts, programs,
// files. TAPESTRY_UPDATE=1 inserts the verdicts from docs/experiments.json.
#include <doctest/doctest.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/results.h>
#include <tapestry/tests/source_dir.h>

#include <fmt/ranges.h>
#include <algorithm>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tapestry;
using namespace tapestry::experiments;

namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

std::string trimmed(const std::string& text) {
    const std::size_t from = text.find_first_not_of(' ');
    return from == std::string::npos ? ""
                                     : text.substr(from, text.find_last_not_of(' ') - from + 1);
}

/// The cells of "| a | b |"; empty for any other line.
Strings cells_of(const std::string& line) {
    Strings cells;
    if (!line.starts_with("|")) return cells;
    std::istringstream stream(line.substr(1));
    for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(trimmed(cell));
    return cells;
}

/// The names between backquotes.
Strings names_in(const std::string& cell) {
    Strings names;
    std::istringstream stream(cell);
    std::string piece;
    for (int i = 0; std::getline(stream, piece, '`'); ++i) {
        if (i % 2 == 1) names.push_back(piece);
    }
    return names;
}

bool is_experiment(const std::string& name) {
    const auto& all = all_experiments();
    return std::any_of(all.begin(), all.end(), [&](const Experiment& e) { return e.name == name; });
}

/// Splits "experiment: claim".
std::pair<std::string, std::string> parts_of(const std::string& name) {
    const std::size_t colon = name.find(": ");
    if (colon == std::string::npos) return {name, ""};
    return {name.substr(0, colon), name.substr(colon + 2)};
}

bool exists(const std::string& name) {
    const auto& [experiment, claim] = parts_of(name);
    if (is_experiment(experiment)) {
        const auto& claims = find_experiment(experiment).claims;
        return claim.empty() ||
               std::any_of(claims.begin(), claims.end(),
                           [&wanted = claim](const Claim& c) { return c.name == wanted; });
    }
    const fs::path root = test::source_dir();
    return fs::exists(root / name) || fs::exists(root / "examples/programs" / (name + ".cpp"));
}

/// The verdicts of a row's claims, one if they agree; empty if one has not run.
std::string verdicts_of(const Strings& names, const Results& results) {
    const auto all = corrected_verdicts(results.found);
    Strings verdicts;
    for (const std::string& name : names) {
        const auto& [experiment, claim] = parts_of(name);
        if (claim.empty()) continue;
        const auto found =
            std::find_if(results.found.begin(), results.found.end(),
                         [&, &e = experiment](const Found& f) { return f.name == e; });
        if (found == results.found.end()) return "";
        verdicts.push_back(text_of(all.at({experiment, claim})));
    }
    if (std::count(verdicts.begin(), verdicts.end(), verdicts.empty() ? "" : verdicts[0]) ==
        static_cast<std::ptrdiff_t>(verdicts.size())) {
        verdicts.resize(std::min<std::size_t>(verdicts.size(), 1));
    }
    return fmt::format("{}", fmt::join(verdicts, ", "));
}

Results results() {
    const fs::path file = test::source_dir() / "docs/experiments.json";
    return fs::exists(file) ? results_from_json(read_file(file)) : Results{};
}

constexpr const char* kVerdicts[] = {"holds", "does not hold", "not shown", "shown",
                                     "built", "taught",        "not tried", "see experiments.md"};

/// In Chinese: each of the verdicts that a cell begins with, "holds, not shown; ...".
std::string translated(const std::string& verdicts) {
    const std::pair<const char*, const char*> words[] = {
        {"does not hold", "不成立"}, {"not shown", "未证实"},
        {"holds", "成立"},           {"shown", "已演示"},
        {"built", "已实现"},         {"taught", "已讲解"},
        {"not tried", "未检验"},     {"see experiments.md", "见 experiments.md"}};
    std::string result;
    std::string_view rest = verdicts;
    while (true) {
        const auto* word = std::find_if(std::begin(words), std::end(words),
                                        [&](const auto& w) { return rest.starts_with(w.first); });
        REQUIRE((word != std::end(words)));
        result += word->second;
        rest.remove_prefix(std::string_view(word->first).size());
        if (!rest.starts_with(", ")) return result;
        const auto next = rest.substr(2);
        if (std::none_of(std::begin(kVerdicts), std::end(kVerdicts),
                         [&](const char* v) { return next.starts_with(v); })) {
            return result;
        }
        rest = next;
        result += "、";
    }
}

/// The rows of the tables of four columns, by line.
std::vector<std::pair<std::size_t, Strings>> rows_of(const Strings& lines, const char* header) {
    std::vector<std::pair<std::size_t, Strings>> rows;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Strings cells = cells_of(lines[i]);
        if (cells.size() != 4 || cells[0] == header || cells[0].starts_with("---")) continue;
        rows.emplace_back(i, cells);
    }
    return rows;
}

Strings lines_of(const fs::path& page) {
    std::ifstream file(page);
    Strings lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

}  // namespace

TEST_CASE("claims: every row names what exists, and has the verdict of its experiment") {
    const fs::path page = test::source_dir() / "docs/claims.md";
    const Results found = results();
    std::ifstream file(page);
    std::string written, line;
    int rows = 0;
    while (std::getline(file, line)) {
        const Strings cells = cells_of(line);
        if (cells.size() == 4 && cells[0] != "what is said" && !cells[0].starts_with("---")) {
            ++rows;
            INFO(line);
            CHECK_FALSE(cells[0].empty());
            const Strings names = names_in(cells[1]);
            for (const std::string& name : names) {
                INFO(name);
                CHECK(exists(name));
            }
            const std::string computed = verdicts_of(names, found);
            const std::size_t end = std::min(cells[2].find(';'), cells[2].size());
            std::string said = cells[2].substr(0, end);
            if (!computed.empty() && said != computed &&
                std::getenv("TAPESTRY_UPDATE") != nullptr) {
                said = computed;
                line = fmt::format("| {} | {} | {}{} | {} |", cells[0], cells[1], said,
                                   cells[2].substr(end), cells[3]);
            }
            if (!computed.empty()) CHECK_EQ(said, computed);
            // A number needs a reason why it answers the sentence.
            const bool has_number = std::ranges::any_of(
                names, [](const std::string& name) { return !parts_of(name).second.empty(); });
            CHECK_FALSE(cells[3].empty());
            if (has_number) CHECK(cells[3].size() > 20);
            CHECK(std::any_of(std::begin(kVerdicts), std::end(kVerdicts),
                              [&](const char* v) { return said.starts_with(v); }));
        }
        written += line + "\n";
    }
    CHECK(rows > 100);
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) write_file_atomically(page, written);
}

TEST_CASE("claims: the Chinese page has the same rows, with the same verdicts") {
    const fs::path page = test::source_dir() / "docs/claims.zh.md";
    const Strings english = lines_of(test::source_dir() / "docs/claims.md");
    Strings chinese = lines_of(page);
    const auto said = rows_of(english, "what is said"), told = rows_of(chinese, "说法");
    REQUIRE_EQ(said.size(), told.size());
    for (std::size_t i = 0; i < said.size(); ++i) {
        const std::size_t line = told[i].first;
        const Strings& cells = told[i].second;
        INFO(chinese[line]);
        std::string where = cells[1];  // the same, in the Chinese chapters
        for (auto at = where.find(".zh.md"); at != std::string::npos; at = where.find(".zh.md")) {
            where.erase(at, 3);
        }
        std::string expected = said[i].second[1];
        for (auto at = expected.find(".md#"); at != std::string::npos; at = expected.find(".md#")) {
            expected.erase(at + 3, expected.find(')', at) - at - 3);  // titles differ
        }
        CHECK_EQ(where, expected);
        const std::string verdict = translated(said[i].second[2]);
        if (!cells[2].starts_with(verdict) && std::getenv("TAPESTRY_UPDATE") != nullptr) {
            // The verdicts end where something else than a verdict or "、" begins.
            std::size_t end = 0;
            for (bool found = true; found;) {
                found = false;
                for (const char* word : {"、", "不成立", "未证实", "成立", "已演示", "已实现",
                                         "已讲解", "未检验", "见 experiments.md"}) {
                    if (cells[2].compare(end, std::string_view(word).size(), word) != 0) continue;
                    end += std::string_view(word).size();
                    found = true;
                }
            }
            chinese[line] = fmt::format("| {} | {} | {}{} | {} |", cells[0], cells[1], verdict,
                                        cells[2].substr(end), cells[3]);
            continue;
        }
        CHECK(cells[2].starts_with(verdict));
        CHECK_EQ(cells[3] == "-", said[i].second[3] == "-");
    }
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) {
        write_file_atomically(page, fmt::format("{}\n", fmt::join(chinese, "\n")));
    }
}

TEST_CASE("claims: every claim of an experiment that came of the literature is on the page") {
    std::ifstream file(test::source_dir() / "docs/claims.md");
    std::stringstream text;
    text << file.rdbuf();
    for (const Experiment& experiment : all_experiments()) {
        INFO(experiment.name);
        CHECK(text.str().find("`" + experiment.name) != std::string::npos);
    }
}

TEST_CASE("claims: README counts the verdicts as they are") {
    int counts[3] = {};
    for (const auto& [claim, verdict] : corrected_verdicts(results().found)) {
        ++counts[static_cast<int>(verdict)];
    }
    const auto [holds, fails, open] = counts;
    std::string words, word;
    std::istringstream readme(read_file(test::source_dir() / "README.md"));
    while (readme >> word) words += word + " ";
    CHECK_NE(words.find(fmt::format("put {} statements", holds + fails + open)), std::string::npos);
    CHECK_NE(words.find(fmt::format("{} hold, {} do not, {} could not", holds, fails, open)),
             std::string::npos);
    CHECK_NE(read_file(test::source_dir() / "README.zh.md")
                 .find(fmt::format("{} 条成立，{} 条不成立，{} 条", holds, fails, open)),
             std::string::npos);
}
