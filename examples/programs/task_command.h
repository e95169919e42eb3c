// The command line of the small tasks: --steps, --batch, --rate, --seed, --threads, --goal, and for
// some of them --page, --out, and --pairs or --questions.
#pragma once

#include <tapestry/examples/options/options.h>
#include <tapestry/examples/school/tasks/task.h>

namespace tapestry::examples {

/// A line of a file, without its end: a question to learn from, or a held-out one.
using DrawLine = std::function<std::string(bool held_out, Generator& generator)>;

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

    /// For tasks whose questions are pairs of texts: --pairs DIR writes these many, and held-out
    /// ones, for `tapestry train --pairs`, instead of training.
    void add_pairs(DrawPair draw, std::int64_t to_learn, std::int64_t held_out);
    /// For other questions: `option` DIR writes train.tsv and test.tsv, which `tapestry train`
    /// reads by an option of the same name, of lines below these names of columns.
    void add_file(const std::string& option, const std::string& columns, DrawLine draw,
                  std::int64_t to_learn, std::int64_t held_out);

    /// Trains and prints the result. Returns the exit code: 0, 1 if the goal was missed or the run
    /// diverged, 2 for bad input.
    int run(int argc, char** argv, const std::function<Score(const TaskOptions&)>& learn);

private:
    TaskOptions task_;
    double goal_;
    int write_files() const;

    int threads_ = 0;
    std::string directory_, columns_, what_;
    DrawLine draw_;
    std::int64_t to_learn_ = 0, held_out_ = 0;
};

}  // namespace tapestry::examples
