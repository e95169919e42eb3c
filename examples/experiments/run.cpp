#include <tapestry/examples/experiments/run.h>

#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/experiments/registry.h>
#include <tapestry/examples/experiments/render.h>

#include <algorithm>
#include <chrono>

namespace tapestry::experiments {
namespace {

namespace fs = std::filesystem;

fs::path figures_folder(const RunOptions& options) {
    if (!options.out.empty()) return options.out;
    if (options.markdown.empty()) return "experiments";
    return fs::path(options.markdown).replace_extension();
}

// How the Markdown file calls that folder.
std::string link_to(const fs::path& folder, const fs::path& markdown) {
    const auto from = fs::absolute(markdown).parent_path();
    return fs::absolute(folder).lexically_normal().lexically_proximate(from.lexically_normal());
}

std::string head_of(const RunOptions& options) {
    return fmt::format(
        "# Experiments\n\n"
        "What is said of attention and of training, put to the test: the question, what theory "
        "says,\n"
        "what was measured, and whether it bears the theory out. This page is the output of\n\n"
        "    tapestry experiment {}{} --seed {} --markdown {}\n\n"
        "(version {}). The same seed on the same instruction set gives the same numbers; measured "
        "times\n"
        "differ.\n\n",
        options.name, options.setting.quick ? " --quick" : "", options.setting.seed,
        options.markdown.native(), version());
}

// Asked before the work begins, which may take minutes.
void check_place(const fs::path& markdown) {
    if (markdown.empty()) return;
    const auto folder = fs::absolute(markdown).parent_path();
    require<IoError>(fs::is_directory(folder), "{}: there is no directory {}", markdown.native(),
                     folder.native());
}

}  // namespace

void run_experiments(const RunOptions& options,
                     const std::function<void(const std::string&)>& told) {
    std::vector<Experiment> chosen = all_experiments();
    if (options.name != "all") chosen = {find_experiment(options.name)};
    check_place(options.markdown);
    const fs::path folder = figures_folder(options);
    std::string page = head_of(options);
    for (const Experiment& experiment : chosen) {
        const auto start = std::chrono::steady_clock::now();
        const Report report = experiment.run(options.setting);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        std::string text = to_text(experiment, report) + "\n";
        for (const fs::path& path : write_figures(experiment, report, folder)) {
            text += fmt::format("picture: {}\n", path.native());
        }
        told(text + fmt::format("{:.1f} s\n\n", seconds.count()));
        if (!options.markdown.empty()) {
            page += to_markdown(experiment, report, link_to(folder, options.markdown)) + "\n";
        }
    }
    if (!options.markdown.empty()) write_file_atomically(options.markdown, page);
}

std::string list_of_experiments() {
    std::size_t widest = 0;
    for (const Experiment& e : all_experiments()) widest = std::max(widest, e.name.size());
    std::string list;
    for (const Experiment& e : all_experiments()) {
        list += fmt::format("{:{}}  {}\n", e.name, widest, e.question);
    }
    return list;
}

}  // namespace tapestry::experiments
