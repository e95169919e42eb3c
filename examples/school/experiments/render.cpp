// Reports as text and as Markdown. Implements render.h.
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>
#include <utility>

namespace tapestry::experiments {
namespace {

constexpr std::size_t kColumns = 90;

std::string filled(const std::string& paragraph) {
    std::istringstream words(paragraph);
    std::string result, line;
    for (std::string word; words >> word;) {
        if (!line.empty() && line.size() + 1 + word.size() > kColumns) {
            result += line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    return result + line + "\n";
}

// Each line of `text` is a paragraph to wrap; empty lines and formulas, indented by four spaces,
// stay as they are.
std::string wrapped(const std::string& text) {
    std::istringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line);) {
        result += line.starts_with("    ") ? line + "\n" : filled(line);
    }
    return result;
}

std::string capital(std::string word) {
    word.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(word.front())));
    return word;
}

std::string listed_designs(const Experiment& experiment, const Report& report) {
    std::string result;
    for (const auto& [text, names] :
         designs_of(experiment, report, [](const Design& design) { return text_of(design); })) {
        result += wrapped(fmt::format("- {}: {}", names, text));
    }
    return result;
}

// "Share of right answers: 0.95 [0.93, 0.97] (10 values). Rule: above 0.9."
std::string reason(const Claim& claim, const Judged& decision, const Cell& needed) {
    const Interval& decided = decision.measured;
    const std::string seeds = decided.count > 1 ? fmt::format(" ({} values)", decided.count) : "";
    const std::string more =
        std::isnan(needed.value) ? "" : fmt::format(" {} values would decide it.", needed.text);
    return fmt::format("{}: {} {}{}. Rule: {}.{}", capital(claim.number), mean_of(decided).text,
                       width_of(decided), seeds, text_of(claim.rule), more);
}

std::string claims_as_text(const Experiment& experiment, const Report& report) {
    const std::vector<Judged> claims = judged(experiment, report);
    const std::vector<Verdict> corrected = judge_together(claims);
    const auto counted = std::ranges::count_if(claims, &Judged::is_counted);
    std::string result;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        const Claim& claim = experiment.claims[i];
        const Verdict verdict = claims[i].verdict(), after = corrected[i];
        const std::string correction =
            after == verdict ? "" : fmt::format(" ({} among {} claims)", text_of(after), counted);
        result +=
            wrapped(fmt::format("{}{}: {}", capital(text_of(verdict)), correction, claim.sentence));
        result += wrapped(reason(claim, claims[i], needed_by(claims[i], after, counted)));
        const auto undecided = report.undecided.find(claim.name);
        if (undecided != report.undecided.end()) {
            result += wrapped(fmt::format("Undecided: {}.", undecided->second));
        }
        result += "\n";
    }
    return result + listed_designs(experiment, report);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> designs_of(
    const Experiment& experiment, const Report& report,
    const std::function<std::string(const Design&)>& text) {
    std::vector<std::pair<std::string, std::string>> designs;
    for (const Claim& claim : experiment.claims) {
        const std::string of_claim = text(design_of(claim, report));
        const auto same =
            std::ranges::find(designs, of_claim, &std::pair<std::string, std::string>::first);
        if (same == designs.end()) {
            designs.emplace_back(of_claim, claim.name);
        } else {
            same->second += ", " + claim.name;
        }
    }
    return designs;
}

std::int64_t seeds_of(const Found& found) {
    const auto& trials = found.outcomes.entries();
    return trials.empty() ? 0 : std::ssize(trials.front().seeds);
}

Table claims_table(const Experiment& experiment, const Report& report) {
    Table table{"",
                {"claim", "what decides", "rule", "measured", "95 %", "values", "verdict", "again",
                 "corrected", "values needed"},
                {}};
    const std::vector<Judged> claims = judged(experiment, report);
    const std::vector<Verdict> corrected = judge_together(claims);
    const auto counted = std::ranges::count_if(claims, &Judged::is_counted);
    for (std::size_t i = 0; i < claims.size(); ++i) {
        const Claim& claim = experiment.claims[i];
        const Interval& decided = claims[i].measured;
        table.rows.push_back(
            {claim.sentence, claim.number, text_of(claim.rule), mean_of(decided), width_of(decided),
             decided.count == 0 ? Cell("-") : Cell(decided.count),
             fmt::format("**{}**", text_of(claims[i].verdict())), again_of(claims[i]),
             text_of(corrected[i]), needed_by(claims[i], corrected[i], counted)});
    }
    return table;
}

std::string file_name(const Experiment& experiment, const Figure& figure) {
    return experiment.name + "-" + figure.name + ".svg";
}

std::vector<std::filesystem::path> write_figures(const Experiment& experiment, const Report& report,
                                                 const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    require<IoError>(!error, "{}: {}", folder.native(), error.message());
    std::vector<std::filesystem::path> paths;
    for (const Figure& figure : report.figures) {
        paths.push_back(folder / file_name(experiment, figure));
        write_file_atomically(paths.back(), figure.svg);
    }
    return paths;
}

Cell mean_of(const Interval& interval) {
    return std::isnan(interval.mean) ? Cell("-") : Cell(interval.mean, 3);
}

Cell needed_by(const Judged& claim, Verdict corrected, std::int64_t counted) {
    if (corrected != Verdict::not_shown) return "-";
    const std::int64_t needed =
        claim.undecided
            ? 0
            : values_needed(claim.rule, claim.measured,
                            0.05 / static_cast<double>(std::max<std::int64_t>(counted, 1)));
    return needed == 0 ? Cell("?") : Cell(needed);
}

