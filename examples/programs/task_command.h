// The command line of the small tasks: --steps, --batch, --rate, --seed, --threads, --goal, and for
// some of them --page and --out.
#pragma once

#include <tapestry/examples/options/options.h>
#include <tapestry/examples/school/tasks/task.h>

namespace tapestry::examples {

class TaskCommand {
public:
    cli::Options options;  ///< for the task's own options

    TaskCommand(const std::string& name, const std::string& description,
                const TaskOptions& defaults, double goal);

    /// For tasks that call write_page (task.h). Checks that the page's folder exists before
    /// training.
    void add_page();

    /// For tasks that save their model. `description` explains what is saved.
    void add_out(const std::string& description);

    /// Trains and prints the result. Returns the exit code: 0, 1 if the goal was missed or the run
    /// diverged, 2 for bad input.
    int run(int argc, char** argv, const std::function<Score(const TaskOptions&)>& learn);

private:
    TaskOptions task_;
    double goal_;
    int threads_ = 0;
};

}  // namespace tapestry::examples
