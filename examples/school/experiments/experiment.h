// An experiment: a claim about attention or training, put to the test. It has a question, what
// theory predicts, claims with the rules that decide them, trials that run for every seed, and a
// report of tables and figures. The verdicts follow from rules and numbers only, even where theory
// and measurement differ.
//
// Each experiment is a file of this folder and a namespace of the same name, whose function
// experiment() returns it; registry.cpp lists them. Read next: claim.h, then word_order.cpp, one of
// the shortest.
#pragma once

#include <tapestry/examples/school/experiments/claim.h>
#include <tapestry/examples/school/experiments/table.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tapestry::experiments {

// ---- trials: what an experiment trains or draws at random, once for every seed. The seeds of all
// trials run in parallel, one per core; their numbers are reported as intervals.

/// The results of one seed.
struct Measured {
    std::map<std::string, double> numbers = {};              ///< "accuracy", "loss"
    std::map<std::string, std::vector<double>> curves = {};  ///< for figures
};

/// A curve of all seeds: the mean of each of its points and half the width of Student's interval,
/// with the five significant digits that the JSON keeps. Figures are drawn from it.
struct Curve {
    std::vector<double> mean = {};
    std::vector<double> half_width = {};  ///< NaN for a single seed
};

/// How a trial's learning rate is chosen: by the mean of `by` over three seeds that are not judged.
/// While the best rate is the first or the last of the grid, the grid is extended on that side by
/// its own factor, up to four times.
struct Tuning {
    std::vector<double> rates = {};  ///< ascending, a constant factor apart, at least 3
    std::function<Measured(std::uint64_t seed, double rate)> run = {};
    std::string by = "loss";  ///< a run's number to minimise; NaN or divergence: infinite
};

struct Trial {
    std::string name;  ///< usually that of a table row: "LSTM, forget bias 1"
    /// Everything random in it derives from the seed. It may run in parallel with other trials and
    /// must only read what they share. Its own parallel loops then run on its thread. Null for a
    /// trial with `tuning`.
    std::function<Measured(std::uint64_t seed)> run = {};
    /// Measures time or the process's memory: runs alone, on all threads, and its numbers differ
    /// between runs.
    bool timed = false;
    std::optional<Tuning> tuning = {};  ///< runs at the best rate of a grid
};

/// A trial whose learning rate is tuned.
Trial tuned(const std::string& name, std::vector<double> rates,
            std::function<Measured(std::uint64_t seed, double rate)> run);

struct Setting;

/// The same, minimising the number `by`; with Setting::quick at the middle rate of the grid, which
/// takes a fifth of the time and leaves claims that need a tuned rate undecided.
Trial swept(const Setting& setting, const std::string& name, const std::vector<double>& rates,
            const std::function<Measured(std::uint64_t seed, double rate)>& run,
            const std::string& by = "loss");

/// A learning rate that a tuned trial has tried, and the mean of the number it minimises.
struct Tried {
    double rate = 0;
    double loss = 0;
    bool operator==(const Tried&) const = default;
};

/// Index of the rate with the smallest loss; throws ValueError if there is none.
std::size_t best_of(const std::vector<Tried>& tried);

/// The results of all seeds of all trials.
class Outcomes {
public:
    struct Entry {
        std::string name;
        bool timed = false;
        double seconds = 0;                ///< of CPU, of all seeds and of choosing its rate
        std::vector<Measured> seeds = {};  ///< in the order of the seeds
        std::vector<Tried> tried = {};     ///< ascending rates of a tuned trial; its best was used
        /// Of all seeds, truncated to the shortest of them. Outcomes makes what is missing.
        std::map<std::string, Curve> curves = {};

        double rate() const { return tried.at(best_of(tried)).rate; }  ///< of a tuned trial
        bool is_inside() const;  ///< whether that is neither the first nor the last of them
    };

    Outcomes() = default;
    explicit Outcomes(std::vector<Entry> entries);

    const std::vector<Entry>& entries() const { return entries_; }

    bool has(const std::string& trial) const;
    /// These five throw ValueError, listing the known names, for an unknown trial or number.
    const Entry& entry(const std::string& trial) const;
    const std::vector<Measured>& seeds(const std::string& trial) const {
        return entry(trial).seeds;
    }
    std::vector<double> values(const std::string& trial, const std::string& number) const;
    Interval of(const std::string& trial, const std::string& number) const;  ///< Student's

