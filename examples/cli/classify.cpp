// tapestry classify: labels texts, a line each, or images, with a classifier that `tapestry train
// --task classify` or `--task image` has trained.
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/classify/classify_task.h>
#include <tapestry/nn/train/image/image_task.h>

#include <fmt/core.h>

#include <memory>
#include <string>

namespace tapestry::cli {
namespace {

struct ClassifySettings {
    std::string model, text = "-", images;
    std::int64_t top_k = 1;
    double threshold = 0.5;
    bool has_top_k = false, has_threshold = false;  // given
    int threads = num_threads();
};

// "spam\t0.98\tham\t0.02"
std::string line_of(const std::vector<LabelProbability>& labels) {
    std::string line;
    for (const LabelProbability& one : labels) {
        line += fmt::format("{}{}\t{:.4f}", line.empty() ? "" : "\t", utf8::printable(one.label),
                            one.probability);
    }
    return line;
}

int classify_images(const ClassifySettings& s) {
    require(!s.images.empty(), "classify: {} is an image classifier; it needs --images", s.model);
    require(!s.has_threshold, "classify: --threshold is for a text classifier; {} sees images",
            s.model);
    const std::unique_ptr<ImageTask> task = load_image_task(s.model);
    const ImageSet images = task->read(s.images);
    const auto found = task->classify(images, s.top_k);
    for (std::size_t i = 0; i < found.size(); ++i) {
        print("{}\t{}\n", images.names[i], line_of(found[i]));
    }
    return kSuccess;
}

int run_classify(ClassifySettings s) {
    set_num_threads(s.threads);
    if (model_kind(s.model) == ModelKind::image_classifier) return classify_images(s);
    require(s.images.empty(), "classify: --images is for an image classifier; {} is another model",
            s.model);
    const std::unique_ptr<ClassifyTask> task = load_classify_task(s.model);
    // Of several labels all that are likely enough, unless their number is given.
    const bool all = task->has_several_labels() && !s.has_top_k;
    if (all) s.top_k = std::ssize(task->labels());
    const double threshold = s.has_threshold ? s.threshold : all ? task->threshold() : 0;
    catch_interrupts();
    return for_each_line(s.text, [&](const std::string& text) {
        print("{}\n", line_of(task->classify({text}, s.top_k, threshold)[0]));
    });
}

}  // namespace

void add_classify(Options& app) {
    auto s = std::make_shared<ClassifySettings>();
    Options& o = app.subcommand("classify",
                                "Label texts, a line each, or images, with a trained classifier");
    o.example("--model runs/mail --text new.txt --top-k 2");
    o.text("--model", s->model, "Directory written by `tapestry train --task classify` or `image`")
        .required();
    Option text = o.text("--text", s->text, "UTF-8 file with a text per line; -: standard input");
    o.text("--images", s->images,
           "For an image classifier: a PNG, JPEG, PGM or PPM file, a directory of them, a .csv or "
           ".tsv of pixels, or an IDX file")
        .excludes(text);
    o.count("--top-k", s->top_k,
            "Labels to print for each, with their probabilities; for a model of several labels, "
            "default: those above --threshold");
    o.number("--threshold", s->threshold, 0, 1,
             "For texts: least probability of a label that is printed; default: for a model of "
             "several labels without --top-k the one fitted on held-out texts")
        .without_default();
    o.threads(s->threads);
    o.run([s, &o] {
        s->has_top_k = o.given("--top-k");
        s->has_threshold = o.given("--threshold");
        return run_classify(*s);
    });
}

}  // namespace tapestry::cli
