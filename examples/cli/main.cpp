// tapestry: train, sample and look at small models from the command line.
//
// Exit codes: 0 done, 1 failed, 2 wrong use or bad input (one line on stderr says what and where),
// 130 interrupted, having saved.
#include <tapestry/core/cpu.h>
#include <tapestry/core/error.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/fusion.h>

#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

namespace {

using namespace tapestry::cli;

// CLI11's messages may run over several lines, and file names hold anything; the promise is one.
std::string one_line(std::string text) {
    for (char& c : text) {
        if ((c >= 0 && c < ' ') || c == 127) c = ' ';
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

int complain(int code, const std::string& message) {
    fmt::print(stderr, "tapestry: {}\n", one_line(message));
    return code;
}

// CLI11 looks for what is missing before it looks for what is too much: "tapestry trian" would be
// told that a subcommand is required.
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
    std::string command = app.get_name();
    for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
        at = at->get_subcommands().front();
        command += " " + at->get_name();
    }
    const auto unknown = app.remaining(true);
    const bool misspelt = dynamic_cast<const CLI::RequiredError*>(&error) && !unknown.empty();
    return fmt::format(
        "{} (see {} --help)",
        misspelt ? "The following argument was not expected: " + unknown.front() : error.what(),
        command);
}

int run_command(int argc, char** argv) {
    CLI::App app{"Tapestry: autograd on the CPU, from scratch", "tapestry"};
    app.require_subcommand(1);
    app.set_version_flag("--version", fmt::format("tapestry {}", tapestry::version()));
    Run run;
    add_train(app, run);
    add_curve(app, run);
    add_sample(app, run);
    add_eval(app, run);
    add_export(app, run);
    add_gradcheck(app, run);
    add_bench(app, run);
    add_profile(app, run);
    add_experiment(app, run);
    add_inspect(app, run);
    add_replay(app, run);
    add_info(app, run);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
        return app.exit(success);
    } catch (const CLI::ParseError& error) {
        return complain(kBadInput, what_is_wrong(app, error));
    }
    tapestry::current_isa();  // a wrong TAPESTRY_ISA or _FUSE is said before any work is done
    tapestry::fusion_enabled();
    const int code = run();
    // What was printed may have stayed in a buffer until now.
    tapestry::require<tapestry::IoError>(std::fflush(stdout) == 0 && std::ferror(stdout) == 0,
                                         "the output could not be written");
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    // Beyond a limit on the size of files, writing is to be an error as on a full disk, no death.
    std::signal(SIGXFSZ, SIG_IGN);
    try {
        return run_command(argc, argv);
    } catch (const tapestry::DivergedError& error) {
        return complain(kFailure, error.what());
    } catch (const tapestry::Error& error) {
        return complain(kBadInput, error.what());
    } catch (const std::bad_alloc&) {
        return complain(kFailure, "out of memory");
    } catch (const std::exception& error) {
        return complain(kFailure, error.what());
    }
}
