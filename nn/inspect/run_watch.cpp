#include <tapestry/nn/inspect/diagnosis.h>
#include <tapestry/nn/inspect/diagnosis_parts.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

double loss_at_start(const RunFacts& f) {
    return f.val.step > 0 && std::isfinite(f.val_at_start) ? f.val_at_start : f.first.value;
}

bool is_worse_than_its_start(const RunFacts& f, double loss) {
    constexpr double kOfABatch = 0.1;       // nats by which a batch's loss fluctuates
    constexpr std::int64_t kFewSteps = 20;  // steps that show nothing yet
    return !f.running && f.last.step >= kFewSteps && !option_in(f.command, "--model").empty() &&
           loss_at_start(f) < f.guessing - kOfABatch && loss > loss_at_start(f) + kOfABatch;
}

double clearly_above(double guessing) { return guessing + std::max(1.0, 0.25 * guessing); }

RunWatch::RunWatch(std::int64_t steps, double clip, double guessing)
    : window_(std::clamp<std::int64_t>(steps / 20, 10, 100)) {
    facts_.planned = steps;
    facts_.clip = clip;
    facts_.guessing = guessing;
}

void RunWatch::add(const StepMetrics& m) {
    RunFacts& f = facts_;
    if (++seen_ == 1) {
        f.first = {m.step, m.loss};
        f.recent = m.loss;
    }
    const double weight = 1 / static_cast<double>(std::min(seen_, window_));
    f.last = {m.step, m.loss};
    f.recent += weight * (m.loss - f.recent);
    if (seen_ >= window_ && (f.lowest.step == 0 || f.recent < f.lowest.value)) {
        f.lowest = {m.step, f.recent};
    }
    const bool is_early = m.progress ? *m.progress <= 0.75 : 4 * m.step <= 3 * f.planned;
    if (is_early) f.before = f.recent;
    // Weights of another model may begin above guessing, and so may one batch.
    const double most = std::max(clearly_above(f.guessing), f.first.value + 1);
    if (seen_ > 1 && f.above.step == 0 && m.loss > most) f.above = f.last;
    if (f.clip > 0 && m.grad_norm > f.clip) ++clipped_;
    if (std::isfinite(m.grad_norm)) {
        f.norm = std::isnan(f.norm) ? m.grad_norm : f.norm + weight * (m.grad_norm - f.norm);
    }
    f.clipped = static_cast<double>(clipped_) / static_cast<double>(seen_);
    f.lr = seen_ == 1 ? m.lr : std::max(f.lr, m.lr);
    if (!m.val_loss) return;
    f.val = {m.step, *m.val_loss};
    if (std::isnan(*m.val_loss)) return;  // no loss would be lower
    if (f.lowest_val.step == 0 || *m.val_loss < f.lowest_val.value) f.lowest_val = f.val;
}

}  // namespace tapestry
