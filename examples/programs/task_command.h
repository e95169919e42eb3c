// The command line of the small tasks: --steps, --batch, --rate, --seed, --threads, --goal; and for
// those that have them --page and --out.
#pragma once

#include <tapestry/examples/options/options.h>
#include <tapestry/examples/school/tasks/task.h>

namespace tapestry::examples {

class TaskCommand {
public:
    cli::Options options;  ///< for options of the task's own

    TaskCommand(const std::string& name, const std::string& description,
                const TaskOptions& defaults, double goal);

    /// For tasks that call write_page (task.h). Its folder is looked for before any training.
    void add_page();

    /// For tasks that save their model. What it is saved as is said in `description`.
    void add_out(const std::string& description);

    /// Learns, prints how it went. The exit code: 0, 1 if the goal was missed or the training went
    /// astray, 2 for bad input.
    int run(int argc, char** argv, const std::function<Score(const TaskOptions&)>& learn);

private:
    TaskOptions task_;
    double goal_;
    int threads_ = 0;
};

}  // namespace tapestry::examples
