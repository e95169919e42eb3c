// tapestry: train, sample and look at small models from the command line.
// Exit codes: 0 done, 1 failed, 2 wrong use or bad input (one line on stderr says what and where),
// 130 interrupted, having saved. Read next: sample.cpp, the plainest subcommand.
#include <tapestry/core/thread_shortage.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/terminal.h>

#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <exception>

namespace {

using namespace tapestry::cli;

void tell(const tapestry::ThreadShortage& shortage) {
    warn(fmt::format("could not start {} threads ({}); continuing with {}", shortage.wanted,
                     shortage.reason, shortage.taken));
}

}  // namespace

int main(int argc, char** argv) {
    // Writing past a limit on the size of files then fails as on a full disk does, with a message.
    std::signal(SIGXFSZ, SIG_IGN);
    tapestry::on_thread_shortage(tell);
    try {
        Options command("tapestry", "Tapestry: autograd on the CPU, from scratch");
        command.version(fmt::format("tapestry {}", tapestry::version()));
        return command.main(argc, argv, add_commands);
    } catch (const std::exception&) {  // before there are options, or when an error is put in words
        std::fputs("tapestry: out of memory\n", stderr);
        return kFailure;
    }
}
