#include <tapestry/examples/cli/terminal.h>

#include <tapestry/autograd/print.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/message.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace tapestry::cli {

ProgressOutput progress_output() {
    return {.write = [](const std::string& text) { say_raw(text); },
            .is_terminal = ::isatty(STDOUT_FILENO) == 1,
            .columns = terminal_columns()};
}

int terminal_columns() {
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 ? size.ws_col : 80;
}

void add_width(Options& options, int& width) {
    options.count("--width", width, "Width in columns; default: the terminal's, or 80", {40, 1000})
        .without_default();
}

void write_page(const std::string& out, const Inspector& inspector, const PageOptions& page,
                const std::string& heads) {
    const std::string html = to_html(inspector, page);
    write_result(out, html);
    print("{}: {} entries, {}{}\n", shown(out), inspector.entries().size(), heads,
          bytes_text(html.size()));
}

namespace {

volatile std::sig_atomic_t flag = 0;

void on_signal(int signal) {
    flag = 1;
    // Messages printed while saving would raise SIGPIPE again, which must not kill the process.
    std::signal(signal, signal == SIGPIPE ? SIG_IGN : SIG_DFL);
}

void watch(int signal) {
    if (std::signal(signal, on_signal) == SIG_IGN) std::signal(signal, SIG_IGN);
}

}  // namespace

void catch_interrupts() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) watch(signal);
}

void catch_lost_reader() { watch(SIGPIPE); }

bool interrupted() { return flag != 0; }

}  // namespace tapestry::cli
