// The subcommands of `tapestry`, mostly one file each. Each function declares options and an
// action.
#pragma once

#include <tapestry/examples/options/options.h>

namespace tapestry::cli {

/// Adds this program's subcommands; defined in all_commands.cpp and demo_commands.cpp.
void add_commands(Options& app);

void add_tokenize(Options& app);
void add_train(Options& app);
void add_curve(Options& app);
void add_runs(Options& app);
void add_sample(Options& app);
void add_chat(Options& app);
void add_eval(Options& app);
void add_classify(Options& app);
void add_translate(Options& app);
void add_answer(Options& app);
void add_predict(Options& app);
void add_fill(Options& app);
void add_export(Options& app);
void add_merge(Options& app);
void add_gradcheck(Options& app);
void add_bench(Options& app);
void add_profile(Options& app);
void add_experiment(Options& app);
void add_inspect(Options& app);
void add_rewind(Options& app);
void add_bisect(Options& app);
void add_replay(Options& app);
void add_info(Options& app);

}  // namespace tapestry::cli
