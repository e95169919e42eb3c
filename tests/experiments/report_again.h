// The report of an experiment on the page, made again from its trials in docs/experiments.json.
#pragma once

#include <tapestry/core/error.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>

#include <regex>
#include <string>
#include <vector>

namespace tapestry::experiments {

/// The report alone. Every seed has the mean of all as its curves, since the JSON has no others; a
/// curve of which it has nothing becomes two points. Only figures depend on them.
inline Report report_of(const Experiment& experiment, const Setting& setting,
                        const Outcomes& measured) {
    std::vector<Outcomes::Entry> entries = measured.entries();
    for (Outcomes::Entry& entry : entries) {
        for (const auto& [name, curve] : entry.curves) {
            for (Measured& seed : entry.seeds) seed.curves[name] = curve.mean;
        }
    }
    static const std::regex missing("trial '(.*)' has no curve '(.*?)'[^]*");
    for (;;) {
        try {
            return experiment.report(setting, Outcomes(entries));
        } catch (const ValueError& error) {
            const std::string said = error.what();
            std::smatch found;
            if (!std::regex_match(said, found, missing)) throw;
            for (Outcomes::Entry& entry : entries) {
                if (entry.name != found[1]) continue;
                for (Measured& seed : entry.seeds) seed.curves[found[2]] = {1, 2};
            }
        }
    }
}

/// The same with what run() adds: the table of rates, what stays undecided, the values of seeds.
inline Report report_again(const Found& found, const Results& results) {
    const Experiment& experiment = find_experiment(found.name);
    Report report =
        report_of(experiment, {.seed = results.seed, .seeds = seeds_of(found)}, found.outcomes);
    report.undecided = found.report.undecided;
    const Table& last = found.report.tables.back();
    if (last.title.starts_with("Learning rates")) report.tables.push_back(last);
    if (const auto seeds = seeds_figure(experiment, report)) report.figures.push_back(*seeds);
    return report;
}

}  // namespace tapestry::experiments
