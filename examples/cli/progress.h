// One line that tells how training goes: rewritten in place on a terminal, plain lines elsewhere.
#pragma once

#include <tapestry/nn/train/speed.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace tapestry::cli {

class Progress {
public:
    /// Of `steps` in all.
    explicit Progress(std::int64_t steps);
    ~Progress() { finish(); }  // an error's message has a line of its own
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(const StepMetrics& metrics, const Speed& speed);
    /// Ends the line that is being rewritten.
    void finish();

private:
    std::string line(const StepMetrics& metrics, const Speed& speed) const;

    std::int64_t steps_;
    bool terminal_;
    double last_shown_ = -1;
    std::optional<double> last_val_loss_;
};

/// Prints and throws nothing, wherever that goes: a training does not end because nobody reads what
/// is said of it. Options::main finds a stdout that failed.
void say(const std::string& text, std::FILE* to = stdout);

/// "1:05", "2:03:00"
std::string clock_text(double seconds);

}  // namespace tapestry::cli
