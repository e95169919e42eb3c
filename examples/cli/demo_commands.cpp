// The subcommands that ./demo runs; this program builds in less than half the time of the full one.
#include <tapestry/examples/cli/commands.h>

namespace tapestry::cli {

void add_commands(Options& app) {
    add_train(app);
    add_curve(app);
    add_sample(app);
}

}  // namespace tapestry::cli
