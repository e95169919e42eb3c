// tapestry experiment: what is said of attention and of training, put to the test.
#include <tapestry/core/file.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/version.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/experiments/registry.h>
#include <tapestry/examples/experiments/render.h>

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <memory>

namespace tapestry::cli {
namespace {

using namespace experiments;

struct ExperimentSettings {
    std::string name, out, markdown;
    Setting setting;
    int threads = num_threads();
};

int list_experiments() {
    std::size_t widest = 0;
    for (const Experiment& e : all_experiments()) widest = std::max(widest, e.name.size());
    for (const Experiment& e : all_experiments()) {
        fmt::print("{:{}}  {}\n", e.name, widest, e.question);
    }
    fmt::print("\ntapestry experiment NAME runs one of them, tapestry experiment all every one\n");
    return kSuccess;
}

// The pictures of DIR/NAME.md lie in DIR/NAME unless --out says otherwise.
std::filesystem::path figures_folder(const ExperimentSettings& s) {
    if (!s.out.empty()) return s.out;
    if (s.markdown.empty()) return "experiments";
    return std::filesystem::path(s.markdown).replace_extension();
}

// How the Markdown file calls that folder.
std::string link_to(const std::filesystem::path& folder, const std::filesystem::path& markdown) {
    const auto from = std::filesystem::absolute(markdown).parent_path();
    return std::filesystem::absolute(folder).lexically_normal().lexically_proximate(
        from.lexically_normal());
}

std::string head_of(const ExperimentSettings& s) {
    return fmt::format(
        "# Experiments\n\n"
        "What is said of attention and of training, put to the test: the question, what theory "
        "says,\n"
        "what was measured, and whether it bears the theory out. This page is the output of\n\n"
        "    tapestry experiment {}{} --seed {} --markdown {}\n\n"
        "(version {}). The same seed on the same instruction set gives the same numbers; measured "
        "times\n"
        "differ.\n\n",
        s.name, s.setting.quick ? " --quick" : "", s.setting.seed, s.markdown, version());
}

// Asked before the work begins, which may take minutes.
void check_markdown(const std::string& path) {
    if (path.empty()) return;
    const auto folder = std::filesystem::absolute(path).parent_path();
    require<IoError>(std::filesystem::is_directory(folder), "{}: there is no directory {}", path,
                     folder.native());
}

int run_experiments(const ExperimentSettings& s) {
    if (s.name.empty()) return list_experiments();
    std::vector<Experiment> chosen = all_experiments();
    if (s.name != "all") chosen = {find_experiment(s.name)};
    check_markdown(s.markdown);
    set_num_threads(s.threads);
    const std::filesystem::path folder = figures_folder(s);
    std::string markdown = head_of(s);
    for (const Experiment& experiment : chosen) {
        const auto start = std::chrono::steady_clock::now();
        const Report report = experiment.run(s.setting);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        fmt::print("{}\n", to_text(experiment, report));
        for (const auto& path : write_figures(experiment, report, folder)) {
            fmt::print("picture: {}\n", path.native());
        }
        fmt::print("{:.1f} s\n\n", seconds.count());
        std::fflush(stdout);
        if (!s.markdown.empty()) {
            markdown += to_markdown(experiment, report, link_to(folder, s.markdown)) + "\n";
        }
    }
    if (!s.markdown.empty()) write_file_atomically(s.markdown, markdown);
    return kSuccess;
}

}  // namespace

void add_experiment(Options& app) {
    auto s = std::make_shared<ExperimentSettings>();
    Options& o =
        app.subcommand("experiment", "Claims about attention and training, put to the test");
    o.text("name", s->name, "Which one, or all; without it they are listed");
    o.text("--out", s->out,
           "Directory for the pictures; default: experiments, or beside --markdown");
    o.text("--markdown", s->markdown, "Write what was found to this file as well");
    o.flag("--quick", s->setting.quick, "A shorter, rougher form of each");
    o.seed(s->setting.seed, "Of everything random");
    o.threads(s->threads);
    o.run([s] { return run_experiments(*s); });
}

}  // namespace tapestry::cli
