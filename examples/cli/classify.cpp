// tapestry classify: labels texts, a line each, with a classifier that `tapestry train --task
// classify` has trained.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/train/classify/classify_task.h>

#include <fmt/core.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <string>

namespace tapestry::cli {
namespace {

struct ClassifySettings {
    std::string model, text = "-";
    std::int64_t top_k = 1;
    int threads = num_threads();
};

// "spam\t0.98\tham\t0.02"
std::string line_of(const std::vector<LabelProbability>& labels) {
    std::string line;
    for (const LabelProbability& one : labels) {
        line += fmt::format("{}{}\t{:.4f}", line.empty() ? "" : "\t", one.label, one.probability);
    }
    return line;
}

int run_classify(const ClassifySettings& s) {
    set_num_threads(s.threads);
    const std::unique_ptr<ClassifyTask> task = load_classify_task(s.model);
    const std::string name = s.text == "-" ? "stdin" : s.text;
    std::ifstream file;
    if (s.text != "-") {
        file.open(s.text, std::ios::binary);
        require<IoError>(file.is_open(), "{}: cannot be opened", s.text);
    }
    std::istream& from = s.text == "-" ? std::cin : file;
    catch_interrupts();
    std::int64_t number = 0;
    for (std::string text; !interrupted() && std::getline(from, text);) {
        if (++number == 1 && text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // its mark
        try {
            print("{}\n", line_of(task->classify({text}, s.top_k)[0]));
        } catch (const ValueError& error) {
            fail<IoError>("{}:{}: {}", name, number, error.what());
        }
    }
    require<IoError>(!from.bad(), "{}: cannot be read", name);
    return interrupted() ? kInterrupted : kSuccess;
}

}  // namespace

void add_classify(Options& app) {
    auto s = std::make_shared<ClassifySettings>();
    Options& o = app.subcommand("classify", "Label texts, a line each, with a trained classifier");
    o.example("--model runs/mail --text new.txt --top-k 2");
    o.text("--model", s->model, "Directory written by `tapestry train --task classify`").required();
    o.text("--text", s->text, "UTF-8 file with a text per line; -: standard input");
    o.count("--top-k", s->top_k, "Labels to print for each text, with their probabilities");
    o.threads(s->threads);
    o.run([s] { return run_classify(*s); });
}

}  // namespace tapestry::cli
