// Runs an experiment in its short form and checks its report: with one seed, whose numbers must be
// consistent with the verdicts, or with three seeds and the verdicts themselves (.ci/long
// examples).
#pragma once

#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>

#include <doctest/doctest.h>
#include <tapestry/core/error.h>
#include <tapestry/tests/experiments/verdicts.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

namespace tapestry::experiments {

inline const Claim& find_claim(const Experiment& experiment, std::string_view name) {
    for (const Claim& claim : experiment.claims) {
        if (claim.name == name) return claim;
    }
    throw ValueError(fmt::format("{} has no claim '{}'", experiment.name, name));
}

/// Checks the verdict of a claim. A single seed cannot show a claim about drawn numbers: its number
/// must obey the rule of a claim that holds and break the rule of one that does not. If three seeds
/// give the verdict, each of them does, because three values lie within their Student's interval.
/// Three that are the same are checked as one.
inline void check_verdict(const Claim& claim, const Report& report, Verdict expected) {
    const Interval& decided = report.decided.at(claim.name);
    INFO(claim.name);
    INFO(decided.mean << ' ' << width_of(decided) << ", rule: " << text_of(claim.rule));
    const bool is_drawn = decided.count > 0 && !test::is_long();
    if (is_drawn && expected == Verdict::not_shown) return;
    const Interval judged = is_drawn || is_same_in_all(decided) ? exactly(decided.mean) : decided;
    CHECK_EQ(text_of(judge(claim.rule, judged)), text_of(expected));
}

/// Checks the verdicts of the table (verdicts.h), and that it names every claim; nothing for an
/// experiment that is not in it.
inline void check_verdicts(const Experiment& experiment, const Report& report) {
    const auto* expected = std::ranges::find(kVerdicts, experiment.name, &Verdicts::name);
    if (expected == std::end(kVerdicts)) return;
    std::set<std::string> named;
    const auto check = [&](const char* claims, std::optional<Verdict> verdict) {
        std::istringstream names(claims);
        for (std::string claim; names >> claim;) {
            named.insert(claim);
            const Claim& found = find_claim(experiment, claim);
            if (verdict) check_verdict(found, report, *verdict);
        }
    };
    check(expected->holds, Verdict::holds);
    check(expected->fails, Verdict::does_not_hold);
    check(expected->open, Verdict::not_shown);
    check(expected->unchecked, std::nullopt);
    CHECK_EQ(experiment.claims.size(), named.size());
}

/// The report of the short form: with tables whose rows are as long as their heads, with pictures,
/// and with the expected verdicts.
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
    check_verdicts(experiment, report);
    return report;
}

}  // namespace tapestry::experiments
