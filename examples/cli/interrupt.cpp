#include <tapestry/examples/cli/interrupt.h>

#include <csignal>
#include <initializer_list>

namespace tapestry::cli {
namespace {

volatile std::sig_atomic_t flag = 0;

void on_signal(int signal) {
    flag = 1;
    // What is said while saving has no reader either, and must not end that.
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
