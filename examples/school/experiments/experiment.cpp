// Runs trials for every seed, and an experiment from its trials to its verdicts. Implements
// experiment.h.
#include <tapestry/examples/school/experiments/experiment.h>

#include <tapestry/core/error.h>
#include <tapestry/core/parallel.h>

#include <algorithm>
#include <chrono>

namespace tapestry::experiments {
namespace {

double timed(const std::function<void()>& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

const std::vector<Measured>& Outcomes::seeds(const std::string& trial) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.name == trial; });
    if (found != entries_.end()) return found->seeds;
    std::string names;
    for (const Entry& entry : entries_) names += (names.empty() ? "" : "; ") + entry.name;
    throw ValueError(fmt::format("no trial is called '{}'; there are {}", trial, names));
}

std::vector<double> Outcomes::values(const std::string& trial, const std::string& number) const {
    std::vector<double> result;
    for (const Measured& seed : seeds(trial)) {
        const auto found = seed.numbers.find(number);
        require<ValueError>(found != seed.numbers.end(), "trial '{}' has no number '{}'", trial,
                            number);
        result.push_back(found->second);
    }
    return result;
}

Interval Outcomes::of(const std::string& trial, const std::string& number) const {
    return student(values(trial, number));
}

std::vector<double> Outcomes::curve(const std::string& trial, const std::string& name) const {
    std::vector<double> mean;
    const std::vector<Measured>& all = seeds(trial);
    for (const Measured& seed : all) {
        const auto found = seed.curves.find(name);
        require<ValueError>(found != seed.curves.end(), "trial '{}' has no curve '{}'", trial,
                            name);
        const std::vector<double>& curve = found->second;
        mean.resize(&seed == &all.front() ? curve.size() : std::min(mean.size(), curve.size()), 0);
        for (std::size_t i = 0; i < mean.size(); ++i) {
            mean[i] += curve[i] / static_cast<double>(all.size());
        }
    }
    return mean;
}

Outcomes run_trials(const std::vector<Trial>& trials, std::uint64_t first_seed,
                    std::int64_t seeds) {
    std::vector<Outcomes::Entry> entries;
    for (const Trial& trial : trials) {
        entries.push_back(
            {trial.name, trial.timed, 0, std::vector<Measured>(static_cast<std::size_t>(seeds))});
    }
    std::vector<double> seconds(trials.size() * static_cast<std::size_t>(seeds));
    const auto run = [&](std::int64_t job) {
        const auto trial = static_cast<std::size_t>(job / seeds);
        const auto seed = static_cast<std::size_t>(job % seeds);
        seconds[static_cast<std::size_t>(job)] =
            timed([&] { entries[trial].seeds[seed] = trials[trial].run(first_seed + seed); });
    };
    // Loops inside a chunk run on its thread (core/parallel.h), so each trial uses one core.
    std::vector<std::int64_t> beside, alone;
    for (std::int64_t job = 0; job < static_cast<std::int64_t>(seconds.size()); ++job) {
        (trials[static_cast<std::size_t>(job / seeds)].timed ? alone : beside).push_back(job);
    }
    parallel_for_chunks(static_cast<std::int64_t>(beside.size()),
                        [&](std::int64_t i) { run(beside[static_cast<std::size_t>(i)]); });
    for (const std::int64_t job : alone) run(job);
    for (std::size_t job = 0; job < seconds.size(); ++job) {
        entries[job / static_cast<std::size_t>(seeds)].seconds += seconds[job];
    }
    return Outcomes(std::move(entries));
}

// ---- experiments

namespace {

void check_decided(const Experiment& experiment, const Report& report) {
    for (const Claim& claim : experiment.claims) {
        require<ValueError>(report.decided.count(claim.name) == 1,
                            "experiment {}: nothing decides its claim '{}'", experiment.name,
                            claim.name);
    }
    require<ValueError>(report.decided.size() == experiment.claims.size(),
                        "experiment {}: {} numbers decide {} claims", experiment.name,
                        report.decided.size(), experiment.claims.size());
}

}  // namespace

Found run(const Experiment& experiment, const Setting& setting) {
    require<ValueError>(setting.model.empty() || experiment.takes_model,
                        "--model: experiment {} asks no model in a directory", experiment.name);
    require<ValueError>(setting.text.empty() || experiment.takes_text,
                        "--text: experiment {} learns from no text in a file", experiment.name);
    const auto start = std::chrono::steady_clock::now();
    Found found{.name = experiment.name, .report = {}, .outcomes = {}};
    if (experiment.trials != nullptr) {
        found.outcomes = run_trials(experiment.trials(setting), setting.seed, setting.seeds);
    }
    found.report = experiment.report(setting, found.outcomes);
    check_decided(experiment, found.report);
    found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return found;
}

Verdict verdict(const Experiment& experiment, const Report& report, const std::string& claim) {
    const auto found = std::find_if(experiment.claims.begin(), experiment.claims.end(),
                                    [&](const Claim& c) { return c.name == claim; });
    require<ValueError>(found != experiment.claims.end(), "experiment {} makes no claim '{}'",
                        experiment.name, claim);
    return judge(found->rule, report.decided.at(claim));
}

std::vector<Verdict> corrected_verdicts(const Experiment& experiment, const Report& report) {
    std::vector<Judged> claims;
    for (const Claim& claim : experiment.claims) {
        claims.push_back({claim.rule, report.decided.at(claim.name)});
    }
    return judge_together(claims);
}

}  // namespace tapestry::experiments
