// tapestry gradcheck: are the gradients right? Of every op and module, or of a trained model on
// real text.
#include <tapestry/autograd/check/curve.h>
#include <tapestry/autograd/check/precision.h>
#include <tapestry/core/file.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/catalog/checked_modules.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/ops/catalog/bound_case.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace tapestry::cli {
namespace {

using Json = nlohmann::ordered_json;

struct GradcheckSettings {
    std::string op, module, model, text, plot;
    std::string dtype = "f64";
    int order = 0;  // both
    double certainty = 0.999;
    std::int64_t batch = 2;
    std::uint64_t seed = 1;
    bool json = false;
};

// One line of the result; the report of what did not pass.
struct Row {
    std::string what;  ///< "softmax (last axis), sample 2"
    std::string order;
    Verdict verdict;
    std::string text;
    Json json;
};

Row row_of(std::string what, const GradcheckReport& report) {
    return {std::move(what), report.subject, report.verdict, to_string(report),
            Json::parse(to_json(report))};
}

Row row_of(std::string what, const PrecisionReport& report) {
    return {std::move(what), "f32", report.verdict, to_string(report),
            Json::parse(to_json(report))};
}

GradcheckOptions options_of(const GradcheckSettings& s) {
    GradcheckOptions options;
    options.certainty = s.certainty;
    options.seed = s.seed;
    return options;
}

bool wants(const GradcheckSettings& s, int order) { return s.order == 0 || s.order == order; }

void check_op(const GradcheckSettings& s, const catalog::OpCase& row, std::vector<Row>& rows) {
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
        const Tensors inputs = catalog::make_inputs(row.samples[i], DType::f64, 17 + i);
        const catalog::BoundCase bound = catalog::bind_case(row, inputs);
        const std::string what = fmt::format("{}, sample {}", row.title(), i);
        if (s.dtype == "f32") {
            rows.push_back(row_of(what, compare_precisions(bound.f, bound.inputs, s.seed)));
            continue;
        }
        GradcheckOptions options = options_of(s);
        options.dual = bound.dual;
        options.transpose = true;
        if (wants(s, 1)) rows.push_back(row_of(what, gradcheck(bound.f, bound.inputs, options)));
        if (wants(s, 2)) {
            rows.push_back(row_of(what, gradgradcheck(bound.f, bound.inputs, options)));
        }
    }
}

void check_ops(const GradcheckSettings& s, std::vector<Row>& rows) {
    bool known = false;
    for (const catalog::OpCase& row : catalog::all_cases()) {
        if (!s.op.empty() && row.name != s.op) continue;
        known = true;
        if (row.differentiable) check_op(s, row, rows);
    }
    require(known, "gradcheck: no op is called \"{}\"; without --op all are checked", s.op);
}

void check_module(const GradcheckSettings& s, const std::string& name, std::vector<Row>& rows) {
    const catalog::CheckedModule checked = catalog::checked_module(name);
    if (s.dtype == "f32") {
        const TwoPrecisions both{checked.leaves, checked.value};
        rows.push_back(row_of(name, compare_precisions(both, s.seed)));
        return;
    }
    const NamedTensors leaves = checked.leaves(DType::f64);
    if (wants(s, 1)) {
        rows.push_back(row_of(name, gradcheck(checked.value, leaves, options_of(s))));
    }
    // Second derivatives of a whole module take a while: only for those who ask.
    if (s.order == 2) {
        rows.push_back(row_of(name, gradgradcheck(checked.value, leaves, options_of(s))));
    }
}

// A trained model and a batch of text.
struct ModelOnText {
    LoadedModel loaded;
    Batch batch;
    std::function<Tensor()> loss;
};

ModelOnText model_on_text(const GradcheckSettings& s) {
    ModelOnText result{load_model(s.model), {}, {}};
    const Tokenizer& tokenizer = require_tokenizer(result.loaded, s.model);
    const TextData data(tokenizer.encode(read_text(s.text), s.text), {.name = s.text});
    GPT& model = *result.loaded.model;
    model.to(DType::f64);
    model.train();  // dropout included: the checker draws the same numbers at every run
    Generator generator(s.seed);
    const std::int64_t length = std::min<std::int64_t>(model.config().context, 16);
    result.batch = data.random_batch(Split::all, s.batch, length, generator);
    result.loss = [&model, batch = result.batch] {
        return model.loss(batch.inputs, batch.targets);
    };
    return result;
}

void check_model(const GradcheckSettings& s, std::vector<Row>& rows) {
    const ModelOnText on = model_on_text(s);
    GPT& model = *on.loaded.model;
    if (s.dtype == "f32") {
        const auto leaves = [&model](DType dtype) {
            model.to(dtype);
            return model.named_parameters();
        };
        rows.push_back(row_of(s.model, compare_precisions({leaves, on.loss}, s.seed)));
        return;
    }
    GradcheckOptions options = options_of(s);
    options.method = GradcheckMethod::directions;
    const NamedTensors leaves = model.named_parameters();
    if (s.order != 2) rows.push_back(row_of(s.model, gradcheck(on.loss, leaves, options)));
    if (s.order == 2) rows.push_back(row_of(s.model, gradgradcheck(on.loss, leaves, options)));
}

