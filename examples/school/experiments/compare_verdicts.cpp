// The verdicts of two runs of the experiments, side by side. Part of run_experiments.h.
#include <tapestry/examples/school/experiments/run_experiments.h>

#include <tapestry/core/error.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>

#include <cstddef>
#include <map>
#include <utility>

namespace tapestry::experiments {
namespace {

/// A claim's name with its experiment's, as docs/claims.md writes it: "sqrt_dk: variance".
struct Decided {
    Interval measured;
    Verdict alone, corrected;
};

std::map<std::string, Decided> decided_in(const Results& results) {
    const auto corrected = corrected_verdicts(results.found);
    std::map<std::string, Decided> all;
    for (const Found& found : results.found) {
        const Experiment& experiment = find_experiment(found.name);
        const std::vector<Judged> claims = judged(experiment, found.report);
        for (std::size_t i = 0; i < claims.size(); ++i) {
            const std::string& claim = experiment.claims[i].name;
            all[found.name + ": " + claim] = {claims[i].measured, claims[i].verdict(),
                                              corrected.at({found.name, claim})};
        }
    }
    return all;
}

/// How many verdicts differ, and how.
struct Moves {
    std::size_t reversed = 0, moved = 0;

    void add(Verdict first, Verdict other) {
        if (first == other) return;
        const bool is_shown = first != Verdict::not_shown && other != Verdict::not_shown;
        ++(is_shown ? reversed : moved);
    }
    std::string text(std::size_t of) const {
        const auto percent_of = [&](std::size_t n) {
            return 100 * static_cast<double>(n) / static_cast<double>(of);
        };
        return fmt::format("{} reversed ({:.1f} %), {} moved to or from \"not shown\" ({:.1f} %)",
                           reversed, percent_of(reversed), moved, percent_of(moved));
    }
};

std::string seeds_of(const Results& results) {
    return fmt::format("seeds {} to {}", results.seed,
                       results.seed + static_cast<std::uint64_t>(results.seeds) - 1);
}

std::string both(Verdict alone, Verdict corrected) {
    if (alone == corrected) return text_of(corrected);
    return fmt::format("{} (alone: {})", text_of(corrected), text_of(alone));
}

}  // namespace

std::string compare_verdicts(const Results& first, const Results& other) {
    require<ValueError>(first.quick == other.quick,
                        "verdicts of quick runs are not compared with those of whole ones");
    const auto ours = decided_in(first), theirs = decided_in(other);
    Table table{"", {"claim", seeds_of(first), seeds_of(other), "measured", "measured"}, {}};
    Moves alone, corrected;
    std::size_t count = 0;
    for (const auto& [name, a] : ours) {
        const auto found = theirs.find(name);
        if (found == theirs.end()) continue;
        const Decided& b = found->second;
        ++count;
        alone.add(a.alone, b.alone);
        corrected.add(a.corrected, b.corrected);
        if (a.alone == b.alone && a.corrected == b.corrected) continue;
        const auto measured = [](const Interval& i) {
            return fmt::format("{} {}", mean_of(i).text, width_of(i));
        };
        table.rows.push_back({name, both(a.alone, a.corrected), both(b.alone, b.corrected),
                              measured(a.measured), measured(b.measured)});
    }
    require<ValueError>(count > 0, "the two have no claim in common");
    const std::string only = count == ours.size() && count == theirs.size()
                                 ? ""
                                 : fmt::format(" ({} and {} in all)", ours.size(), theirs.size());
    return fmt::format(
        "{}{} claims{}, {} and {}\n"
        "  corrected for all claims: {}\n"
        "  each by itself: {}\n",
        table.rows.empty() ? "" : to_text(table) + "\n", count, only, seeds_of(first),
        seeds_of(other), corrected.text(count), alone.text(count));
}

}  // namespace tapestry::experiments
