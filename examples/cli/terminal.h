// How wide what is printed may be.
#pragma once

#include <tapestry/examples/options/options.h>

namespace tapestry::cli {

/// The terminal's columns, if standard output is one and says how many; 80 otherwise.
int terminal_columns();

/// --width, for what is drawn with characters.
void add_width(Options& options, int& width);

}  // namespace tapestry::cli
