// What ./demo runs, in a program that is built in less than half the time.
#include <tapestry/core/version.h>
#include <tapestry/examples/cli/commands.h>

#include <fmt/core.h>

namespace tapestry::cli {

void add_commands(Options& app) {
    app.version(fmt::format("tapestry {}", version()));
    add_train(app);
    add_curve(app);
    add_sample(app);
}

}  // namespace tapestry::cli
