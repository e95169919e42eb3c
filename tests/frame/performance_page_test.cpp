// The figures of docs/performance.md and README.md are those of docs/performance.json, which
// tests/peers/run --json writes. Tables of the page stand between
//     <!-- measured RUN: PART PART... --> and <!-- end -->,
// and TAPESTRY_UPDATE=1 writes them; what README.md quotes is listed below.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

using namespace tapestry;
using namespace tapestry::test;

namespace {

/// Numbers of a cell: one, one for each form of a product, or a range.
struct Numbers {
    std::vector<double> values;
    bool range = false;
};

std::optional<Numbers> numbers_of(const std::optional<JsonNode>& node) {
    if (!node) return std::nullopt;
    if (node->is(JsonKind::object)) {
        return Numbers{{node->get<double>("from"), node->get<double>("to")}, true};
    }
    if (node->is(JsonKind::number)) return Numbers{{node->get<double>()}};
    Numbers numbers;
    for (const JsonNode& one : node->elements()) {
        const Numbers inner = *numbers_of(one);
        numbers.range = inner.range;  // the median of a range, then the fastest
        numbers.values.insert(numbers.values.end(), inner.values.begin(), inner.values.end());
    }
    return numbers;
}

/// At most three digits, without zeros that may not have been measured: "0.36", "15.5", "1165".
std::string three_digits(double x) {
    const int before = x < 1 ? 0 : 1 + static_cast<int>(std::floor(std::log10(x) + 1e-9));
    std::string text = fmt::format("{:.{}f}", x, std::max(0, 3 - before));
    if (text.find('.') == std::string::npos) return text;
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

/// Two digits: "0.91", "1.8", "19".
std::string two_digits(double x) { return fmt::format("{:.{}f}", x, x < 1 ? 2 : x < 9.95 ? 1 : 0); }

template <class Text>
std::string joined(const Numbers& numbers, const Text& text) {
    std::string result;
    for (const double x : numbers.values) {
        if (!result.empty()) result += numbers.range ? " to " : ", ";
        result += text(x);
    }
    return result;
}

struct Unit {
    const char* name;
    double factor;
};

Unit unit_of(double seconds) {
    for (const Unit& unit : {Unit{"s", 1}, Unit{"ms", 1e3}}) {
        if (seconds * unit.factor >= (unit.factor == 1 ? 5 : 1)) return unit;
    }
    return {"us", 1e6};
}

/// "15.5, 15.2 ms": the median and the fastest, or another quantile.
std::string times(const std::optional<JsonNode>& side) {
    if (!side) return "";
    std::string text;
    std::optional<Unit> unit;
    for (const char* name : {"median", "fastest", "p95"}) {
        const auto numbers = numbers_of(side->find(name));
        if (!numbers) continue;
        if (!unit) unit = unit_of(numbers->values.front());
        if (!text.empty()) text += ", ";
        text += joined(*numbers, [&](double s) { return three_digits(s * unit->factor); });
    }
    return text + " " + unit->name;
}

/// How many times as fast as `who` a row is: as recorded, or of the medians and of the others.
std::string ratios(const JsonNode& row, const char* who, const char* recorded) {
    if (const auto given = row.find(recorded)) {
        if (!given->is(JsonKind::array)) return joined(*numbers_of(given), two_digits);
        std::string text;
        for (const JsonNode& one : given->elements()) {
            text += (text.empty() ? "" : ", ") + joined(*numbers_of(one), two_digits);
        }
        return text;
    }
    const auto ours = row.find("ours"), theirs = row.find(who);
    if (!ours || !theirs) return "";
    Numbers ratios;
    for (const char* name : {"median", "fastest", "p95"}) {
        const auto a = numbers_of(ours->find(name)), b = numbers_of(theirs->find(name));
        if (!a || !b || b->range) continue;
        for (std::size_t i = 0; i < a->values.size(); ++i) {
            ratios.values.push_back(b->values.at(i) / a->values[i]);
        }
    }
    return joined(ratios, two_digits);
}

std::string share(const JsonNode& row) {
    const auto numbers = numbers_of(row.find("share"));
    if (!numbers) return "";
    return joined(*numbers, [](double x) { return fmt::format("{:.0f}", 100 * x); }) + "%";
}

std::string memory(const JsonNode& row) {
    const auto found = row.find("memory_mb");
    if (!found) return "";
    return fmt::format("{}, {} MB", found->get<double>("ours"), found->get<double>("torch"));
}

using Cells = std::vector<std::string>;

/// A table without the columns that are empty in every row.
std::string table(const std::vector<JsonNode>& rows) {
    std::vector<Cells> lines{{"work", "Tapestry: median, fastest", "PyTorch", "times as fast",
                              "of peak", "libdnnl", "MB: Tapestry, PyTorch"}};
    for (const JsonNode& row : rows) {
        lines.push_back({row.get<std::string>("work"), times(row.find("ours")),
                         times(row.find("torch")), ratios(row, "torch", "ratio"), share(row),
                         times(row.find("library")), memory(row)});
    }
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string line = "|", rule = "|";
        for (std::size_t j = 0; j < lines[i].size(); ++j) {
            const bool used = std::any_of(lines.begin() + 1, lines.end(),
                                          [&](const Cells& cells) { return !cells[j].empty(); });
            if (!used) continue;
            line += lines[i][j].empty() ? " |" : " " + lines[i][j] + " |";
            rule += "---|";
        }
        text += line + "\n" + (i == 0 ? rule + "\n" : "");
    }
    return text;
}

JsonNode run_named(const JsonTree& figures, std::string_view name) {
    for (const JsonNode& run : figures.root().at("runs").elements()) {
        if (run.get<std::string>("name") == name) return run;
    }
    throw ValueError(fmt::format("docs/performance.json has no run \"{}\"", name));
}

/// The rows of "RUN: PART PART...".
std::vector<JsonNode> rows_of(const JsonTree& figures, const std::string& wanted) {
    const std::size_t colon = wanted.find(": ");
    const std::string parts = wanted.substr(colon + 2) + " ";
    std::vector<JsonNode> rows;
    for (const JsonNode& row : run_named(figures, wanted.substr(0, colon)).at("rows").elements()) {
        if (parts.find(row.get<std::string>("part") + " ") != std::string::npos) {
            rows.push_back(row);
        }
    }
    return rows;
}

JsonNode row_of(const JsonTree& figures, const char* run, std::string_view work) {
    for (const JsonNode& row : run_named(figures, run).at("rows").elements()) {
        if (row.get<std::string>("work").starts_with(work)) return row;
    }
    throw ValueError(fmt::format("docs/performance.json has no row \"{}\"", work));
}

double median(const JsonNode& row, const char* who) { return row.at(who).get<double>("median"); }

/// The text without line breaks, for sentences that are wrapped.
std::string on_one_line(std::string text) {
    std::string line;
    std::istringstream words(text);
    for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
    return line;
}

}  // namespace

