// docs/experiments.md, docs/experiments.json and the figures quoted in the course come from the
// same run: the page matches the JSON, the figures in the chapters match the JSON, and a random
// seed of a random row is reproduced bit for bit.
#include <tapestry/core/cpu.h>
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/school/experiments/chinese_page.h>
#include <tapestry/examples/school/experiments/page_verdicts.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>
#include <tapestry/tests/experiments/quoted.h>
#include <tapestry/tests/experiments/report_again.h>
#include <tapestry/tests/skip.h>
#include <tapestry/tests/source_dir.h>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tapestry;
using namespace tapestry::experiments;
using tapestry::test::skip;

namespace {

namespace fs = std::filesystem;

fs::path docs() { return test::source_dir() / "docs"; }

// Empty if the page has not been generated yet.
std::optional<Results> page_results() {
    if (!fs::exists(docs() / "experiments.json")) return {};
    return results_from_json(read_file(docs() / "experiments.json"));
}

constexpr const char* kNone = "docs/experiments.json is still to be written";

class IsaGuard {
public:
    explicit IsaGuard(Isa isa) : before_(current_isa()) { set_isa(isa); }
    ~IsaGuard() { set_isa(before_); }
    IsaGuard(const IsaGuard&) = delete;
    IsaGuard& operator=(const IsaGuard&) = delete;

private:
    Isa before_;
};

/// One seed of one trial.
struct Drawn {
    const Found* found;
    std::size_t trial, seed;
};

// A random one of those that take seconds and measure no time.
Drawn draw(const Results& results) {
    std::vector<Drawn> all;
    for (const Found& found : results.found) {
        const auto& entries = found.outcomes.entries();
        for (std::size_t t = 0; t < entries.size(); ++t) {
            const auto seeds = entries[t].seeds.size(), runs = seeds + 3 * entries[t].tried.size();
            if (entries[t].timed || entries[t].seconds > 3.0 * static_cast<double>(runs)) continue;
            for (std::size_t s = 0; s < seeds; ++s) all.push_back({&found, t, s});
        }
    }
    REQUIRE_FALSE(all.empty());
    std::random_device device;
    return all[device() % all.size()];
}

// Why this build computes other last digits than the page has; null if it computes the same.
const char* other_machine() {
#if defined(__clang__) || !defined(__OPTIMIZE__)
    return "the page was written by g++'s optimised build";
#endif
    const std::vector<Isa> isas = available_isas();
    if (std::find(isas.begin(), isas.end(), Isa::avx2) == isas.end()) {
        return "this processor has no AVX2, under which the page was written";
    }
    return nullptr;
}

}  // namespace

TEST_CASE("the page of experiments is what its JSON says") {
    const auto results = page_results();
    if (!results) return skip(kNone);
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) {
        write_file_atomically(docs() / "experiments.json", to_json(*results));
        write_file_atomically(docs() / "experiments.md", to_page(*results, "experiments"));
    }
    const std::string json = read_file(docs() / "experiments.json");
    // Rules, sentences and verdicts of the current claims, and every number as read.
    CHECK(to_json(*results) == json);
    CHECK(to_page(*results, "experiments") == read_file(docs() / "experiments.md"));
    CHECK_FALSE(results->quick);
    CHECK_GE(results->seeds, 10);
    CHECK_EQ(results->isa, "avx2");
    std::vector<std::string> names, expected;
    for (const Found& found : results->found) names.push_back(found.name);
    for (const Experiment& experiment : all_experiments()) expected.push_back(experiment.name);
    CHECK(names == expected);
    std::set<fs::path> figures, drawn;
    for (const Found& found : results->found) {
        for (const experiments::Table& table : found.report.tables) {  // "4 layers: ..."
            const bool by_layer = table.title.find(" layers: ") != std::string::npos;
            if (found.name != "layers_roles" || !by_layer) continue;
            CHECK_EQ(table.rows.size(), std::stoul(table.title));
        }
        for (const Figure& figure : found.report.figures) {
            figures.insert(file_name(find_experiment(found.name), figure));
        }
    }
    for (const auto& file : fs::directory_iterator(docs() / "experiments")) {
        drawn.insert(file.path().filename());
    }
    CHECK(figures == drawn);
}

