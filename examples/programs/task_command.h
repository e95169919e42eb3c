// The command line of the small tasks: --steps, --batch, --rate, --seed, --threads, --goal; and for
// those that have them --page and --out.
#pragma once

#include <tapestry/examples/tasks/task.h>

#include <CLI/CLI.hpp>

#include <filesystem>

namespace tapestry::examples {

class TaskCommand {
public:
    CLI::App app;  ///< for options of the task's own

    TaskCommand(const std::string& what, const TaskOptions& defaults, double goal)
        : app(what), options_(defaults), goal_(goal) {
        app.add_option("--steps", options_.steps, "Steps of training")
            ->capture_default_str()
            ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000}));
        app.add_option("--batch", options_.batch, "Questions per step")
            ->capture_default_str()
            ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
        app.add_option("--rate", options_.rate, "Learning rate")
            ->capture_default_str()
            ->check(CLI::Range(1e-9, 1e3));
        app.add_option("--seed", options_.seed, "Of the weights, the questions, and their order")
            ->capture_default_str();
        app.add_option("--threads", threads_, "Threads; default: one per core")
            ->check(CLI::Range(1, 1024));
        app.add_option("--goal", goal_, "Share of right answers below which the program fails")
            ->capture_default_str()
            ->check(CLI::Range(0.0, 1.0));
    }

    /// For tasks that call write_page (task_page.h). Its folder is looked for before any training.
    void add_page() {
        const auto check = [](const std::string& file) {
            const auto folder = std::filesystem::absolute(file).parent_path();
            std::error_code ignored;
            return std::filesystem::is_directory(folder, ignored)
                       ? std::string()
                       : fmt::format("{}: no such directory", folder.string());
        };
        app.add_option("--page", options_.page,
                       "After training: one step on a held-out question as an HTML page")
            ->check(CLI::Validator(check, "FILE"));
    }

    /// For tasks that save their model. What it is saved as is said in `description`.
    void add_out(const std::string& description) {
        app.add_option("--out", options_.out, description);
    }

    /// Learns, prints how it went. The exit code: 0, 1 if the goal was missed or the
    /// training went astray, 2 for bad input.
    int run(int argc, char** argv, const std::function<Score(const TaskOptions&)>& learn) {
        try {
            app.parse(argc, argv);
            if (threads_ > 0) set_num_threads(threads_);
            const Score score = learn(options_);
            fmt::print("{} of {} held out right ({:.2f} %)\n", score.right, score.of,
                       100 * score.share());
            if (score.share() >= goal_) return 0;
            fmt::print("less than the goal of {} %\n", 100 * goal_);
            return 1;
        } catch (const CLI::Success& success) {
            return app.exit(success);
        } catch (const CLI::ParseError& error) {
            return app.exit(error), 2;
        } catch (const DivergedError& error) {
            fmt::print(stderr, "{}: {}\n", app.get_name(), error.what());
            return 1;
        } catch (const Error& error) {
            fmt::print(stderr, "{}: {}\n", app.get_name(), error.what());
            return 2;
        }
    }

private:
    TaskOptions options_;
    double goal_;
    int threads_ = 0;
};

}  // namespace tapestry::examples
