// What ./demo runs, in a program that is built in less than half the time.
#include <tapestry/examples/cli/commands.h>

namespace tapestry::cli {

void add_commands(Options& app) {
    add_train(app);
    add_curve(app);
    add_sample(app);
}

}  // namespace tapestry::cli
