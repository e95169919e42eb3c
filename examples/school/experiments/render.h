// A report as it is read: on a terminal, or as a section of docs/experiments.md.
#pragma once

#include <tapestry/examples/school/experiments/results.h>

#include <filesystem>

namespace tapestry::experiments {

/// What a figure's file is called: "sqrt_dk-variance.svg".
std::string file_name(const Experiment& experiment, const Figure& figure);

/// Writes the figures into `folder`, which is made if need be; returns their paths. Throws IoError.
std::vector<std::filesystem::path> write_figures(const Experiment& experiment, const Report& report,
                                                 const std::filesystem::path& folder);

/// "[0.91, 0.97]"; "exact" for a number that no seed changes, "one seed" for one seed's, "not
/// measured" for none.
std::string width_of(const Interval& interval);
/// The mean, or "-" for none.
Cell mean_of(const Interval& interval);

/// Question, theory, tables, verdicts and remark in lines of at most 90 columns (tables may be
/// wider).
std::string to_text(const Experiment& experiment, const Report& report);

/// The same as a section with its pictures; `folder` as links to it are to read.
std::string to_markdown(const Experiment& experiment, const Report& report,
                        const std::string& folder);

/// The whole page: how it was made, a section for each experiment, the table of all claims.
std::string to_page(const Results& results, const std::string& folder);

}  // namespace tapestry::experiments
