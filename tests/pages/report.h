// Reports of runs that never took place, with numbers that the browser test can compute.
#pragma once

#include <filesystem>

namespace tapestry {

/// report_running.html and its possible replacements while it is open, report_newer.html and
/// report_finished.html; report_diverged.html, report_old.html, report_long.html.
void write_reports(const std::filesystem::path& directory);

}  // namespace tapestry
