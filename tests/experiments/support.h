// Runs an experiment in its short form, and checks what every report owes its reader.
#pragma once

#include <tapestry/examples/experiments/registry.h>
#include <tapestry/examples/experiments/render.h>

#include <doctest/doctest.h>

namespace tapestry::experiments {

/// The report of the short form: with tables whose rows are as long as their heads, with pictures,
/// and with a sentence.
inline Report run_quick(const std::string& name, std::uint64_t seed = 1) {
    const Experiment& experiment = find_experiment(name);
    CHECK_FALSE(experiment.question.empty());
    CHECK_FALSE(experiment.theory.empty());
    const Report report = experiment.run({.quick = true, .seed = seed});
    CHECK_FALSE(report.tables.empty());
    CHECK_FALSE(report.figures.empty());
    CHECK_FALSE(report.verdict.text.empty());
    for (const Table& table : report.tables) {
        CHECK_FALSE(table.rows.empty());
        for (const auto& row : table.rows) CHECK_EQ(row.size(), table.columns.size());
    }
    return report;
}

}  // namespace tapestry::experiments
