// What the commands say, and where: standard output may be a terminal, a file, or closed.
#pragma once

#include <tapestry/examples/options/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/terminal/progress.h>

#include <string>
#include <string_view>

namespace tapestry::cli {

/// A line of its own on stderr: "tapestry: MESSAGE".
inline void warn(std::string_view message) { say_error("tapestry", message); }

/// Standard output, for lines that are rewritten in place if it is a terminal.
ProgressOutput progress_output();

/// The terminal's columns, if standard output is one and says how many; 80 otherwise.
int terminal_columns();

/// --width, for what is drawn with characters.
void add_width(Options& options, int& width);

/// Writes the page and says so; `heads` is said of it as well.
void write_page(const std::string& out, const Inspector& inspector, const PageOptions& page,
                const std::string& heads = "");

}  // namespace tapestry::cli
