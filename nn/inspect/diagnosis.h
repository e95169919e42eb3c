// Did a run go well, and what should change? A table of rules compares a run's losses, gradient
// norms, updates and learning rate with losses that need no model; the first rule that holds gives
// one sentence and the next command. Without a clear sign the rules are silent.
//
//     RunWatch watch(1000, 1, std::log(65));          // steps, clip, loss of guessing
//     ... watch.add(metrics) ...
//     const Diagnosis d = diagnose(watch.facts());    // d.text, d.command
//
// Read next: diagnosis.cpp, the rules; nn/pages/report.h, which knows the other facts.
#pragma once

#include <tapestry/nn/inspect/step_metrics.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace tapestry {

class Inspector;

/// Whether a run or step is as it should be.
enum class DiagnosisVerdict {
    silent,  ///< no rule holds
    good,    ///< it went well
    open,    ///< it learns, but is not done
    bad      ///< something is wrong
};

/// One sentence about a run or a step.
struct Diagnosis {
    DiagnosisVerdict verdict = DiagnosisVerdict::silent;  ///< whether something is wrong
    std::string rule = {};     ///< name of the rule, "rate_too_high"; empty: silent
    std::string text = {};     ///< one sentence, without a full stop
    std::string advice = {};   ///< what to change, in words; may be empty
    std::string command = {};  ///< shell command to run next; may be empty
};

/// A run's numbers, as the rules read them. Unknown numbers are NaN, unknown counts 0.
struct RunFacts {
    bool diverged = false;       ///< it ended with a loss, gradient or weight that is not finite
    bool running = false;        ///< steps follow
    std::int64_t planned = 0;    ///< steps in all
    StepValue first = {};        ///< training loss of the first step
    StepValue last = {};         ///< of the last step
    double recent = NAN;         ///< mean of the latest training losses
    double before = NAN;         ///< the same mean when three quarters of the steps were taken
    StepValue lowest = {};       ///< smallest such mean
    StepValue above = {};        ///< first loss clearly above guessing, after the first step
    StepValue val = {};          ///< latest validation loss
    StepValue lowest_val = {};   ///< smallest validation loss
    double val_at_start = NAN;   ///< validation loss before the first step
    double clipped = 0;          ///< share of the steps whose gradient was clipped
    double clip = 0;             ///< largest norm; 0: not clipped
    double norm = NAN;           ///< mean of the latest gradient norms, before clipping
    double lr = NAN;             ///< highest learning rate so far
    double usual_lr = 0;         ///< that of the optimiser's defaults; 0: unknown
    double ratio = NAN;          ///< median of ||update|| / ||value||, where the rate was highest
    double guessing = NAN;       ///< loss if all tokens are equally likely
    double counting = NAN;       ///< loss of counting tokens
    double pairs = NAN;          ///< loss of counting pairs
    std::string unit = "token";  ///< what is counted
    std::string command = {};    ///< shell command that began the run; may be empty
    std::string use = "sample";  ///< subcommand that uses the model
};

/// Collects facts step by step, in constant memory.
class RunWatch {
public:
    /// `guessing`: loss of guessing, NaN if unknown.
    RunWatch(std::int64_t steps, double clip, double guessing);
    /// Call after each step, in order.
    void add(const StepMetrics& metrics);
    /// The run shall take so many steps.
    void plan(std::int64_t steps) { facts_.planned = steps; }
    /// All except the facts that steps do not tell: these have their defaults.
    const RunFacts& facts() const { return facts_; }

private:
    RunFacts facts_;
    std::int64_t window_;  // steps that the means cover
    std::int64_t seen_ = 0, clipped_ = 0;
};

/// What the first rule that holds (diagnosis.cpp) says.
Diagnosis diagnose(const RunFacts& facts);

/// About one step of a model: where NaN arose, a loss above guessing, a gradient that vanishes,
/// dead units. `command`: what to run next if nothing is wrong.
Diagnosis diagnose(const Inspector& step, const std::string& command = {});

/// "TEXT; ADVICE; next: COMMAND", without what is empty: a line for terminals.
std::string to_text(const Diagnosis& diagnosis);

/// A shell command with another value for an option, which is appended if it is not there:
/// ("train --lr 9 --out m", "--lr", "1") -> "train --lr 1 --out m".
std::string with_option(const std::string& command, const std::string& name,
                        const std::string& value);

/// An option's value in a shell command, as written; empty if it is not there.
std::string option_in(const std::string& command, const std::string& name);

}  // namespace tapestry
