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
    bool is_drawn;  ///< depends on seeds
    bool is_same;   ///< the same value with all of them, so the chance of a move is not known
    double again;   ///< Judged::again()
    Cell again_cell = "-";
};

std::map<std::string, Decided> decided_in(const Results& results) {
    const auto corrected = corrected_verdicts(results.found);
    std::map<std::string, Decided> all;
    for (const Found& found : results.found) {
        const Experiment& experiment = find_experiment(found.name);
        const std::vector<Judged> claims = judged(experiment, found.report);
        for (std::size_t i = 0; i < claims.size(); ++i) {
            const std::string& claim = experiment.claims[i].name;
            all[found.name + ": " + claim] = {claims[i].measured,
                                              claims[i].verdict(),
                                              corrected.at({found.name, claim}),
                                              claims[i].measured.count > 0,
                                              is_same_in_all(claims[i].measured),
                                              claims[i].again(),
                                              again_of(claims[i])};
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

/// The moves of all claims, and of those that other seeds can move.
struct Compared {
    std::size_t claims = 0, same = 0;
    Moves alone, corrected;
    double expected = 0;  // of `alone`, by the intervals of the first

    void add(const Decided& first, const Decided& other) {
        ++claims;
        same += first.is_same;
        expected += 1 - first.again;
        alone.add(first.alone, other.alone);
        corrected.add(first.corrected, other.corrected);
    }
    std::string text() const {
        const std::string but =
            same == 0 ? "" : fmt::format(" of all but the {} whose values are the same", same);
        return fmt::format(
            "  corrected for all claims: {}\n  each by itself: {}; {:.1f} expected by chance{}\n",
            corrected.text(claims), alone.text(claims), expected, but);
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
    Table table{
        "", {"claim", seeds_of(first), seeds_of(other), "again", "measured", "measured"}, {}};
    Compared all, drawn;
    for (const auto& [name, a] : ours) {
        const auto found = theirs.find(name);
        if (found == theirs.end()) continue;
        const Decided& b = found->second;
        all.add(a, b);
        if (a.is_drawn || b.is_drawn) drawn.add(a, b);
        if (a.alone == b.alone && a.corrected == b.corrected) continue;
        const auto measured = [](const Interval& i) {
            return fmt::format("{} {}", mean_of(i).text, width_of(i));
        };
        table.rows.push_back({name, both(a.alone, a.corrected), both(b.alone, b.corrected),
                              a.again_cell, measured(a.measured), measured(b.measured)});
    }
    require<ValueError>(all.claims > 0, "the two have no claim in common");
    const std::string only = all.claims == ours.size() && all.claims == theirs.size()
                                 ? ""
                                 : fmt::format(" ({} and {} in all)", ours.size(), theirs.size());
    std::string text =
        fmt::format("{}{} claims{}, {} and {}\n{}", table.rows.empty() ? "" : to_text(table) + "\n",
                    all.claims, only, seeds_of(first), seeds_of(other), all.text());
    if (drawn.claims > 0 && drawn.claims < all.claims) {
        text += fmt::format("{} of them depend on seeds\n{}", drawn.claims, drawn.text());
    }
    if (seeds_of(first) == seeds_of(other)) {
        text += "both have the same seeds: that verdicts agree says nothing about chance\n";
    }
    return text;
}

}  // namespace tapestry::experiments
