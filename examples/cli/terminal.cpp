#include <tapestry/examples/cli/terminal.h>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tapestry::cli {

int terminal_columns() {
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40;
    return known ? size.ws_col : 80;
}

void add_width(Options& options, int& width) {
    options
        .count("--width", width, "Columns to draw in; default: the terminal's, or 80", {40, 1000})
        .without_default();
}

}  // namespace tapestry::cli
