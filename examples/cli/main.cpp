// tapestry: train, sample and inspect small models from the command line. Exit codes: 0 done, 1
// failed, 2 wrong usage or bad input (explained in one line on stderr), 130 interrupted after
// saving. Read next: sample.cpp, the simplest subcommand.
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
    // Makes writing past the file size limit fail with an error, as on a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    tapestry::on_thread_shortage(tell);
    try {
        Options command("tapestry", "Tapestry: autograd on the CPU, from scratch");
        command.version(fmt::format("tapestry {}", tapestry::version()));
        return command.main(argc, argv, add_commands);
    } catch (const std::exception&) {  // before options exist, or while formatting an error
        std::fputs("tapestry: out of memory\n", stderr);
        return kFailure;
    }
}
