// Pages of what went wrong, for tests/npm/truth_pages.js.
#pragma once

#include <filesystem>

namespace tapestry {

/// report_ruined.html: a loss that rises to 1e18, and no step 61. report_exact.html: 200,000 steps
/// whose last and lowest losses are no means. overflow.html: a step whose scores exceed f32's
/// range. forty.html: a step of 40 tokens.
void write_ruined(const std::filesystem::path& directory);

}  // namespace tapestry
