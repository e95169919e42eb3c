#include <tapestry/nn/pages/live_report.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

namespace tapestry {
namespace {

constexpr double kShare = 0.01;    // of the run's time
constexpr double kLeastGap = 4.0;  // seconds between pages

double now_since_1970() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::round(1e3 * std::chrono::duration<double>(now).count()) / 1e3;
}

}  // namespace

LiveReport::LiveReport(std::filesystem::path path, const Module& model, Hooks hooks)
    : path_(std::move(path)), hooks_(std::move(hooks)), flow_(model), started_(now_since_1970()) {
    timed([this] { report_ = TrainingReport(hooks_.recipe()); });
}

// Runs f, counts its seconds, and reports the first error only.
template <class F>
double LiveReport::timed(const F& f) {
    const auto start = Clock::now();
    try {
        f();
    } catch (const std::exception& error) {  // including out of memory
        warn(error.what());
    }
    const double seconds = seconds_since(start);
    spent_ += seconds;
    return seconds;
}

void LiveReport::warn(const char* message) {
    if (std::exchange(warned_, true)) return;
    try {
        hooks_.warn(message);
    } catch (const std::bad_alloc&) {  // not even memory to report it
    }
}

bool LiveReport::affords(double seconds) const { return spent_ + seconds <= kShare * elapsed_; }

void LiveReport::before_evaluated_update(bool last) {
    last_evaluation_ = last;
    if (!last && !affords(flow_cost_)) return;
    watches_update_ = true;
    flow_cost_ = timed([this] { flow_.before_update(); });
}

void LiveReport::add(const StepMetrics& metrics) {
    elapsed_ = metrics.seconds;
    timed([&] { report_.add(metrics); });
    if (metrics.val_loss) evaluate(metrics);
    const bool due = metrics.val_loss || elapsed_ - last_written_ >= kLeastGap;
    const bool end_follows = metrics.val_loss && last_evaluation_;
    if (!was_written_ || (due && !end_follows && affords(page_cost_)))
        write(TrainingState::running);
}

void LiveReport::add_earlier(const std::vector<StepMetrics>& steps) {
    timed([&] {
        for (const StepMetrics& metrics : steps) report_.add(metrics);
    });
}

void LiveReport::evaluate(const StepMetrics& metrics) {
    ReportedEvaluation evaluation{
        .step = metrics.step, .val_loss = metrics.val_loss, .lr = metrics.lr};
    if (watches_update_) {
        flow_cost_ += timed([&] { evaluation.flow = flow_.after_update(); });
    }
    watches_update_ = false;
    if (last_evaluation_ || affords(sample_cost_)) {
        sample_cost_ = timed([&] { evaluation.sample = hooks_.sample(); });
    }
    if (hooks_.look && (last_evaluation_ || affords(look_cost_))) {
        look_cost_ = timed([&] { evaluation.look = hooks_.look(); });
    }
    if (evaluation.flow.empty() && evaluation.sample.empty() && evaluation.look.empty()) return;
    timed([&] { report_.add(std::move(evaluation)); });
}

// The report also takes time before the first step and after the last.
double LiveReport::total_seconds() const { return std::max(elapsed_, now_since_1970() - started_); }

void LiveReport::end(TrainingState state, const std::string& message) {
    state_ = state;
    write(state, message);
}

void LiveReport::write(TrainingState state, const std::string& message) {
    is_written_ = false;
    page_cost_ = timed([&] {
        const ReportStatus status{.state = state,
                                  .message = message,
                                  .cost_seconds = spent_,
                                  .total_seconds = total_seconds(),
                                  .started = started_,
                                  .written = now_since_1970()};
        // Each is replaced by a later one; only the last is synced to disk.
        write_file_atomically(path_, to_html(report_, status),
                              {.sync = state != TrainingState::running});
        is_written_ = true;
    });
    was_written_ = true;  // or cannot be
    last_written_ = elapsed_;
}

std::string LiveReport::summary() const {
    const Diagnosis found = diagnosis();
    std::string text;
    if (found.verdict != DiagnosisVerdict::bad && !found.text.empty()) text += found.text + "\n";
    if (!found.command.empty()) text += "next: " + utf8::printable(found.command) + "\n";
    if (!is_written_) return text;
    const double total = total_seconds();
    return text + fmt::format("report in {}; it took {:.1f}% of the time\n",
                              utf8::printable(path_.native()),
                              total > 0 ? 100 * spent_ / total : 0);
}

}  // namespace tapestry
