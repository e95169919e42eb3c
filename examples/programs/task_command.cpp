#include <tapestry/examples/programs/task_command.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>

#include <filesystem>
#include <utility>

namespace tapestry::examples {

TaskCommand::TaskCommand(const std::string& name, const std::string& description,
                         const TaskOptions& defaults, double goal)
    : options(name, name + ": " + description), task_(defaults), goal_(goal) {
    options.count("--steps", task_.steps, "Training steps");
    options.count("--batch", task_.batch, "Questions per step", {1, 1000000});
    options.number("--rate", task_.rate, 1e-9, 1e3, "Learning rate");
    options.seed(task_.seed, "Seed for the weights, the questions and their order");
    options.threads(threads_);
    options.number("--goal", goal_, 0, 1, "Share of right answers below which the program fails");
}

void TaskCommand::add_page() {
    const auto check = [](const std::string& file) {
        if (file.empty()) return std::string("'' is no path");
        std::error_code ignored;
        const auto folder = std::filesystem::absolute(file, ignored).parent_path();
        return std::filesystem::is_directory(folder, ignored)
                   ? std::string()
                   : fmt::format("{}: no such directory", folder.string());
    };
    options
        .text("--page", task_.page,
              "After training: one step on a held-out question as an HTML page")
        .check("FILE", check);
}

void TaskCommand::add_out(const std::string& description) {
    options.text("--out", task_.out, description);
}

void TaskCommand::add_pairs(DrawPair draw, std::int64_t to_learn, std::int64_t held_out) {
    const auto line = [draw = std::move(draw)](bool is_test, Generator& generator) {
        const Pair pair = draw(is_test, generator);
        return fmt::format("{}\t{}", pair.source, pair.target);
    };
    add_file("--pairs", "source\ttarget", line, to_learn, held_out);
}

void TaskCommand::add_file(const std::string& option, const std::string& columns, DrawLine draw,
                           std::int64_t to_learn, std::int64_t held_out) {
    columns_ = columns;
    what_ = option.substr(2);
    draw_ = std::move(draw);
    to_learn_ = to_learn;
    held_out_ = held_out;
    options.text(option, directory_,
                 fmt::format("Instead of training: write train.tsv and test.tsv into this "
                             "directory, for `tapestry train {}`",
                             option));
}

int TaskCommand::write_files() const {
    make_directories(directory_);
    for (const bool is_test : {false, true}) {
        Generator generator(is_test ? 1 : task_.seed);
        std::string lines = columns_ + "\n";
        for (std::int64_t i = 0; i < (is_test ? held_out_ : to_learn_); ++i) {
            lines += draw_(is_test, generator) + "\n";
        }
        const auto file = std::filesystem::path(directory_) / (is_test ? "test.tsv" : "train.tsv");
        write_file_atomically(file, lines);
        fmt::print("{}: {} {}\n", file.string(), is_test ? held_out_ : to_learn_, what_);
    }
    return cli::kSuccess;
}

int TaskCommand::run(int argc, char** argv, const std::function<Score(const TaskOptions&)>& learn) {
    options.run([&] {
        if (!directory_.empty()) return write_files();
        if (threads_ > 0) set_num_threads(threads_);
        const Score score = learn(task_);
        fmt::print("{} of {} held out right ({:.2f} %)\n", score.right, score.of,
                   100 * score.share());
        if (score.share() >= goal_) return cli::kSuccess;
        fmt::print("less than the goal of {} %\n", 100 * goal_);
        return cli::kFailure;
    });
    return options.main(argc, argv);
}

}  // namespace tapestry::examples
