// How far something is, told in one line: a training in steps, the reading of files in bytes.
// Nothing is printed here: each line is handed to whoever shows it, as it is to be written.
//
//     TrainingProgress progress(1000, {.write = [](const std::string& s) { std::cout << s; }});
//     options.stepped = [&](const StepMetrics& m, const Speed& s) { progress.show(m, s); ... };
//
// Read next: nn/train/training_run.h, which calls back after every step.
#pragma once

#include <tapestry/core/clock.h>
#include <tapestry/nn/inspect/step_metrics.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace tapestry {

/// Where lines go.
struct ProgressOutput {
    std::function<void(const std::string&)> write;  ///< throws nothing
    bool is_terminal = false;  ///< then a line is rewritten in place, with a carriage return,
    int columns = 80;          ///< and has fewer than these: a longer one would leave a trail
};

/// "1:05", "2:03:00"
std::string clock_text(double seconds);

/// Loss, the latest validation loss, speed and the time that is left: on a terminal ten times a
/// second, elsewhere after the first step, the last, and those with an evaluation.
class TrainingProgress {
public:
    /// Of `steps` in all.
    TrainingProgress(std::int64_t steps, ProgressOutput output)
        : steps_(steps), output_(std::move(output)) {}
    ~TrainingProgress() { finish(); }  // an error's message has a line of its own
    TrainingProgress(const TrainingProgress&) = delete;
    TrainingProgress& operator=(const TrainingProgress&) = delete;

    /// Shows a step, if it is time. Call after every step.
    void show(const StepMetrics& metrics, const Speed& speed);
    /// Ends the line that is being rewritten.
    void finish();

private:
    std::string line(const StepMetrics& metrics, const Speed& speed) const;

    std::int64_t steps_;
    ProgressOutput output_;
    double last_shown_ = -1;
    std::optional<double> last_val_loss_;
};

/// A bar, size, speed and the time that is left, ten times a second on a terminal; nothing
/// elsewhere.
class ByteProgress {
public:
    /// `output` receives the lines.
    explicit ByteProgress(ProgressOutput output) : output_(std::move(output)) {}
    ~ByteProgress() { finish(); }
    ByteProgress(const ByteProgress&) = delete;
    ByteProgress& operator=(const ByteProgress&) = delete;

    /// What is done from now on: "encoding".
    void begin(const std::string& what);
    /// Shows that `done` of `all` bytes are done, if it is time.
    void show(std::uint64_t done, std::uint64_t all);
    /// Takes the line away.
    void finish();

private:
    ProgressOutput output_;
    std::string what_;
    bool open_ = false;
    Clock::time_point start_ = Clock::now();
    std::optional<Clock::time_point> shown_;
};

}  // namespace tapestry
