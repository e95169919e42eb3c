// Reports as text and as Markdown. Implements render.h.
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>

#include <cctype>
#include <cmath>
#include <sstream>

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

// "Share of right answers: 0.95 [0.93, 0.97] (10 values). Rule: above 0.9."
std::string reason(const Claim& claim, const Interval& decided) {
    const std::string seeds = decided.count > 1 ? fmt::format(" ({} values)", decided.count) : "";
    return fmt::format("{}: {} {}{}. Rule: {}.", capital(claim.number), mean_of(decided).text,
                       width_of(decided), seeds, text_of(claim.rule));
}

std::string claims_as_text(const Experiment& experiment, const Report& report) {
    const std::vector<Verdict> corrected = corrected_verdicts(experiment, report);
    std::string result;
    std::size_t next = 0;
    for (const Claim& claim : experiment.claims) {
        const Interval& decided = report.decided.at(claim.name);
        const Verdict verdict = judge(claim.rule, decided), after = corrected[next++];
        const std::string correction =
            after == verdict
                ? ""
                : fmt::format(" ({} among {} claims)", text_of(after), experiment.claims.size());
        result +=
            wrapped(fmt::format("{}{}: {}", capital(text_of(verdict)), correction, claim.sentence));
        result += wrapped(reason(claim, decided)) + "\n";
    }
    return result.empty() ? result : result.substr(0, result.size() - 1);
}

std::string claims_as_markdown(const Experiment& experiment, const Report& report) {
    Table table{
        "",
        {"claim", "what decides", "rule", "measured", "95 %", "values", "verdict", "corrected"},
        {}};
    const std::vector<Verdict> corrected = corrected_verdicts(experiment, report);
    for (const Claim& claim : experiment.claims) {
        const Interval& decided = report.decided.at(claim.name);
        table.rows.push_back({claim.sentence, claim.number, text_of(claim.rule), mean_of(decided),
                              width_of(decided),
                              decided.count == 0 ? Cell("-") : Cell(decided.count),
                              fmt::format("**{}**", text_of(judge(claim.rule, decided))),
                              text_of(corrected[table.rows.size()])});
    }
    return to_markdown(table);
}

}  // namespace

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

std::string width_of(const Interval& interval) {
    if (std::isnan(interval.mean)) return "not measured";
    if (interval.count == 0) return "exact";
    if (!std::isfinite(interval.half_width())) return "one seed";
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
    result += claims_as_markdown(experiment, report);
    const std::string remark = report.remark;
    return result + (remark.empty() ? "" : "\n" + wrapped(remark));
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
        "rules are in the code and were written before the run. Some of many claims would hold by "
        "chance: the\n"
        "column *corrected* has the verdict by Holm's method, among the claims of an experiment "
        "and, at the end,\n"
        "among all; claims.md quotes that one. x ± y is a mean over {} seeds and half the width of "
        "Student's\n"
        "95 % interval. This page and its numbers as JSON are the output of\n\n"
        "    {}\n\n"
        "(version {}). The same seed on the same instruction set gives the same numbers; measured "
        "times differ.\n\n",
        results.seeds, results.command, results.version);
    for (const Found& found : results.found) {
        page += to_markdown(find_experiment(found.name), found.report, folder) + "\n";
    }
    return page + "## All claims\n\n" + to_markdown(table_of_claims(results.found));
}

}  // namespace tapestry::experiments
