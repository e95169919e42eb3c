// Runs an experiment in its short form, and checks what every report owes its reader.
#pragma once

#include <tapestry/examples/experiments/registry.h>
#include <tapestry/examples/experiments/render.h>

#include <doctest/doctest.h>

#include <map>
#include <optional>

namespace tapestry::experiments {

/// The report of the short form with three seeds: with tables whose rows are as long as their
/// heads, with pictures, and every claim decided.
inline Report run_quick(const std::string& name, std::uint64_t seed = 1) {
    const Experiment& experiment = find_experiment(name);
    CHECK_FALSE(experiment.question.empty());
    CHECK_FALSE(experiment.theory.empty());
    const Report report = run(experiment, {.quick = true, .seed = seed, .seeds = 3}).report;
    CHECK_FALSE(report.tables.empty());
    CHECK_FALSE(report.figures.empty());
    for (const Table& table : report.tables) {
        CHECK_FALSE(table.rows.empty());
        for (const auto& row : table.rows) CHECK_EQ(row.size(), table.columns.size());
    }
    return report;
}

/// Compares all verdicts, so that a claim that is not named here fails as well. Those that a clock
/// decides are nullopt: they depend on the machine, and on who else is at work there.
inline void check_verdicts(const std::string& name, const Report& report,
                           const std::map<std::string, std::optional<Verdict>>& expected) {
    const Experiment& experiment = find_experiment(name);
    CHECK_EQ(experiment.claims.size(), expected.size());
    for (const Claim& claim : experiment.claims) {
        const auto found = expected.find(claim.name);
        INFO(claim.name);
        REQUIRE(found != expected.end());
        if (!found->second) continue;
        const Interval& decided = report.decided.at(claim.name);
        INFO(decided.mean << ' ' << width_of(decided) << ", rule: " << text_of(claim.rule));
        CHECK_EQ(text_of(judge(claim.rule, decided)), text_of(*found->second));
    }
}

}  // namespace tapestry::experiments
