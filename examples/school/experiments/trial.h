// What an experiment trains or draws at random, once for every seed. The seeds of all trials run
// side by side, one on each core; their numbers come back as intervals.
#pragma once

#include <tapestry/examples/school/experiments/interval.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tapestry::experiments {

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

}  // namespace tapestry::experiments