    const Curve& curve(const std::string& trial, const std::string& name) const;

private:
    std::vector<Entry> entries_;
};

/// Runs every trial with seeds first_seed, ..., first_seed + seeds - 1, those with tuned rates at
/// the best rate for the (at most three) seeds that begin at first_seed + kTuningSeeds.
inline constexpr std::uint64_t kTuningSeeds = 1'000'000;
Outcomes run_trials(const std::vector<Trial>& trials, std::uint64_t first_seed, std::int64_t seeds);

// ---- experiments

/// How to run an experiment.
struct Setting {
    bool quick = false;  ///< smaller and shorter, for tests: seconds instead of minutes
    std::uint64_t seed = 1;
    std::int64_t seeds = 10;  ///< trials run with seed, ..., seed + seeds - 1
    /// Directory of a trained GPT to examine instead of training one; empty: none. For experiments
    /// with `takes_model`.
    std::string model = {};
    /// Text to train on instead of generated stories; empty: stories. For experiments with
    /// `takes_text`.
    std::string text = {};

    /// The first if `quick` is false, else the second.
    template <class T>
    T pick(T full, T short_form) const {
        return quick ? short_form : full;
    }
};

/// A figure, made by svg() in plot.h. Its file is named after the experiment and the figure.
struct Figure {
    std::string name;
    std::string caption;
    std::string svg;
};

/// The results of an experiment. Same seed, same results, except for measured times.
struct Report {
    std::vector<Table> tables = {};
    std::vector<Figure> figures = {};
    /// The number that decides each claim, by the claim's name.
    std::map<std::string, Interval> decided = {};
    /// Why a claim's design leaves it undecided, by the claim's name; filled by run().
    std::map<std::string, std::string> undecided = {};
    /// A paragraph about what the verdicts do not cover, with its numbers. May be empty.
    std::string remark = {};
    /// What one value is of a claim about trained models, if one model in a directory was examined;
    /// filled by run().
    std::string value_of_model = {};
};

struct Experiment {
    std::string name;      ///< the command's argument: "sqrt_dk"
    std::string question;  ///< "Why divide by sqrt(d_k)?"
    /// The expected result, why, and its source. Each line is a paragraph, wrapped for display;
    /// lines indented by four spaces are formulas. Markdown's * and _ work as in Markdown.
    std::string theory;
    std::vector<Claim> claims;
    /// The trials to run for every seed; null if nothing is trained or sampled.
    std::vector<Trial> (*trials)(const Setting& setting);
    /// Tables, figures, and the number of every claim.
    Report (*report)(const Setting& setting, const Outcomes& outcomes);
    bool takes_model = false;  ///< can examine a model in a directory: Setting::model
    bool takes_text = false;   ///< can train on a text: Setting::text
};

/// The outcome of a finished experiment.
struct Found {
    std::string name;  ///< the experiment's
    Report report;
    Outcomes outcomes;
    double seconds = 0;
};

/// Runs the experiment. Throws ValueError, before anything runs, for a claim without a design or
/// with a rule that cannot fail, for two with the same sentence, for a design that names a trial
/// which does not exist, and for a model that it cannot examine; later if a claim has no number, if
/// a number belongs to no claim, and for an interval that its design contradicts: of more values
/// than there are seeds, or without values though it is random. A claim stays undecided if a tuned
/// rate is at the edge of its grid, or if all that it compares is at the maximum of its score.
Found run(const Experiment& experiment, const Setting& setting);

/// The claim's design, or what takes its place where the values are of one model in a directory.
Design design_of(const Claim& claim, const Report& report);

/// The verdict on a claim. Throws ValueError if the experiment has no claim of this name.
Verdict verdict(const Experiment& experiment, const Report& report, const std::string& claim);

/// All its claims with their numbers, in their order.
std::vector<Judged> judged(const Experiment& experiment, const Report& report);

/// The verdicts on all its claims, in their order, corrected for their number.
std::vector<Verdict> corrected_verdicts(const Experiment& experiment, const Report& report);

}  // namespace tapestry::experiments
