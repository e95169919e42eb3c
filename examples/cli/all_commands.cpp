// The subcommands of the full `tapestry` command.
#include <tapestry/examples/cli/commands.h>

namespace tapestry::cli {

void add_commands(Options& app) {
    add_tokenize(app);
    add_train(app);
    add_curve(app);
    add_runs(app);
    add_sample(app);
    add_chat(app);
    add_eval(app);
    add_classify(app);
    add_translate(app);
    add_answer(app);
    add_predict(app);
    add_fill(app);
    add_export(app);
    add_merge(app);
    add_gradcheck(app);
    add_bench(app);
    add_profile(app);
#ifdef TAPESTRY_WITH_EXPERIMENTS  // absent without examples/school
    add_experiment(app);
#endif
    add_inspect(app);
    add_rewind(app);
    add_bisect(app);
    add_replay(app);
    add_info(app);
}

}  // namespace tapestry::cli
