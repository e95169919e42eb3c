// The figures of docs/experiments. Those that need only numbers of docs/experiments.json are drawn
// again from it, byte for byte (TAPESTRY_UPDATE=1 writes them). Each has intervals, or the reason
// why not in intervals.txt.
#include <tapestry/core/file.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>
#include <tapestry/tests/experiments/report_again.h>
#include <tapestry/tests/skip.h>
#include <tapestry/tests/source_dir.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

using namespace tapestry;
using namespace tapestry::experiments;
using tapestry::test::skip;

namespace {

namespace fs = std::filesystem;

fs::path docs_folder() { return test::source_dir() / "docs"; }

// The intervals in a figure: whiskers of a Plot, short horizontal lines, or of the values of seeds,
// short vertical ones, two for each; or numbers of a HeatMap.
std::int64_t intervals_in(const std::string& svg) {
    static const std::regex line(R"re(<path d="M([0-9.]+) ([0-9.]+)L([0-9.]+) ([0-9.]+)")re");
    std::int64_t ends = 0;
    for (std::sregex_iterator at(svg.begin(), svg.end(), line), none; at != none; ++at) {
        const double wide = std::stod((*at)[3]) - std::stod((*at)[1]);
        const double tall = std::stod((*at)[4]) - std::stod((*at)[2]);
        ends += tall == 0 && std::abs(wide - 6) < 0.05 ? 1 : 0;
        ends += wide == 0 && std::abs(tall - 8) < 0.05 ? 1 : 0;
    }
    static const std::string kPlusMinus = ">\u00b1";  // in a heat map
    for (auto at = svg.find(kPlusMinus); at != std::string::npos; at = svg.find(kPlusMinus, at + 1))
        ends += 2;
    return ends / 2;
}

// The rows of intervals.txt, "figure | intervals" or "figure | reason", by figure.
std::map<std::string, std::string> expected_intervals() {
    std::istringstream rows(read_file(test::source_dir() / "tests/experiments/intervals.txt"));
    std::map<std::string, std::string> all;
    for (std::string row; std::getline(rows, row);) {
        const std::size_t bar = row.find(" | ");
        if (row.starts_with("#") || bar == std::string::npos) continue;
        CHECK_MESSAGE(all.emplace(row.substr(0, bar), row.substr(bar + 3)).second, row);
    }
    return all;
}

}  // namespace

TEST_CASE("each figure of an experiment has intervals, or a reason why not") {
    const auto expected = expected_intervals();
    std::set<std::string> seen, with_curves;  // experiments whose curves the JSON has
    const fs::path json = docs_folder() / "experiments.json";
    if (!fs::exists(json)) return skip("docs/experiments.json is still to be written");
    for (const Found& found : results_from_json(read_file(json)).found) {
        for (const Outcomes::Entry& trial : found.outcomes.entries()) {
            if (!trial.curves.empty()) with_curves.insert(found.name);
        }
    }
    const auto experiment_of = [](const std::string& figure) {
        return figure.substr(0, figure.find('-'));
    };
    for (const auto& file : fs::directory_iterator(docs_folder() / "experiments")) {
        const std::string name = file.path().stem().string();
        INFO(name);
        seen.insert(name);
        REQUIRE(expected.contains(name));
        const std::int64_t count = intervals_in(read_file(file.path()));
        const std::string& said = expected.at(name);
        if (said == "intervals" || (said == "curves" && with_curves.contains(experiment_of(name))))
            CHECK_GT(count, 0);
        else
            CHECK_EQ(count, 0);
    }
    CHECK_EQ(seen.size(), expected.size());
    Plot plot{.title = "t", .x = {.label = "x"}, .y = {.label = "y"}};
    plot.series.push_back({.name = "s", .x = {1, 2}, .y = {1, 2}, .mark = pictures::Mark::points});
    CHECK_EQ(intervals_in(svg(plot)), 0);
    plot.series[0].error = {0.5, 0.25};
    CHECK_EQ(intervals_in(svg(plot)), 2);
}

TEST_CASE("figures of the page's numbers are drawn from them") {
    const fs::path json = docs_folder() / "experiments.json";
    if (!fs::exists(json)) return skip("docs/experiments.json is still to be written");
    const Results results = results_from_json(read_file(json));
    const auto expected = expected_intervals();
    int compared = 0;
    for (const Found& found : results.found) {
        const Experiment& experiment = find_experiment(found.name);
        const auto has_numbers = [&](const Figure& figure) {
            const std::string& said = expected.at(found.name + "-" + figure.name);
            const bool has_curves = std::ranges::any_of(
                found.outcomes.entries(), [](const auto& trial) { return !trial.curves.empty(); });
            return said == "intervals" || said.starts_with("bytes") ||
                   (said == "curves" && has_curves);
        };
        const auto& figures = found.report.figures;
        if (std::none_of(figures.begin(), figures.end(), has_numbers)) continue;
        for (const Figure& figure : report_again(found, results).figures) {
            if (!has_numbers(figure)) continue;
            const fs::path file = docs_folder() / "experiments" / file_name(experiment, figure);
            if (std::getenv("TAPESTRY_UPDATE") != nullptr) write_file_atomically(file, figure.svg);
            CHECK_MESSAGE(read_file(file) == figure.svg, file);
            ++compared;
        }
    }
    CHECK_GE(compared, 12);
}
