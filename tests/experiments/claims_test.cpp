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

}  // namespace

TEST_CASE("claims: every row names what exists, and has the verdict of its experiment") {
    const fs::path page = test::source_dir() / "docs/claims.md";
    const Results found = results();
    std::ifstream file(page);
    std::string written, line;
    int rows = 0;
    while (std::getline(file, line)) {
        const Strings cells = cells_of(line);
        if (cells.size() == 3 && cells[0] != "what is said" && !cells[0].starts_with("---")) {
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
                line = fmt::format("| {} | {} | {}{} |", cells[0], cells[1], said,
                                   cells[2].substr(end));
            }
            if (!computed.empty()) CHECK_EQ(said, computed);
            CHECK(std::any_of(std::begin(kVerdicts), std::end(kVerdicts),
                              [&](const char* v) { return said.starts_with(v); }));
        }
        written += line + "\n";
    }
    CHECK(rows > 100);
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) write_file_atomically(page, written);
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
