// Progress in one line: training in steps, file reading in bytes. Nothing is printed here: a
// callback gets each line, ready to be written.
//
//     TrainingProgress progress(1000, {.write = [](const std::string& s) { std::cout << s; }});
//     options.stepped = [&](const StepMetrics& m, const Speed& s) { progress.show(m, s); ... };
//
// Read next: nn/train/training_run.h, which calls back after every step.
#pragma once

#include <tapestry/core/clock.h>
#include <tapestry/nn/inspect/step_metrics.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace tapestry {

/// Where progress lines go.
struct ProgressOutput {
    std::function<void(const std::string&)> write;  ///< must not throw
    bool is_terminal = false;  ///< rewrite lines in place with a carriage return,
    int columns = 80;          ///< each shorter than this; a longer one would wrap
};

/// "1:05", "2:03:00"; "?" for more than any program runs, and if it is not known.
std::string clock_text(double seconds);

/// Loss, latest validation loss, speed and remaining time: on a terminal ten times a second,
/// elsewhere after the first step, the last, and those with an evaluation.
class TrainingProgress {
public:
    /// `steps`: the total; `unit`: what a run's speed counts.
    TrainingProgress(std::int64_t steps, ProgressOutput output, std::string unit = "tokens")
        : steps_(steps), output_(std::move(output)), unit_(std::move(unit)) {}
    ~TrainingProgress() { finish(); }  // so an error starts on a new line
    TrainingProgress(const TrainingProgress&) = delete;
    TrainingProgress& operator=(const TrainingProgress&) = delete;

    /// The run ends after this time, not after a known number of steps.
    void limit(double seconds) { seconds_ = seconds; }

    /// Shows a step, if it is time. Call after every step.
    void show(const StepMetrics& metrics, const Speed& speed);
    /// Ends the current progress line.
    void finish();

private:
    std::string line(const StepMetrics& metrics, const Speed& speed) const;

    bool is_last(const StepMetrics& metrics) const;

    std::int64_t steps_;
    ProgressOutput output_;
    std::string unit_;
    double seconds_ = 0;  // 0: no limit
    double last_shown_ = -1;
    std::optional<double> last_val_loss_;
};

/// A bar, size, speed and remaining time, ten times a second on a terminal; nothing elsewhere.
class ByteProgress {
public:
    /// `output` receives the lines.
    explicit ByteProgress(ProgressOutput output) : output_(std::move(output)) {}
    ~ByteProgress() { finish(); }
    ByteProgress(const ByteProgress&) = delete;
    ByteProgress& operator=(const ByteProgress&) = delete;

    /// Names the operation that starts now: "encoding".
    void begin(const std::string& what);
    /// Shows that `done` of `all` bytes are done, if it is time.
    void show(std::uint64_t done, std::uint64_t all);
    /// Erases the line.
    void finish();

private:
    ProgressOutput output_;
    std::string what_;
    bool open_ = false;
    Clock::time_point start_ = Clock::now();
    std::optional<Clock::time_point> shown_;
};

}  // namespace tapestry
