#include <tapestry/nn/terminal/progress.h>

#include <tapestry/core/text/fixed_text.h>
#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace tapestry {
namespace {

constexpr double kPause = 0.1;  // seconds between two lines

std::string bar(double share) {
    constexpr int kWidth = 24;
    const int full = std::clamp(static_cast<int>(share * kWidth), 0, kWidth);
    return "[" + std::string(static_cast<std::size_t>(full), '#') +
           std::string(static_cast<std::size_t>(kWidth - full), ' ') + "]";
}

}  // namespace

std::string clock_text(double seconds) {
    if (!(std::abs(seconds) < 1e15)) return "?";  // not known, or never
    const auto whole = static_cast<std::int64_t>(seconds + 0.5);
    if (whole >= 3600) {
        return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    }
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

// ---- training -----------------------------------------------------------------------------------

std::string TrainingProgress::line(const StepMetrics& m, const Speed& speed) const {
    const double left = seconds_ > 0
                            ? std::max(0.0, seconds_ - m.seconds)
                            : speed.seconds_per_step() * static_cast<double>(steps_ - m.step);
    std::string text =
        fmt::format("step {:>6}{}  loss {}", m.step, seconds_ > 0 ? "" : fmt::format("/{}", steps_),
                    fixed_text(m.loss));
    if (last_val_loss_) text += "  val " + fixed_text(*last_val_loss_);
    const std::string end = fmt::format("  {} left", clock_text(left));
    const std::string of_peak = fmt::format(", {:.0f}% of the peak", 100 * speed.of_peak());
    const double rate = speed.tokens_per_second();
    const std::string wide = fmt::format("  {:>7.0f} {}/s", rate, unit_);
    if (!output_.is_terminal) return text + wide + of_peak + end;
    // The longest version that fits; the share of the peak is dropped first.
    const std::string narrow = fmt::format("  {:.0f} {}/s", rate, unit_);
    const auto room = static_cast<std::size_t>(std::max(1, output_.columns - 1));
    for (const std::string& middle : {wide + of_peak, narrow + of_peak, narrow, std::string()}) {
        if ((text + middle + end).size() <= room) return text + middle + end;
    }
    return text.substr(0, room);
}

bool TrainingProgress::is_last(const StepMetrics& m) const {
    return m.progress == 1.0 || m.step >= steps_;
}

void TrainingProgress::show(const StepMetrics& m, const Speed& speed) {
    if (m.val_loss) last_val_loss_ = m.val_loss;
    if (output_.is_terminal) {
        if (m.seconds - last_shown_ < kPause && !is_last(m) && !m.val_loss) return;
        output_.write(fmt::format("\r{}\033[K", line(m, speed)));
    } else {
        if (m.step != 1 && !is_last(m) && !m.val_loss) return;
        output_.write(line(m, speed) + "\n");
    }
    last_shown_ = m.seconds;
}

void TrainingProgress::finish() {
    if (!output_.is_terminal || last_shown_ < 0) return;
    output_.write("\n");
    last_shown_ = -1;
}

// ---- files --------------------------------------------------------------------------------------

void ByteProgress::begin(const std::string& what) {
    finish();
    what_ = utf8::printable(what);
    start_ = Clock::now();
    shown_.reset();
}

void ByteProgress::show(std::uint64_t done, std::uint64_t all) {
    const auto now = Clock::now();
    if (!output_.is_terminal || (shown_ && seconds_between(*shown_, now) < kPause)) return;
    shown_ = now;
    open_ = true;
    all = std::max(all, done);  // of a file that has grown
    const double share = all == 0 ? 1 : static_cast<double>(done) / static_cast<double>(all);
    const double seconds = seconds_between(start_, now);
    const double speed = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    const double left = done == all ? 0 : static_cast<double>(all - done) / speed;
    output_.write(fmt::format("\r{} {} {:3.0f}% of {:.1f} MB  {:.0f} MB/s  {} left\033[K", what_,
                              bar(share), 100 * share, static_cast<double>(all) / 1e6, speed / 1e6,
                              clock_text(left)));
}

void ByteProgress::finish() {
    if (open_) output_.write("\r\033[K");
    open_ = false;
}

}  // namespace tapestry
