#include <tapestry/examples/cli/terminal.h>

#include <tapestry/autograd/print.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <system_error>

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

Option add_width(Options& options, int& width) {
    return options
        .count("--width", width, "Width in columns; default: the terminal's, or 80", {40, 1000})
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

int for_each_line(const std::string& path, const std::function<void(const std::string&)>& f) {
    const std::string name = path == "-" ? "stdin" : path;
    std::ifstream file;
    if (path != "-") {
        file.open(path, std::ios::binary);
        require<IoError>(file.is_open(), "cannot open {}: {}", utf8::printable(path),
                         std::generic_category().message(errno));
    }
    std::istream& from = path == "-" ? std::cin : file;
    std::int64_t number = 0;
    for (std::string line; !interrupted() && std::getline(from, line);) {
        if (++number == 1) line.erase(0, utf8::mark_bytes(line));
        if (line.find_first_not_of(" \t\r") == line.npos) {
            print("\n");
            continue;
        }
        try {
            f(line);
        } catch (const ValueError& error) {
            fail<IoError>("{}:{}: {}", name, number, error.what());
        }
    }
    require<IoError>(!from.bad() && std::ferror(stdin) == 0, "{}: cannot be read", name);
    return interrupted() ? kInterrupted : kSuccess;
}

}  // namespace tapestry::cli
