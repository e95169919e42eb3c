#include <tapestry/nn/pages/report.h>

#include <tapestry/nn/pages/html.h>
#include <tapestry/nn/pages/page_assets.h>

#include <utility>

namespace tapestry {

TrainingReport::TrainingReport(TrainingRecipe recipe) : recipe_(std::move(recipe)) {}

void TrainingReport::add(const StepMetrics& m) {
    loss_.add(m.step, m.loss);
    lr_.add(m.step, m.lr);
    grad_norm_.add(m.step, m.grad_norm);
    step_seconds_.add(m.step, m.step_seconds);
    if (m.val_loss) val_loss_.add(m.step, *m.val_loss);
    spikes_.add(m);
    latest_ = m;
}

// Kept are the evaluations whose number, counted from 0, is a multiple of the stride, and behind
// them the latest.
void TrainingReport::add(ReportedEvaluation evaluation) {
    const bool latest_stays = evaluated_ == 0 || (evaluated_ - 1) % stride_ == 0;
    if (!latest_stays) evaluations_.pop_back();
    evaluations_.push_back(std::move(evaluation));
    ++evaluated_;
    if (evaluations_.size() <= kMostEvaluations) return;
    std::vector<ReportedEvaluation> kept;  // all before the latest are multiples
    for (std::size_t i = 0; i + 1 < evaluations_.size(); i += 2) {
        kept.push_back(std::move(evaluations_[i]));
    }
    kept.push_back(std::move(evaluations_.back()));
    evaluations_ = std::move(kept);
    stride_ *= 2;
}

std::string to_html(const TrainingReport& report, const ReportStatus& status) {
    // By these an open page may load itself, from a disk ("file:") or a server ('self').
    return html_page(page_assets::kReport, to_json(report, status), "frame-src 'self' file:");
}

}  // namespace tapestry
