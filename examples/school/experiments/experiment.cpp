// One experiment from its trials to its verdicts. Read experiment.h first.
#include <tapestry/examples/school/experiments/experiment.h>

#include <tapestry/core/error.h>

#include <algorithm>
#include <chrono>

namespace tapestry::experiments {
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

}  // namespace tapestry::experiments
