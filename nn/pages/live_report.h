// The report of a training that runs: a TrainingReport and its file, when that is written, and how
// little it may cost. Read next: report.h, the page itself.
#pragma once

#include <tapestry/core/clock.h>
#include <tapestry/nn/pages/report.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

namespace tapestry {

/// Keeps a TrainingReport and its file. The page is written after the first step; then at
/// evaluations, and every four seconds at the most, as long as all that the report takes (looking
/// at parameters, samples, pages) stays within 1% of the training's time; and at the end, with what
/// the last evaluation brought, whatever it takes. What the report cannot do never ends a training.
class LiveReport {
public:
    struct Hooks {
        std::function<TrainingRecipe()> recipe;        ///< its time counts as the report's
        std::function<std::string()> sample;           ///< what the model writes now
        std::function<void(const std::string&)> warn;  ///< called once, if something goes wrong
        std::function<SentenceLook()> look = {};       ///< at the recipe's sentence; may be empty
    };

    /// The model is that of the hooks, and lives as long as this.
    LiveReport(std::filesystem::path path, const Module& model, Hooks hooks);

    /// Gradients are in place, the update is not; an evaluation will follow it. `last`: no other.
    void before_evaluated_update(bool last);
    void add(const StepMetrics& metrics);
    /// Steps that were taken before this report was there, in order, ahead of any other.
    void add_earlier(const std::vector<StepMetrics>& steps);
    /// TrainingReport::set_processes; the next page has it.
    void set_processes(std::vector<ProcessAccount> processes) {
        report_.set_processes(std::move(processes));
    }
    void end(TrainingState state, const std::string& message = {});

    /// That all this has taken so far.
    double seconds() const { return spent_; }
    /// A line, "report in m/report.html; it took 0.4% of the time"; empty if it could not be
    /// written.
    std::string summary() const;

private:
    template <class F>
    double timed(const F& f);
    void warn(const char* message);
    bool affords(double seconds) const;
    void evaluate(const StepMetrics& metrics);
    void write(TrainingState state, const std::string& message = {});

    std::filesystem::path path_;
    Hooks hooks_;
    GradientFlow flow_;
    TrainingReport report_{TrainingRecipe{}};
    double started_;           // since 1970
    double spent_ = 0;         // seconds
    double elapsed_ = 0;       // of the training, when last told
    double last_written_ = 0;  // then
    double flow_cost_ = 0, sample_cost_ = 0, look_cost_ = 0, page_cost_ = 0;  // of the latest
    bool last_evaluation_ = false;
    bool watches_update_ = false;
    bool warned_ = false;
    bool is_written_ = false;
    bool was_written_ = false;  // at any time
};

}  // namespace tapestry
