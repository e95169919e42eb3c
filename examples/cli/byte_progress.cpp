#include <tapestry/examples/cli/byte_progress.h>

#include <tapestry/examples/cli/interrupt.h>
#include <tapestry/examples/cli/progress.h>

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

namespace tapestry::cli {
namespace {

constexpr std::chrono::milliseconds kPause(100);  // between two lines

std::string bar(double share) {
    constexpr int kWidth = 24;
    const int full = std::clamp(static_cast<int>(share * kWidth), 0, kWidth);
    return "[" + std::string(static_cast<std::size_t>(full), '#') +
           std::string(static_cast<std::size_t>(kWidth - full), ' ') + "]";
}

}  // namespace

ByteProgress::ByteProgress() : terminal_(isatty(STDOUT_FILENO) == 1) {}

void ByteProgress::begin(const std::string& what) {
    finish();
    what_ = what;
    start_ = Clock::now();
    shown_ = start_ - kPause;
}

double ByteProgress::seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
}

void ByteProgress::show(std::uint64_t done, std::uint64_t all) {
    if (interrupted()) throw Interrupted{};
    if (!terminal_ || Clock::now() - shown_ < kPause) return;
    shown_ = Clock::now();
    open_ = true;
    const double share = static_cast<double>(done) / static_cast<double>(all);
    const double speed = static_cast<double>(done) / seconds();
    const double left = static_cast<double>(all - done) / speed;
    say(fmt::format("\r{} {} {:3.0f}% of {:.1f} MB  {:.0f} MB/s  {} left\033[K", what_, bar(share),
                    100 * share, static_cast<double>(all) / 1e6, speed / 1e6, clock_text(left)));
}

void ByteProgress::finish() {
    if (open_) say("\r\033[K");
    open_ = false;
}

}  // namespace tapestry::cli