// The lines of page_verdicts.cpp for a list of claims.
std::string literal(const std::vector<std::string>& claims) {
    std::string text = "\"";
    std::size_t width = 0;
    for (const std::string& claim : claims) {
        const bool fits = width + claim.size() <= 84;
        if (width > 0) text += fits ? " " : " \"\n      \"";
        if (!fits) width = 0;
        text += claim;
        width += claim.size() + 1;
    }
    return text + "\"";
}

TEST_CASE("the program knows the verdicts of the page") {
    const auto results = page_results();
    if (!results) return skip(kNone);
    std::string rows;
    for (const Found& found : results->found) {
        const Experiment& experiment = find_experiment(found.name);
        std::map<experiments::Verdict, std::vector<std::string>> claims;
        for (const Claim& claim : experiment.claims) {
            const experiments::Verdict there =
                experiments::verdict(experiment, found.report, claim.name);
            CHECK_MESSAGE(page_verdict(found.name, claim.name) == there, claim.name);
            claims[there].push_back(claim.name);
        }
        rows += fmt::format("    {{\"{}\",\n     {{{},\n      {},\n      {}}}}},\n", found.name,
                            literal(claims[experiments::Verdict::holds]),
                            literal(claims[experiments::Verdict::does_not_hold]),
                            literal(claims[experiments::Verdict::not_shown]));
    }
    const fs::path file = test::source_dir() / "examples/school/experiments/page_verdicts.cpp";
    const std::string source = read_file(file), first = "kPage[] = {\n",
                      end = "};\n// clang-format on";
    const std::size_t from = source.find(first) + first.size(), to = source.find(end);
    REQUIRE(from < to);
    const std::string updated = source.substr(0, from) + rows + source.substr(to);
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) write_file_atomically(file, updated);
    CHECK(updated == source);
}

TEST_CASE("tables and numbers of the page are what the experiments make of its trials") {
    auto results = page_results();
    if (!results) return skip(kNone);
    if (const char* reason = other_machine()) return skip(reason);
    const IsaGuard guard(Isa::avx2);
    const std::string before = to_json(*results);
    for (Found& found : results->found) found.report = report_again(found, *results);
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) {
        write_file_atomically(docs() / "experiments.json", to_json(*results));
        return;
    }
    CHECK(to_json(*results) == before);
}

TEST_CASE("pictures that need no curves are those of the numbers of the page") {
    const auto results = page_results();
    if (!results) return skip(kNone);
    if (const char* reason = other_machine()) return skip(reason);
    const IsaGuard guard(Isa::avx2);
    int compared = 0;
    for (const Found& found : results->found) {
        const Experiment& experiment = find_experiment(found.name);
        Report report;
        try {
            report = experiment.report({.seed = results->seed, .seeds = seeds_of(found)},
                                       found.outcomes);
        } catch (const ValueError& error) {  // run before the JSON had curves
            REQUIRE(std::string(error.what()).find("has no curve") != std::string::npos);
            continue;
        } catch (const std::out_of_range&) {
            continue;
        }
        for (const Figure& figure : report.figures) {
            const fs::path file = docs() / "experiments" / file_name(experiment, figure);
            INFO(file.native());
            if (std::getenv("TAPESTRY_UPDATE") != nullptr) {
                write_file_atomically(file, figure.svg);
            }
            CHECK(figure.svg == read_file(file));
            ++compared;
        }
    }
    CHECK(compared > 12);
}