TEST_CASE("docs/performance.md: the tables are those of docs/performance.json") {
    constexpr std::string_view kMarker = "\n<!-- measured ", kEnd = "<!-- end -->";
    const std::filesystem::path path = source_dir() / "docs/performance.md";
    const JsonTree figures(slurp(source_dir() / "docs/performance.json"));
    const std::string page = slurp(path);
    std::string wanted;
    std::size_t at = 0;
    int tables = 0;
    for (std::size_t begin = 0; (begin = page.find(kMarker, at)) != std::string::npos; ++tables) {
        const std::size_t line_end = page.find('\n', begin + 1), end = page.find(kEnd, begin);
        REQUIRE_NE(end, std::string::npos);
        const std::size_t name = begin + kMarker.size();
        wanted += page.substr(at, line_end + 1 - at) + "\n" +
                  table(rows_of(figures, page.substr(name, page.find(" -->", name) - name))) + "\n";
        at = end;
    }
    wanted += page.substr(at);
    CHECK_GE(tables, 4);
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) return spill(path, wanted);
    CHECK_MESSAGE(
        page == wanted,
        "docs/performance.md is old: run TAPESTRY_UPDATE=1 build/release/tests/test_frame "
        "--test-case='docs/performance.md*', and read git diff");
}

TEST_CASE("README.md: its figures are those of docs/performance.json") {
    const JsonTree figures(slurp(source_dir() / "docs/performance.json"));
    const JsonNode step = row_of(figures, "intel", "GPT step, 4 layers");
    const JsonNode fast = row_of(figures, "recipes", "Tiny Shakespeare");
    const auto ms = [&](const char* who) { return three_digits(1e3 * median(step, who)); };
    const std::string ratio = two_digits(median(step, "torch") / median(step, "ours"));
    const auto seconds = [&](const char* who) { return fmt::format("{:.1f}", median(fast, who)); };
    const std::array<std::pair<std::string, std::vector<std::string>>, 2> quotes{{
        {"README.md",
         {fmt::format("takes {} ms; PyTorch 2.6 needs {} ms", ms("ours"), ms("torch")),
          ratio + " times as long",
          fmt::format("1.85 in {} s, against 1.91 in {} s", seconds("ours"), seconds("torch"))}},
        {"README.zh.md",
         {fmt::format("用 {} ms", ms("ours")), fmt::format("用 {} ms", ms("torch")),
          "的 " + ratio + " 倍", seconds("ours") + " 秒", seconds("torch") + " 秒"}},
    }};
    for (const auto& quote : quotes) {
        const std::string& name = quote.first;
        const std::string text = on_one_line(slurp(source_dir() / name));
        for (const std::string& sentence : quote.second) {
            CHECK_MESSAGE(text.find(sentence) != std::string::npos,
                          name << " should say \"" << sentence << "\"");
        }
    }
}
