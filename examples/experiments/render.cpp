// Reports as text and as Markdown. Read render.h first.
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/experiments/render.h>

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

// Each line of `text` is a paragraph and is filled; those set in by four spaces, formulas, and
// empty ones stay as they are.
std::string wrapped(const std::string& text) {
    std::istringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line);) {
        result += line.starts_with("    ") ? line + "\n" : filled(line);
    }
    return result;
}

const char* word_of(const Verdict& verdict) { return verdict.holds ? "Holds." : "Does not hold."; }

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

std::string to_text(const Experiment& experiment, const Report& report) {
    std::string result = fmt::format("{}: {}\n\n", experiment.name, experiment.question);
    result += wrapped(experiment.theory) + "\n";
    for (const Table& table : report.tables) result += to_text(table) + "\n";
    return result + wrapped(fmt::format("{} {}", word_of(report.verdict), report.verdict.text));
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
    return result + wrapped(fmt::format("**{}** {}", word_of(report.verdict), report.verdict.text));
}

}  // namespace tapestry::experiments
