// An experiment: something that is said of attention or of training, put to the test. A question,
// what theory answers, claims with the rules that decide them, what is trained for every seed, and
// a report of tables and pictures. The verdicts follow from rules and numbers alone: where theory
// and measurement differ, it says so.
//
// Each experiment is a file of this folder and a namespace of the same name, whose function
// experiment() returns it; registry.cpp lists them. Read next: claim.h, then
// word_order.cpp, one of the shortest.
#pragma once

#include <tapestry/examples/school/experiments/claim.h>
#include <tapestry/examples/school/experiments/table.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tapestry::experiments {

// ---- trials: what an experiment trains or draws at random, once for every seed. The seeds of all
// trials run side by side, one on each core; their numbers come back as intervals.

/// What one seed gave.
struct Measured {
    std::map<std::string, double> numbers = {};              ///< "accuracy", "loss"
    std::map<std::string, std::vector<double>> curves = {};  ///< for pictures; not kept in the JSON
};

struct Trial {
    std::string name;  ///< mostly that of a table's row: "LSTM, forget bias 1"
    /// Everything random in it comes from the seed. It may run beside others: whatever it shares
    /// with them it only reads. Its own parallel loops then run on its thread.
    std::function<Measured(std::uint64_t seed)> run;
    /// It measures time or the process's memory: runs alone, on all threads, and its numbers differ
    /// from run to run.
    bool timed = false;
};

/// What all seeds of all trials gave.
class Outcomes {
public:
    struct Entry {
        std::string name;
        bool timed = false;
        double seconds = 0;                ///< of all its seeds together
        std::vector<Measured> seeds = {};  ///< in the order of the seeds
    };

    Outcomes() = default;
    explicit Outcomes(std::vector<Entry> entries) : entries_(std::move(entries)) {}

    const std::vector<Entry>& entries() const { return entries_; }

    /// These three throw ValueError, naming what there is, for a trial or a number that there is
    /// not.
    const std::vector<Measured>& seeds(const std::string& trial) const;
    std::vector<double> values(const std::string& trial, const std::string& number) const;
    Interval of(const std::string& trial, const std::string& number) const;  ///< Student's

    /// The mean of a curve over the seeds, as long as the shortest of them.
    std::vector<double> curve(const std::string& trial, const std::string& name) const;

private:
    std::vector<Entry> entries_;
};

/// Runs every trial with the seeds first_seed, ..., first_seed + seeds - 1.
Outcomes run_trials(const std::vector<Trial>& trials, std::uint64_t first_seed, std::int64_t seeds);

// ---- experiments

/// How an experiment is run.
struct Setting {
    bool quick = false;  ///< smaller and shorter, for tests: seconds instead of minutes
    std::uint64_t seed = 1;
    std::int64_t seeds = 10;  ///< trials run with seed, ..., seed + seeds - 1
    /// A directory with a trained GPT to ask instead of training one; empty: none. For experiments
    /// with `takes_model`.
    std::string model = {};
    /// A text to learn from instead of generated stories; empty: these. For experiments with
    /// `takes_text`.
    std::string text = {};

    /// One of two, by `quick`.
    template <class T>
    T pick(T full, T short_form) const {
        return quick ? short_form : full;
    }
};

/// A picture, as made by svg() in plot.h. Its file is named after experiment and figure.
struct Figure {
    std::string name;
    std::string caption;
    std::string svg;
};

/// What an experiment found. Everything but measured times is the same for the same seed.
struct Report {
    std::vector<Table> tables = {};
    std::vector<Figure> figures = {};
    /// The number of every claim, by the claim's name.
    std::map<std::string, Interval> decided = {};
    /// What the verdicts do not say: a paragraph with the numbers it rests on. May be empty.
    std::string remark = {};
};

struct Experiment {
    std::string name;      ///< as the command takes it: "sqrt_dk"
    std::string question;  ///< "Why divide by sqrt(d_k)?"
    /// What should come out and why, with its source. A line is a paragraph, filled when shown;
    /// lines set in by four spaces are formulas. Markdown's * and _ are Markdown's here too.
    std::string theory;
    std::vector<Claim> claims;
    /// What is done for every seed; null where nothing is trained or drawn.
    std::vector<Trial> (*trials)(const Setting& setting);
    /// Tables, pictures, and the number of every claim.
    Report (*report)(const Setting& setting, const Outcomes& outcomes);
    bool takes_model = false;  ///< it can ask a model in a directory: Setting::model
    bool takes_text = false;   ///< it can learn from a text: Setting::text
};

/// An experiment that has run.
struct Found {
    std::string name;  ///< the experiment's
    Report report;
    Outcomes outcomes;
    double seconds = 0;
};

/// Runs it. Throws ValueError for a model it cannot ask, and if a claim was not decided or
/// something was that is no claim.
Found run(const Experiment& experiment, const Setting& setting);

/// What became of a claim. Throws ValueError if the experiment has none of this name.
Verdict verdict(const Experiment& experiment, const Report& report, const std::string& claim);

}  // namespace tapestry::experiments
