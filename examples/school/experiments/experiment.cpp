// Runs trials for every seed, and an experiment from its trials to its verdicts. Implements
// experiment.h.
#include <tapestry/examples/school/experiments/experiment.h>

#include <tapestry/core/clock.h>
#include <tapestry/core/error.h>
#include <tapestry/examples/school/experiments/plot.h>
#include <tapestry/examples/school/experiments/tuning.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace tapestry::experiments {

Trial tuned(const std::string& name, std::vector<double> rates,
            std::function<Measured(std::uint64_t seed, double rate)> run) {
    Trial trial{.name = name};
    trial.tuning = Tuning{.rates = std::move(rates), .run = std::move(run)};
    return trial;
}

Trial swept(const Setting& setting, const std::string& name, const std::vector<double>& rates,
            const std::function<Measured(std::uint64_t seed, double rate)>& run,
            const std::string& by) {
    if (setting.quick) {
        return {name, [=, rate = rates.at(rates.size() / 2)](std::uint64_t seed) {
                    return run(seed, rate);
                }};
    }
    Trial trial = tuned(name, rates, run);
    trial.tuning->by = by;
    return trial;
}

namespace {

// To five significant digits; NaN if not finite.
double rounded(double value) {
    if (!std::isfinite(value)) return std::nan("");
    if (value == 0) return 0;
    const double scale = std::pow(10.0, 4 - std::floor(std::log10(std::abs(value))));
    return std::round(value * scale) / scale;
}

Curve over_seeds(const std::vector<Measured>& seeds, const std::string& name) {
    std::size_t points = std::numeric_limits<std::size_t>::max();
    for (const Measured& seed : seeds) points = std::min(points, seed.curves.at(name).size());
    Curve curve;
    for (std::size_t i = 0; i < points; ++i) {
        std::vector<double> values;
        for (const Measured& seed : seeds) values.push_back(seed.curves.at(name)[i]);
        const Interval interval = student(values);
        curve.mean.push_back(rounded(interval.mean));
        curve.half_width.push_back(rounded(interval.half_width()));
    }
    return curve;
}

}  // namespace

Outcomes::Outcomes(std::vector<Entry> entries) : entries_(std::move(entries)) {
    for (Entry& entry : entries_) {
        if (entry.seeds.empty()) continue;
        for (const auto& [name, points] : entry.seeds.front().curves) {
            const bool in_all = std::ranges::all_of(
                entry.seeds,
                [&wanted = name](const Measured& seed) { return seed.curves.contains(wanted); });
            if (in_all && !entry.curves.contains(name)) {
                entry.curves[name] = over_seeds(entry.seeds, name);
            }
        }
    }
}

bool Outcomes::has(const std::string& trial) const {
    return std::ranges::find(entries_, trial, &Entry::name) != entries_.end();
}

