// A session in a directory: steps are taken to the end, what is learned is saved at every
// evaluation, and beside the model lie the metrics of every step and a page that shows them.
//
//     Session session({.text = "input.txt", .steps = 500});
//     TrainingRun run(session, {.out = "model"});
//     const TrainingResult result = run.to_the_end();
//
// Nothing is printed: who wants to know is called back. Read next: session.h; live_report.h and
// trap.h, parts that go without it as well.
#pragma once

#include <tapestry/nn/pages/live_report.h>
#include <tapestry/nn/train/loss_watch.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/speed.h>
#include <tapestry/nn/train/trap.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace tapestry {

struct TrainingRunOptions {
    std::filesystem::path out;   ///< for model, tokenizer, metrics.jsonl and report.html
    bool report = true;          ///< write report.html
    bool trap_nan = false;       ///< record a step that diverges in out/trap
    TrainingRecipe recipe = {};  ///< what the report says of how to do it again
    /// Called after each step; false ends the training, which is then saved. May be empty.
    std::function<bool(const StepMetrics&, const Speed&)> stepped = {};
    /// Told, once, if the report cannot be written; the training goes on. May be empty.
    std::function<void(const std::string&)> warn = {};
};

struct TrainingResult {
    StepMetrics last;                ///< step
    std::optional<double> val_loss;  ///< the latest that was taken
    double tokens_per_second = 0;    ///< evaluations included
    double share = 0;                ///< of the machine's peak, evaluations excluded
    bool interrupted = false;        ///< `stepped` ended it
    std::string report = {};         ///< where the report is and what it took; empty: none
    std::string concern = {};        ///< LossWatch::concern()
};

class TrainingRun {
public:
    /// Throws IoError if the model could not be saved there, ValueError for a session without steps
    /// to take; what is there already stays until the first save. The session must outlive the run.
    TrainingRun(Session& session, TrainingRunOptions options);
    ~TrainingRun() { session_.watch({}); }
    TrainingRun(const TrainingRun&) = delete;
    TrainingRun& operator=(const TrainingRun&) = delete;

    /// Takes the steps that are left and saves what was learned. Throws DivergedError for a step
    /// or weights that are not finite, of which nothing is saved.
    TrainingResult to_the_end();

private:
    void watch();
    void open_report();
    void take_steps();
    bool after(const StepMetrics& metrics);
    void save(const StepMetrics& metrics);
    void finish();

    Session& session_;
    TrainingRunOptions options_;
    MetricsFile metrics_;
    double step_floor_;  // seconds that the arithmetic of a step takes at least
    Speed speed_;
    LossWatch losses_;
    std::optional<Trap> trap_;
    std::optional<LiveReport> report_;
    bool saved_ = false;
    TrainingResult result_;
};

}  // namespace tapestry