// The curves of what was checked, of the first inputs or parameters.
std::vector<ErrorCurve> curves(const GradcheckSettings& s) {
    constexpr std::size_t kMost = 5;
    std::vector<ErrorCurve> all;
    const auto add = [&](const std::function<Tensor()>& f, const NamedTensors& leaves) {
        for (std::size_t i = 0; i < std::min(kMost, leaves.size()); ++i) {
            all.push_back(error_curve(f, leaves, i, s.seed));
        }
    };
    if (!s.model.empty()) {
        const ModelOnText on = model_on_text(s);
        add(on.loss, on.loaded.model->named_parameters());
    } else if (!s.module.empty()) {
        const catalog::CheckedModule checked = catalog::checked_module(s.module);
        add(checked.value, checked.leaves(DType::f64));
    } else {
        for (const catalog::OpCase& row : catalog::all_cases()) {
            if (row.name != s.op || !row.differentiable) continue;
            const auto bound =
                catalog::bind_case(row, catalog::make_inputs(row.samples[0], DType::f64, 17));
            NamedTensors leaves;
            Tensors x;
            for (const Tensor& input : bound.inputs) {
                x.push_back(input.clone().set_requires_grad());
                leaves.emplace_back(fmt::format("{}, input {}", row.title(), x.size() - 1),
                                    x.back());
            }
            add([&] { return bound.f(x); }, leaves);
        }
        all.resize(std::min(kMost, all.size()));
    }
    return all;
}

void print_json(const std::vector<Row>& rows, std::int64_t failed, std::int64_t inconclusive) {
    Json json{{"checked", rows.size()},
              {"failed", failed},
              {"inconclusive", inconclusive},
              {"results", Json::array()}};
    for (const Row& row : rows) {
        Json one{{"what", row.what}, {"check", row.order}};
        one.update(row.json);
        json["results"].push_back(std::move(one));
    }
    fmt::print("{}\n", json.dump(2));
}

// Rows of the same op are one line as long as they pass.
void print_text(const GradcheckSettings& s, const std::vector<Row>& rows, std::int64_t failed,
                std::int64_t inconclusive) {
    const bool few = rows.size() <= 4 || !s.module.empty() || !s.model.empty();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Row& row = rows[i];
        if (few) {
            fmt::print("{}\n{}\n", row.what, row.text);
        } else if (row.verdict != Verdict::pass) {
            fmt::print("{:<13} {} {}\n{}\n", to_string(row.verdict), row.what, row.order, row.text);
        }
    }
    fmt::print("{} gradients checked: {} PASS, {} FAIL, {} INCONCLUSIVE\n", rows.size(),
               static_cast<std::int64_t>(rows.size()) - failed - inconclusive, failed,
               inconclusive);
}

int run_gradcheck(const GradcheckSettings& s) {
    require(s.model.empty() == s.text.empty(), "gradcheck: --model needs --text, and the reverse");
    require(s.dtype == "f64" || s.order == 0,
            "gradcheck: --order is for f64; f32 gradients are compared with them");
    require(s.plot.empty() || !s.op.empty() || !s.module.empty() || !s.model.empty(),
            "gradcheck: --plot needs an op, a module or a model");
    std::vector<Row> rows;
    if (!s.model.empty()) {
        check_model(s, rows);
    } else if (!s.module.empty()) {
        check_module(s, s.module, rows);
    } else {
        check_ops(s, rows);
        if (s.op.empty()) {
            for (const std::string& name : catalog::checked_module_names()) {
                check_module(s, name, rows);
            }
        }
    }
    const auto of = [&rows](Verdict verdict) {
        return std::count_if(rows.begin(), rows.end(),
                             [verdict](const Row& row) { return row.verdict == verdict; });
    };
    const auto failed = of(Verdict::fail), inconclusive = of(Verdict::inconclusive);
    if (s.json) {
        print_json(rows, failed, inconclusive);
    } else {
        print_text(s, rows, failed, inconclusive);
    }
    if (!s.plot.empty()) write_file_atomically(s.plot, to_svg(curves(s)));
    if (failed > 0) return kFailure;
    return inconclusive > 0 ? kInconclusive : kSuccess;
}

}  // namespace

void add_gradcheck(Options& app) {
    auto s = std::make_shared<GradcheckSettings>();
    Options& o = app.subcommand(
        "gradcheck", "Check gradients numerically: of all ops and modules, or of a trained model");
    Option op = o.text("--op", s->op, "Only this op");
    Option module = o.text("--module", s->module, "Only this module: gpt, transformer, lstm, ...");
    const Option model = o.text("--model", s->model, "A directory that `tapestry train` wrote");
    o.text("--text", s->text, "The text that --model is checked on");
    op.excludes(module).excludes(model);
    module.excludes(model);
    o.choice("--dtype", s->dtype, {"f64", "f32"},
             "f64: against differences; f32: against the same gradients in f64");
    o.count("--order", s->order,
            "Only first (1) or second (2) derivatives; by default both of ops, first of modules",
            {1, 2})
        .without_default();
    o.number("--certainty", s->certainty, 0.5, 0.999999999,
             "Of seeing an error in parameters too large for checking every entry");
    o.count("--batch", s->batch, "Sequences of text for --model");
    o.seed(s->seed, "Of weights, directions and pieces of text");
    o.text("--plot", s->plot, "Write error against step, as SVG, to this file");
    add_json(o, s->json);
    o.footer(
        "Exit status: 0 all right, 1 something is wrong, 3 nothing is, but something\n"
        "could not be decided.");
    o.run([s] { return run_gradcheck(*s); });
}

}  // namespace tapestry::cli