TEST_CASE("the page of experiments in Chinese has the same numbers, and nothing left in English") {
    const auto results = page_results();
    if (!results) return skip(kNone);
    Chinese chinese(read_file(test::source_dir() / "examples/school/experiments/chinese.txt"));
    const std::string page = to_chinese_page(*results, "experiments", chinese);
    for (const std::string& english : chinese.missing()) {
        FAIL_CHECK("no Chinese for: " << english);
    }
    if (std::getenv("TAPESTRY_UPDATE") != nullptr) {
        write_file_atomically(docs() / "experiments.zh.md", page);
    }
    CHECK(page == read_file(docs() / "experiments.zh.md"));
}

TEST_CASE("the Chinese of experiments: numbers, names in quotes, parts") {
    Chinese chinese(
        "// a comment\n\n# layers of # => # 层宽 #\nsteps => 步\nheld => 留\n"
        "rate of '$' is # => “$”的学习率是 #\n@theory e\na\n\nb\n@end\n");
    CHECK_EQ(chinese.of("2 layers of 1,024.5"), "2 层宽 1,024.5");
    CHECK_EQ(chinese.of("steps, RNN, held"), "步，RNN，留");
    CHECK_EQ(chinese.of("rate of 'steps' is 1e-05"), "“步”的学习率是 1e-05");
    CHECK_EQ(chinese.of("d_k = 64"), "d_k = 64");
    CHECK_EQ(chinese.theory("e"), "a\n\nb\n");
    CHECK(chinese.missing().empty());
    CHECK_EQ(chinese.of("steps, unknown"), "步，unknown");
    CHECK(chinese.missing() == std::set<std::string>{"unknown"});
    CHECK_THROWS_WITH_AS(chinese.theory("f"), "chinese.txt: no theory of f", ValueError);
    CHECK_THROWS_WITH_AS(Chinese("a => b\nc\n"),
                         "chinese.txt: line 2 has no ' => ' and is in no theory", ValueError);
    CHECK_THROWS_WITH_AS(Chinese("a => b\na => c\n"), "chinese.txt: line 2: 'a' occurs twice",
                         ValueError);
}

TEST_CASE("what the course quotes is on the page of experiments, in both languages") {
    const std::vector<Quoted> all =
        read_quoted(read_file(test::source_dir() / "tests" / "experiments" / "quoted.txt"));
    CHECK(all.size() > 20);
    for (const Quoted& quoted : all) {
        INFO(quoted.line);
        for (const char* language : {".md", ".zh.md"}) {
            const std::string chapter = read_file(docs() / "course" / (quoted.chapter + language));
            CHECK_MESSAGE(contains_figure(chapter, quoted.figure), language);
        }
        find_experiment(quoted.experiment);
    }
    const auto results = page_results();
    if (!results) return skip(kNone);
    for (const Quoted& quoted : all) {
        INFO(quoted.line);
        const double value = quoted_value(*results, quoted);
        CHECK_MESSAGE(rounds_to(value, quoted.figure), value);
    }
}

TEST_CASE("a drawn row of the page of experiments comes out again, bit for bit") {
    const auto results = page_results();
    if (!results) return skip(kNone);
    if (const char* reason = other_machine()) return skip(reason);
    const IsaGuard guard(Isa::avx2);
    const Drawn drawn = draw(*results);
    const Outcomes::Entry& entry = drawn.found->outcomes.entries()[drawn.trial];
    const std::uint64_t seed = results->seed + drawn.seed;
    MESSAGE("drawn: " << drawn.found->name << ", " << entry.name << ", seed " << seed);
    const Experiment& experiment = find_experiment(drawn.found->name);
    const auto trials = experiment.trials({.seed = results->seed, .seeds = results->seeds});
    REQUIRE_EQ(trials.size(), drawn.found->outcomes.entries().size());
    const Trial& trial = trials[drawn.trial];
    const Measured again = trial.tuning ? trial.tuning->run(seed, entry.rate()) : trial.run(seed);
    CHECK(again.numbers == entry.seeds[drawn.seed].numbers);
}
