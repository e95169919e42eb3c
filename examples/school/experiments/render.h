// Formats a report for a terminal, or as a section of docs/experiments.md.
#pragma once

#include <tapestry/examples/school/experiments/results.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tapestry::experiments {

/// A figure's file name: "sqrt_dk-variance.svg".
std::string file_name(const Experiment& experiment, const Figure& figure);

/// Writes the figures into `folder`, creating it if needed; returns their paths. Throws IoError.
std::vector<std::filesystem::path> write_figures(const Experiment& experiment, const Report& report,
                                                 const std::filesystem::path& folder);

/// "[0.91, 0.97]"; "the same in all 10"; "exact" for a number that does not depend on seeds, "one
/// seed" for a single seed, "not measured" for none.
std::string width_of(const Interval& interval);
/// The mean, or "-" if there is none.
Cell mean_of(const Interval& interval);
/// How many values would decide the claim among `counted` others if their mean and spread stayed
/// the same (values_needed() at 0.05 / counted): "-" if it is decided, "?" if unknown.
Cell needed_by(const Judged& claim, Verdict corrected, std::int64_t counted);

/// Judged::again() as "58 %", "> 99 %"; "-" if the number does not depend on seeds or is the same
/// in all.
Cell again_of(const Judged& claim);

/// Question, theory, tables, verdicts and remark in lines of at most 90 columns (tables may be
/// wider).
std::string to_text(const Experiment& experiment, const Report& report);

/// The claims: rule, number, verdict by itself and corrected, the chance that other seeds give it
/// again, values that would decide it.
Table claims_table(const Experiment& experiment, const Report& report);

/// The designs of the claims as text, each with the names of the claims that have it.
std::vector<std::pair<std::string, std::string>> designs_of(
    const Experiment& experiment, const Report& report,
    const std::function<std::string(const Design&)>& text);

/// How many seeds an experiment ran with; 0 if it has no trials.
std::int64_t seeds_of(const Found& found);

/// The same as a Markdown section with figures; `folder` is the path to use in links.
std::string to_markdown(const Experiment& experiment, const Report& report,
                        const std::string& folder);

/// Of the claims whose values differ between seeds: how many there are, and how many are expected
/// to have another verdict with other seeds (Judged::again()).
struct ExpectedMoves {
    std::int64_t of = 0;
    std::int64_t same = 0;  ///< claims whose values do not: nothing is known of their spread
    double moves = 0;
};
ExpectedMoves expected_moves(const std::vector<Judged>& claims);

/// The whole page: the command that made it, a section per experiment, the table of all claims.
std::string to_page(const Results& results, const std::string& folder);

}  // namespace tapestry::experiments
