// tapestry: train, sample and look at small models from the command line.
//
// Exit codes: 0 done, 1 failed, 2 wrong use or bad input (one line on stderr says what and where),
// 130 interrupted, having saved.
#include <tapestry/core/error.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/nn/train/loop.h>

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>

namespace {

using namespace tapestry::cli;

// CLI11's messages may run over several lines; the promise is one.
std::string one_line(std::string text) {
    for (char& c : text) {
        if (c == '\n') c = ' ';
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

int complain(int code, const std::string& message) {
    fmt::print(stderr, "tapestry: {}\n", one_line(message));
    return code;
}

int run_command(int argc, char** argv) {
    CLI::App app{"Tapestry: autograd on the CPU, from scratch"};
    app.require_subcommand(1);
    app.set_version_flag("--version", std::string(tapestry::version()));
    Run run;
    add_train(app, run);
    add_sample(app, run);
    add_eval(app, run);
    add_gradcheck(app, run);
    add_bench(app, run);
    add_info(app, run);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
        return app.exit(success);
    } catch (const CLI::ParseError& error) {
        return complain(kBadInput, std::string(error.what()) + " (see tapestry --help)");
    }
    return run();
}

}  // namespace

int main(int argc, char** argv) {
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
