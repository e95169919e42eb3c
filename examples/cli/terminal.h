// The terminal of a command: standard output (a terminal, a file, or closed) and Ctrl-C. The first
// Ctrl-C or hang-up ends a run after its current step, saving it; the second ends it at once.
#pragma once

#include <tapestry/examples/options/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/terminal/progress.h>

#include <functional>
#include <string>
#include <string_view>

namespace tapestry::cli {

/// Prints "tapestry: MESSAGE" as one line on stderr.
inline void warn(std::string_view message) { say_error("tapestry", message); }

/// Standard output; progress lines are rewritten in place on a terminal.
ProgressOutput progress_output();

/// Width of the terminal in columns; 80 if stdout is not a terminal or its width is unknown.
int terminal_columns();

/// Declares --width, the width of character graphics.
Option add_width(Options& options, int& width);

/// Writes the page and prints a line about it that includes `heads`.
void write_page(const std::string& out, const Inspector& inspector, const PageOptions& page,
                const std::string& heads = "");

/// Calls f with each line of a file ("-": standard input) that is not empty; an empty one stays an
/// empty line of the output. Returns the exit code. Throws IoError, with file and line for a
/// ValueError of f.
int for_each_line(const std::string& path, const std::function<void(const std::string&)>& f);

/// Makes the first SIGINT, SIGTERM, SIGHUP or SIGQUIT only set a flag. Signals that are already
/// ignored (SIGHUP under nohup) stay ignored.
void catch_interrupts();
/// Makes SIGPIPE set the flag as well, for commands that must save when their reader goes away.
void catch_lost_reader();
bool interrupted();

}  // namespace tapestry::cli