Cell again_of(const Judged& claim) {
    if (!claim.is_counted()) return "-";
    const double percent = 100 * claim.again();
    return percent > 99 ? "> 99 %" : fmt::format("{:.0f} %", percent);
}

std::string width_of(const Interval& interval) {
    if (std::isnan(interval.mean)) return "not measured";
    if (interval.count == 0) return "exact";
    if (!std::isfinite(interval.half_width())) return "one seed";
    if (is_same_in_all(interval)) return fmt::format("the same in all {}", interval.count);
    return fmt::format("[{:.3g}, {:.3g}]", interval.low, interval.high);
}

std::string to_text(const Experiment& experiment, const Report& report) {
    std::string result = fmt::format("{}: {}\n\n", experiment.name, experiment.question);
    result += wrapped(experiment.theory) + "\n";
    for (const Table& table : report.tables) result += to_text(table) + "\n";
    result += claims_as_text(experiment, report);
    const std::string remark = report.remark;
    return result + (remark.empty() ? "" : "\n" + wrapped(remark));
}

std::string to_markdown(const Experiment& experiment, const Report& report,
                        const std::string& folder) {
    std::string result = fmt::format("## {}\n\n", experiment.question);
    result += fmt::format("`tapestry experiment {}`\n\n", experiment.name);
    result += wrapped(experiment.theory) + "\n";
    for (const Table& table : report.tables) result += to_markdown(table) + "\n";
    for (const Figure& figure : report.figures) {
        result +=
            fmt::format("![{}]({}/{})\n\n", figure.caption, folder, file_name(experiment, figure));
    }
    result +=
        to_markdown(claims_table(experiment, report)) + "\n" + listed_designs(experiment, report);
    for (const auto& [name, why] : report.undecided) {
        result += wrapped(fmt::format("- {} is undecided: {}.", name, why));
    }
    const std::string remark = report.remark;
    return result + (remark.empty() ? "" : "\n" + wrapped(remark));
}

ExpectedMoves expected_moves(const std::vector<Judged>& claims) {
    ExpectedMoves expected;
    for (const Judged& claim : claims) {
        const bool is_same = is_same_in_all(claim.measured);
        expected.of += claim.measured.count > 0 && !is_same ? 1 : 0;
        expected.same += is_same ? 1 : 0;
        expected.moves += 1 - claim.again();
    }
    return expected;
}

std::string to_page(const Results& results, const std::string& folder) {
    std::string page = fmt::format(
        "# Experiments\n\n"
        "Claims about attention and training, put to the test: the question, what theory "
        "says, what\n"
        "was measured, and a verdict for each claim. A claim *holds* if the whole 95 % interval of "
        "the number\n"
        "that decides it obeys its rule, *does not hold* if none of it does, and is *not shown* "
        "otherwise; the\n"
        "rules are in the code and were written before the run, [claims.md](claims.md) says where "
        "not. Some of many\n"
        "claims would hold by chance: the column *corrected* has the verdict by Holm's method, "
        "among the claims of\n"
        "an experiment and, at the end, among all; claims.md quotes that one. Values that are *the "
        "same in all*\n"
        "runs have no spread to judge by: the verdict says what these runs gave, and the "
        "correction leaves it\n"
        "out (for ten the sign test gives p = 0.002). *Again* is the chance that as many other "
        "seeds give the\n"
        "same verdict, as far as these show. Where it is *not shown*, *values\n"
        "needed* is the number of values that would show it if mean and spread stayed the same. "
        "Under each table\n"
        "is the design of its claims: what one value is, what compared models had the same of, "
        "how their\n"
        "learning rates were chosen, and what an untrained model gives. Rates are chosen by models "
        "with other\n"
        "seeds, on the held-out text that also judges unless an experiment says otherwise. x ± y "
        "is "
        "a mean over {} seeds and half\n"
        "the width of Student's 95 % interval. This page and its numbers as JSON are what this "
        "command\n"
        "writes, except for experiments with other seeds, each of which has its own command:\n\n"
        "    {}\n\n"
        "(version {}). The same seed on the same instruction set gives the same numbers; measured "
        "times differ.\n"
        "`tapestry experiment all --quick` takes a minute or two: it trains less, tunes no "
        "learning rates,\n"
        "and lists the verdicts that differ from these.\n\n",
        results.seeds, results.command, results.version);
    for (const Found& found : results.found) {
        page += to_markdown(find_experiment(found.name), found.report, folder) + "\n";
        const std::int64_t seeds = seeds_of(found);
        if (seeds == 0 || seeds == results.seeds) continue;
        page += fmt::format(
            "This experiment ran with {} seeds: `TAPESTRY_ISA={} tapestry experiment {} --seed {} "
            "--seeds {}`.\n\n",
            seeds, results.isa, found.name, results.seed, seeds);
    }
    const ExpectedMoves expected = expected_moves(judged(results.found));
    return page + "## All claims\n\n" + to_markdown(table_of_claims(results.found)) +
           fmt::format(
               "\nAs many other seeds are expected to move {:.1f} of the {} claims whose values "
               "differ between seeds\nto another verdict, each judged by itself. Nothing is "
               "expected of "
               "the {} whose values are the same,\nbecause their spread is not known.\n",
               expected.moves, expected.of, expected.same);
}

}  // namespace tapestry::experiments
