// Runs an experiment in its short form and checks its report: with one seed, whose numbers must be
// consistent with the verdicts, or with three seeds and the verdicts themselves (.ci/long
// examples).
#pragma once

#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>

#include <doctest/doctest.h>
#include <tapestry/core/error.h>
#include <tapestry/tests/skip.h>

#include <map>
#include <optional>
#include <string_view>

namespace tapestry::experiments {

/// The report of the short form: every table row has a cell per column, there are figures, and
/// every claim has its number.
inline Report run_quick(const std::string& name) {
    const Experiment& experiment = find_experiment(name);
    CHECK_FALSE(experiment.question.empty());
    CHECK_FALSE(experiment.theory.empty());
    const Setting setting{.quick = true, .seed = 1, .seeds = test::is_long() ? 3 : 1};
    const Report report = run(experiment, setting).report;
    CHECK_FALSE(report.tables.empty());
    CHECK_FALSE(report.figures.empty());
    for (const Table& table : report.tables) {
        CHECK_FALSE(table.rows.empty());
        for (const auto& row : table.rows) CHECK_EQ(row.size(), table.columns.size());
    }
    return report;
}

inline const Claim& find_claim(const Experiment& experiment, std::string_view name) {
    for (const Claim& claim : experiment.claims) {
        if (claim.name == name) return claim;
    }
    throw ValueError(fmt::format("{} has no claim '{}'", experiment.name, name));
}

/// Checks the verdict of a claim. A single seed cannot show a claim about drawn numbers: its number
/// must obey the rule of a claim that holds and break the rule of one that does not. If three seeds
/// give the verdict, each of them does, because three values lie within their Student's interval.
inline void check_verdict(const Claim& claim, const Report& report, Verdict expected) {
    const Interval& decided = report.decided.at(claim.name);
    INFO(claim.name);
    INFO(decided.mean << ' ' << width_of(decided) << ", rule: " << text_of(claim.rule));
    const bool is_drawn = decided.count > 0 && !test::is_long();
    if (is_drawn && expected == Verdict::not_shown) return;
    const Interval judged = is_drawn ? exactly(decided.mean) : decided;
    CHECK_EQ(text_of(judge(claim.rule, judged)), text_of(expected));
}

/// Compares all verdicts, so a claim that is not listed here fails as well. Those that depend on
/// time are nullopt: they vary with the machine and its load.
inline void check_verdicts(const std::string& name, const Report& report,
                           const std::map<std::string, std::optional<Verdict>>& expected) {
    const Experiment& experiment = find_experiment(name);
    CHECK_EQ(experiment.claims.size(), expected.size());
    for (const Claim& claim : experiment.claims) {
        const auto found = expected.find(claim.name);
        INFO(claim.name);
        REQUIRE(found != expected.end());
        if (found->second) check_verdict(claim, report, *found->second);
    }
}

}  // namespace tapestry::experiments
