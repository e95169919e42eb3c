#include <tapestry/examples/cli/interrupt.h>

#include <csignal>

namespace tapestry::cli {
namespace {

volatile std::sig_atomic_t flag = 0;

void on_signal(int signal) {
    flag = 1;
    std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
}

bool interrupted() { return flag != 0; }

}  // namespace tapestry::cli