const Outcomes::Entry& Outcomes::entry(const std::string& trial) const {
    const auto found = std::ranges::find(entries_, trial, &Entry::name);
    if (found != entries_.end()) return *found;
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

const Curve& Outcomes::curve(const std::string& trial, const std::string& name) const {
    const Entry& entry = this->entry(trial);
    const auto found = entry.curves.find(name);
    require<ValueError>(found != entry.curves.end(), "trial '{}' has no curve '{}'", trial, name);
    return found->second;
}

Outcomes run_trials(const std::vector<Trial>& trials, std::uint64_t first_seed,
                    std::int64_t seeds) {
    std::vector<Outcomes::Entry> entries;
    for (const Trial& trial : trials) {
        entries.push_back(
            {trial.name, trial.timed, 0, std::vector<Measured>(static_cast<std::size_t>(seeds))});
    }
    tune(trials, first_seed + kTuningSeeds, std::min<std::int64_t>(seeds, 3), entries);
    std::vector<double> seconds(trials.size() * static_cast<std::size_t>(seeds));
    const auto trial_of = [&](std::int64_t job) { return static_cast<std::size_t>(job / seeds); };
    run_jobs(
        static_cast<std::int64_t>(seconds.size()),
        [&](std::int64_t job) { return trials[trial_of(job)].timed; },
        [&](std::int64_t job) {
            const Trial& trial = trials[trial_of(job)];
            Outcomes::Entry& entry = entries[trial_of(job)];
            const auto seed = static_cast<std::size_t>(job % seeds);
            seconds[static_cast<std::size_t>(job)] = cpu_seconds(trial.timed, [&] {
                entry.seeds[seed] = trial.tuning
                                        ? trial.tuning->run(first_seed + seed, entry.rate())
                                        : trial.run(first_seed + seed);
            });
        });
    for (std::size_t job = 0; job < seconds.size(); ++job) {
        entries[job / static_cast<std::size_t>(seeds)].seconds += seconds[job];
    }
    return Outcomes(std::move(entries));
}

// ---- experiments

namespace {

// The part that a claim lacks; empty if it has all. Two claims with the same sentence would be one
// to the reader, with two verdicts.
std::string missing_from(const Claim& claim, const std::vector<Claim>& all) {
    const auto is_double = [&](auto part) {
        return std::ranges::count(all, claim.*part, part) > 1;
    };
    if (is_double(&Claim::name)) return "has the name of another";
    if (is_double(&Claim::sentence)) return "has the sentence of another";
    const bool has_bound = std::isfinite(claim.rule.low) || std::isfinite(claim.rule.high);
    if (!has_bound || !(claim.rule.low < claim.rule.high)) {
        return "has a rule that no number could break, or none obey";
    }
    return missing_from(claim.design);
}

void check_claims(const Experiment& experiment) {
    for (const Claim& claim : experiment.claims) {
        const std::string missing = missing_from(claim, experiment.claims);
        require<ValueError>(missing.empty(), "experiment {}: claim '{}' {}", experiment.name,
                            claim.name, missing);
    }
}

// A trial that a design names and that does not exist would be neither checked for the edge of its
// grid nor for its ceiling.
void check_arms(const Experiment& experiment, const std::vector<Trial>& trials) {
    for (const Claim& claim : experiment.claims) {
        for (const std::string& arm : claim.design.arms) {
            require<ValueError>(std::ranges::find(trials, arm, &Trial::name) != trials.end(),
                                "experiment {}: claim '{}' compares '{}', which is no trial",
                                experiment.name, claim.name, arm);
        }
    }
}

// An interval must have the values that its design promises: one for each seed at most, since
// several values of one model, such as its heads, are not independent.
void check_values(const Experiment& experiment, const Claim& claim, const Interval& decided,
                  std::int64_t seeds) {
    if (std::isnan(decided.mean)) return;  // not measured
    const bool is_random = claim.design.source != Source::computed;
    require<ValueError>(decided.count <= (is_random ? seeds : 0),
                        "experiment {}: claim '{}' has {} values of {} seeds; they cannot be "
                        "independent",
                        experiment.name, claim.name, decided.count, is_random ? seeds : 0);
    require<ValueError>(!is_random || decided.count > 0,
                        "experiment {}: claim '{}' depends on seeds and has no interval",
                        experiment.name, claim.name);
}

void check_decided(const Experiment& experiment, const Report& report, std::int64_t seeds) {
    for (const Claim& claim : experiment.claims) {
        const auto found = report.decided.find(claim.name);
        require<ValueError>(found != report.decided.end(),
                            "experiment {}: nothing decides its claim '{}'", experiment.name,
                            claim.name);
        check_values(experiment, claim, found->second, seeds);
    }
    require<ValueError>(report.decided.size() == experiment.claims.size(),
                        "experiment {}: {} numbers decide {} claims", experiment.name,
                        report.decided.size(), experiment.claims.size());
}

// Why a claim stays undecided; empty if its number decides it.
std::string reason_against(const Design& design, const Outcomes& outcomes) {
    std::vector<const Outcomes::Entry*> arms;  // the short form of an experiment may lack some
    for (const std::string& arm : design.arms) {
        if (outcomes.has(arm)) arms.push_back(&outcomes.entry(arm));
    }
    for (const Outcomes::Entry* arm : arms) {
        if (!design.untuned.empty() || arm->is_inside()) continue;
        if (arm->tried.empty()) return fmt::format("the rate of '{}' is not tuned", arm->name);
        return fmt::format("the best rate of '{}', {:g}, is at the edge of its grid", arm->name,
                           arm->rate());
    }
    if (design.score.empty() || arms.size() < 2) return "";
    constexpr double kCeiling = 0.995;
    double lowest = 1;
    for (const Outcomes::Entry* arm : arms) {
        lowest = std::min(lowest, outcomes.of(arm->name, design.score).mean);
    }
    if (lowest < kCeiling) return "";
    return fmt::format("all that is compared is at the ceiling, {:.2f} % and more", 100 * lowest);
}

// The rates that tuned trials have tried; empty without any.
std::optional<Table> rates_table(const Outcomes& outcomes) {
    Table table{"Learning rates and the mean loss at each, on other seeds; the best is used",
                {"trial", "rate: loss", "best"},
                {}};
    for (const Outcomes::Entry& entry : outcomes.entries()) {
        if (entry.tried.empty()) continue;
        std::string all;
        for (const Tried& tried : entry.tried) {
            all += fmt::format("{}{:.4g}: {:.4g}", all.empty() ? "" : ", ", tried.rate, tried.loss);
        }
        table.rows.push_back({entry.name, all, Cell(entry.rate())});
    }
    if (table.rows.empty()) return {};
    return table;
}

}  // namespace

Found run(const Experiment& experiment, const Setting& setting) {
    require<ValueError>(setting.model.empty() || experiment.takes_model,
                        "--model: experiment {} asks no model in a directory", experiment.name);
    require<ValueError>(setting.text.empty() || experiment.takes_text,
                        "--text: experiment {} learns from no text in a file", experiment.name);
    check_claims(experiment);
    const auto start = Clock::now();
    Found found{.name = experiment.name, .report = {}, .outcomes = {}};
    if (experiment.trials != nullptr) {
        const std::vector<Trial> trials = experiment.trials(setting);
        // The short form lacks some trials, and a model in a directory is the only one.
        if (!setting.quick && setting.model.empty()) check_arms(experiment, trials);
        found.outcomes = run_trials(trials, setting.seed, setting.seeds);
    }
    found.report = experiment.report(setting, found.outcomes);
    check_decided(experiment, found.report, setting.seeds);
    for (const Claim& claim : experiment.claims) {
        const std::string reason = reason_against(claim.design, found.outcomes);
        if (!reason.empty()) found.report.undecided[claim.name] = reason;
        const Interval& decided = found.report.decided.at(claim.name);
        if (std::isnan(decided.mean) && decided.count > 0) {
            found.report.undecided[claim.name] = "the value of a seed is not a number";
        }
    }
    if (!setting.model.empty()) found.report.value_of_model = "other stories, the same model";
    if (const auto rates = rates_table(found.outcomes)) found.report.tables.push_back(*rates);
    if (const auto seeds = seeds_figure(experiment, found.report)) {
        found.report.figures.push_back(*seeds);
    }
    found.seconds = seconds_since(start);
    return found;
}

Design design_of(const Claim& claim, const Report& report) {
    const bool is_of_one = !report.value_of_model.empty();
    if (!is_of_one || claim.design.source != Source::trained) return claim.design;
    return Design::drawn(report.value_of_model);
}

Verdict verdict(const Experiment& experiment, const Report& report, const std::string& claim) {
    const auto found = std::find_if(experiment.claims.begin(), experiment.claims.end(),
                                    [&](const Claim& c) { return c.name == claim; });
    require<ValueError>(found != experiment.claims.end(), "experiment {} makes no claim '{}'",
                        experiment.name, claim);
    return judged(experiment, report)
        .at(static_cast<std::size_t>(found - experiment.claims.begin()))
        .verdict();
}

std::vector<Judged> judged(const Experiment& experiment, const Report& report) {
    std::vector<Judged> claims;
    for (const Claim& claim : experiment.claims) {
        const auto decided = report.decided.find(claim.name);
        require<ValueError>(decided != report.decided.end(),
                            "experiment {}: its results have no claim '{}', so they are of another "
                            "version",
                            experiment.name, claim.name);
        claims.push_back({claim.rule, decided->second,
                          report.undecided.find(claim.name) != report.undecided.end()});
    }
    return claims;
}

std::vector<Verdict> corrected_verdicts(const Experiment& experiment, const Report& report) {
    return judge_together(judged(experiment, report));
}

}  // namespace tapestry::experiments
