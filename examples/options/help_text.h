// --help as it is printed: within 80 columns, options and descriptions side by side, a blank line
// between groups. Internal to examples/options.
#pragma once

#include <cstddef>
#include <string>

namespace tapestry::cli {

/// Columns of a terminal by default.
inline constexpr std::size_t kHelpColumns = 80;
/// Columns of the names of options and subcommands; their descriptions begin behind these.
inline constexpr std::size_t kHelpNames = 30;

/// Breaks lines that are wider than `columns` at spaces, or at commas in a list of choices. What
/// follows is indented as the line's description is. Commands, "  tapestry ...", stay whole.
std::string fit_help(const std::string& text, std::size_t columns = kHelpColumns);

}  // namespace tapestry::cli
