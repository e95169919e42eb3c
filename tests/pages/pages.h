// The pages that main.cpp writes for the browser's tests, except for those of models.
#pragma once

#include <filesystem>

namespace tapestry {

/// Pages with HTML in strings that come from files, for tests/npm/hostile_pages.js: hostile.html,
/// as from `tapestry inspect`, and hostile_report.html.
void write_hostile(const std::filesystem::path& directory);

/// Reports of runs that never took place, with numbers that the browser test can compute:
/// report_running.html and its possible replacements while it is open, report_newer.html and
/// report_finished.html; report_diverged.html, report_old.html, report_long.html.
void write_reports(const std::filesystem::path& directory);

/// Pages of what went wrong, for tests/npm/truth_pages.js. report_ruined.html: a loss that rises to
/// 1e18, and no step 61. report_exact.html: 200,000 steps whose last and lowest losses are no
/// means. overflow.html: a step whose scores exceed f32's range. forty.html: a step of 40 tokens.
void write_ruined(const std::filesystem::path& directory);

}  // namespace tapestry
