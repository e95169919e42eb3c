// Pages with HTML in strings that come from files.
#pragma once

#include <filesystem>

namespace tapestry {

/// hostile.html, as from `tapestry inspect`, and hostile_report.html, for
/// tests/npm/hostile_pages.js.
void write_hostile(const std::filesystem::path& directory);

}  // namespace tapestry
