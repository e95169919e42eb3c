// The terminal a command runs in: standard output, which may be a terminal, a file, or closed, and
// Ctrl-C. Ctrl-C, or a terminal that closes, asks a run to end after its step and to save; a second
// time ends it at once.
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

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT only set a flag, the first time. What is ignored
/// already (SIGHUP under nohup) stays so.
void catch_interrupts();
/// SIGPIPE sets the flag, too: for those who have something to save when nobody reads on.
void catch_lost_reader();
bool interrupted();

}  // namespace tapestry::cli
