// Pages whose strings, which come out of files, are HTML.
#pragma once

#include <filesystem>

namespace tapestry {

/// hostile.html, as of `tapestry inspect`, and hostile_report.html, for tests/npm/hostile_pages.js.
void write_hostile(const std::filesystem::path& directory);

}  // namespace tapestry
