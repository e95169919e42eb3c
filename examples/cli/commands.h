// The subcommands of `tapestry`, one file each. Each adds its options to the command line and says
// what to run; main.cpp turns what they throw into exit codes.
#pragma once

#include <CLI/CLI.hpp>

namespace tapestry::cli {

/// Exit codes. Wrong use and bad input are 2.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kInconclusive = 3;  ///< gradcheck alone
inline constexpr int kInterrupted = 130;

/// Registers a subcommand; the chosen one's function is left in `run`.
using Run = std::function<int()>;
void add_train(CLI::App& app, Run& run);
void add_curve(CLI::App& app, Run& run);
void add_sample(CLI::App& app, Run& run);
void add_eval(CLI::App& app, Run& run);
void add_export(CLI::App& app, Run& run);
void add_gradcheck(CLI::App& app, Run& run);
void add_bench(CLI::App& app, Run& run);
void add_profile(CLI::App& app, Run& run);
void add_experiment(CLI::App& app, Run& run);
void add_inspect(CLI::App& app, Run& run);
void add_replay(CLI::App& app, Run& run);
void add_info(CLI::App& app, Run& run);

}  // namespace tapestry::cli
