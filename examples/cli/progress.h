// One line that tells how training goes: rewritten in place on a terminal, plain lines elsewhere.
#pragma once

#include <tapestry/nn/train/loop.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tapestry::cli {

class Progress {
public:
    /// `steps` in all, `tokens_per_step` for the speed, `step_floor`: the seconds that a step's
    /// arithmetic takes at least.
    Progress(std::int64_t steps, std::int64_t tokens_per_step, double step_floor);
    ~Progress() { finish(); }  // an error's message has a line of its own
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(const StepMetrics& metrics);
    /// Ends the line that is being rewritten.
    void finish();

    /// Over the last steps, evaluations excluded.
    double tokens_per_second() const;
    /// Of the machine's peak: 1 if nothing took time but arithmetic.
    double share() const { return smoothed_step_ > 0 ? step_floor_ / smoothed_step_ : 0; }

private:
    std::string line(const StepMetrics& metrics) const;

    std::int64_t steps_;
    std::int64_t tokens_per_step_;
    double step_floor_;
    bool terminal_;
    double smoothed_step_ = 0;  // seconds per step, a running mean
    double last_shown_ = -1;
    std::optional<double> last_val_loss_;
};

/// "1:05", "2:03:00"
std::string clock_text(double seconds);

}  // namespace tapestry::cli
