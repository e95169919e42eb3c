// tapestry gradcheck: checks the gradients of every op and module, or of a trained model on real
// text. The checks are in nn/catalog/check_gradients.h.
#include <tapestry/core/file.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/catalog/check_gradients.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/task.h>

#include <memory>
#include <utility>

namespace tapestry::cli {
namespace {

struct GradcheckSettings {
    std::string op, module, model, text, plot;
    std::string dtype = "f64";
    catalog::CheckOptions options;
    std::int64_t batch = 2;
    bool json = false;
};

// A trained model's loss, and what it needs to live.
struct LossOfModel {
    std::shared_ptr<void> model;
    TwoPrecisions loss;
};

LossOfModel model_of(const GradcheckSettings& s) {
    if (model_kind(s.model) == ModelKind::language_model) {
        catalog::ModelOnText on = catalog::model_on_text(s.model, s.text, s.batch, s.options.seed);
        return {std::move(on.model), std::move(on.loss)};
    }
    const std::shared_ptr<Task> task = task_on_examples(s.model, s.text, s.batch);
    Generator generator(s.options.seed);
    const Batch batch = task->next_batch(generator);
    return {task,
            catalog::loss_on(task->model(), [&on = *task, batch] { return on.loss(batch).mean; })};
}

catalog::CheckedGradients check(const GradcheckSettings& s) {
    if (!s.model.empty()) {
        const LossOfModel on = model_of(s);
        return catalog::check_loss(s.model, on.loss, s.options);
    }
    if (!s.module.empty()) return catalog::check_module(s.module, s.options);
    return s.op.empty() ? catalog::check_catalog(s.options) : catalog::check_op(s.op, s.options);
}

std::vector<ErrorCurve> curves(const GradcheckSettings& s) {
    const std::uint64_t seed = s.options.seed;
    if (!s.op.empty()) return catalog::curves_of_op(s.op, seed);
    if (!s.module.empty()) return catalog::curves_of_module(s.module, seed);
    const LossOfModel on = model_of(s);
    return catalog::curves_of(on.loss.value, on.loss.leaves(DType::f64), seed);
}

int run_gradcheck(GradcheckSettings& s) {
    require(s.model.empty() == s.text.empty(),
            "gradcheck: --model and --text must be given together");
    require(
        s.dtype == "f64" || s.options.order == 0,
        "gradcheck: --order needs f64; gradients of other types are compared with those in f64");
    require(s.plot.empty() || !s.op.empty() || !s.module.empty() || !s.model.empty(),
            "gradcheck: --plot needs an op, a module or a model");
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16})
        if (name_of(dtype) == s.dtype) s.options.dtype = dtype;
    // First, so a place that cannot be written does not cost the check.
    if (!s.plot.empty()) write_result(s.plot, to_svg(curves(s)));
    const catalog::CheckedGradients checked = check(s);
    if (s.json) {
        print_json(catalog::to_json(checked));
    } else {  // passing rows of one op share a line
        const bool few = checked.size() <= 4 || !s.module.empty() || !s.model.empty();
        print_text(catalog::to_text(checked, few));
    }
    if (catalog::count_of(checked, Verdict::fail) > 0) return kFailure;
    return catalog::count_of(checked, Verdict::inconclusive) > 0 ? kInconclusive : kSuccess;
}

}  // namespace

void add_gradcheck(Options& app) {
    auto s = std::make_shared<GradcheckSettings>();
    Options& o = app.subcommand(
        "gradcheck", "Check gradients numerically: all ops and modules, or a trained model");
    Option op = o.text("--op", s->op, "Only this op");
    Option module = o.text("--module", s->module, "Only this module: gpt, transformer, lstm, ...");
    const Option model = o.text("--model", s->model, "Directory written by `tapestry train`");
    o.text("--text", s->text,
           "Text to check --model on; for another model than a language model its examples");
    op.excludes(module).excludes(model);
    module.excludes(model);
    o.choice("--dtype", s->dtype, {"f64", "f32", "bf16", "f16"},
             "f64: compare with differences; others: with the same gradients in f64");
    o.count("--order", s->options.order,
            "Only first (1) or second (2) derivatives; default: both, for a model only the first",
            {1, 2})
        .without_default();
    o.number("--certainty", s->options.certainty, 0.5, 0.999999999,
             "Probability of detecting an error in parameters too large to check every entry");
    o.count("--batch", s->batch, "Text sequences, or examples, for --model").needs(model);
    o.seed(s->options.seed, "Seed for weights, directions and text sequences");
    o.text("--plot", s->plot, "Plot error against step size to this file, as SVG");
    add_json(o, s->json);
    o.footer("Exit status: 0 all right, 1 something is wrong, 3 something could not be decided.");
    o.run([s, &o] {
        require(s->dtype == "f64" || !o.given("--certainty"),
                "gradcheck: --certainty needs f64; in other types every entry is compared");
        return run_gradcheck(*s);
    });
}

}  // namespace tapestry::cli
