#include <tapestry/examples/cli/progress.h>

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace tapestry::cli {

std::string clock_text(double seconds) {
    const auto whole = static_cast<std::int64_t>(seconds + 0.5);
    if (whole >= 3600) {
        return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    }
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

void say(const std::string& text, std::FILE* to) {
    std::fputs(text.c_str(), to);
    std::fflush(to);
}

Progress::Progress(std::int64_t steps) : steps_(steps), terminal_(isatty(STDOUT_FILENO) == 1) {}

std::string Progress::line(const StepMetrics& m, const Speed& speed) const {
    const double left = speed.seconds_per_step() * static_cast<double>(steps_ - m.step);
    std::string text = fmt::format("step {:>6}/{}  loss {:.4f}", m.step, steps_, m.loss);
    if (last_val_loss_) text += fmt::format("  val {:.4f}", *last_val_loss_);
    return text + fmt::format("  {:>7.0f} tokens/s, {:.0f}% of the peak  {} left",
                              speed.tokens_per_second(), 100 * speed.share(), clock_text(left));
}

void Progress::show(const StepMetrics& m, const Speed& speed) {
    if (m.val_loss) last_val_loss_ = m.val_loss;
    if (terminal_) {
        if (m.seconds - last_shown_ < 0.1 && m.step < steps_ && !m.val_loss) return;
        say(fmt::format("\r{}\033[K", line(m, speed)));
    } else {
        if (m.step != 1 && m.step != steps_ && !m.val_loss) return;
        say(line(m, speed) + "\n");
    }
    last_shown_ = m.seconds;
}

void Progress::finish() {
    if (!terminal_ || last_shown_ < 0) return;
    say("\n");
    last_shown_ = -1;
}

}  // namespace tapestry::cli
