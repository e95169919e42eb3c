// TrainingReport: a training as it went, and the page that shows it: losses, learning rate, norm of
// the gradient, speed, what the model wrote, what each parameter did, and how to do it again. The
// page can be written while the training runs; one that is open follows by itself.
//
//     TrainingReport report({.title = "my model", .steps = 1000});
//     ... report.add(metrics), report.add(evaluation) ...
//     write_file_atomically("report.html", to_html(report, {.state = TrainingState::finished}));
//
// Read next: nn/inspect/training_curve.h and gradient_flow.h, what it is made of; docs/report.md,
// how to read the page.
#pragma once

#include <tapestry/nn/inspect/gradient_flow.h>
#include <tapestry/nn/inspect/sentence_look.h>
#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/inspect/training_curve.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

/// A loss that the training's can be compared with: its name, and what would have it.
struct ExpectedLoss {
    std::string name;
    double loss = 0;  ///< nats per token
    std::string meaning = {};
};

struct RecipeLine {
    std::string name;
    std::string value;
    std::string meaning = {};
};

/// What is known before the first step. Texts are UTF-8 and may hold anything.
struct TrainingRecipe {
    std::string title = {};
    std::string subtitle = {};
    std::string command = {};  ///< a command line that does it again
    std::string rewind = {};   ///< the beginning of one that takes a step again; empty: none does
    std::vector<RecipeLine> options = {};  ///< and everything else that does
    std::vector<ExpectedLoss> expected = {};
    std::int64_t steps = 0;            ///< that are planned
    std::int64_t tokens_per_step = 0;  ///< for tokens per second; 0: unknown
    double step_least = 0;             ///< seconds that a step takes at least; 0: unknown
    double clip = 0;                   ///< largest norm of the gradient; 0: none
    /// Of what is looked at again and again (ReportedEvaluation::look): its tokens, and the one
    /// that follows; and what a class that is predicted is called, without which it is a number.
    std::vector<std::string> sentence = {};
    std::function<std::string(std::int64_t)> name_of = {};
};

/// What was seen at one evaluation. What is empty was not looked at.
struct ReportedEvaluation {
    std::int64_t step = 0;
    std::optional<double> val_loss = {};
    std::string sample = {};               ///< written by the model after this step
    std::vector<ParameterFlow> flow = {};  ///< of this step
    SentenceLook look = {};                ///< at the recipe's sentence, after this step
};

/// Room is bounded: a curve has at most TrainingCurve::kMost points, and of the evaluations at most
/// kMostEvaluations are kept, the first, the latest, and others evenly between.
class TrainingReport {
public:
    static constexpr std::size_t kMostEvaluations = 24;

    explicit TrainingReport(TrainingRecipe recipe);

    /// After each step, in order.
    void add(const StepMetrics& metrics);
    /// All evaluations have the same parameters, or none.
    void add(ReportedEvaluation evaluation);
    /// What each process has done so far, by rank; the page shows it of several.
    void set_processes(std::vector<ProcessAccount> processes) { processes_ = std::move(processes); }

    const TrainingRecipe& recipe() const { return recipe_; }
    const TrainingCurve& loss() const { return loss_; }
    const TrainingCurve& val_loss() const { return val_loss_; }
    const TrainingCurve& lr() const { return lr_; }
    const TrainingCurve& grad_norm() const { return grad_norm_; }
    const TrainingCurve& step_seconds() const { return step_seconds_; }
    const std::vector<ReportedEvaluation>& evaluations() const { return evaluations_; }
    const std::vector<Spike>& spikes() const { return spikes_.all(); }
    const std::vector<ProcessAccount>& processes() const { return processes_; }
    const StepMetrics& latest() const { return latest_; }  ///< step 0 before the first

private:
    TrainingRecipe recipe_;
    TrainingCurve loss_, val_loss_, lr_, grad_norm_, step_seconds_;
    Spikes spikes_;
    StepMetrics latest_;
    std::size_t stride_ = 1;  // every so many evaluations one is kept
    std::size_t evaluated_ = 0;
    std::vector<ReportedEvaluation> evaluations_;
    std::vector<ProcessAccount> processes_;
};

enum class TrainingState { running, finished, interrupted, diverged, failed };

/// How things stand when the page is written.
struct ReportStatus {
    TrainingState state = TrainingState::running;
    std::string message = {};  ///< the error that ended it
    double cost_seconds = 0;   ///< that the report took so far
    double started = 0;        ///< seconds since 1970, by which an open page knows its training
    double written = 0;        ///< likewise: this page
};

/// One HTML file that asks for nothing but newer versions of itself, and only while it says
/// "running": an open page loads its own file into a hidden frame now and then.
std::string to_html(const TrainingReport& report, const ReportStatus& status);

/// The page's data alone: one JSON object.
std::string to_json(const TrainingReport& report, const ReportStatus& status);

}  // namespace tapestry
