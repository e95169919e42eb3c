#include <tapestry/nn/catalog/check_gradients.h>

#include <tapestry/core/parallel.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/catalog/checked_modules.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/ops/catalog/bound_case.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tapestry::catalog {
namespace {

constexpr std::size_t kMostCurves = 5;

// The command that checks the same.
std::string command(const char* option, const std::string& name, const CheckOptions& o, int order) {
    const CheckOptions usual;
    std::string text = fmt::format("tapestry gradcheck {} {} --order {}", option, name, order);
    if (o.certainty != usual.certainty) text += fmt::format(" --certainty {}", o.certainty);
    if (o.seed != usual.seed) text += fmt::format(" --seed {}", o.seed);
    return text;
}

CheckedGradient checked(std::string what, GradcheckReport report,
                        const std::string& reproduce = {}) {
    if (!reproduce.empty()) report.reproduce = reproduce;
    return {std::move(what), report.subject, report.verdict, to_string(report),
            tapestry::to_json(report)};
}

CheckedGradient checked(std::string what, const PrecisionReport& report) {
    return {std::move(what), std::string(name_of(report.dtype)), report.verdict, to_string(report),
            tapestry::to_json(report)};
}

GradcheckOptions options_of(const CheckOptions& o) {
    GradcheckOptions options;
    options.certainty = o.certainty;
    options.seed = o.seed;
    return options;
}

BoundCase bound_sample(const OpCase& row, std::size_t i) {
    return bind_case(row, make_inputs(row.samples[i], DType::f64, 17 + i));
}

void check_row(const OpCase& row, const CheckOptions& o, CheckedGradients& to) {
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
        const BoundCase bound = bound_sample(row, i);
        const std::string what = fmt::format("{}, sample {}", row.title(), i);
        if (o.dtype != DType::f64) {
            if (is_narrow(o.dtype) && !row.no_half_gradient.empty()) continue;
            to.push_back(checked(what, compare_precisions(bound.f, bound.inputs, o.seed, o.dtype)));
            continue;
        }
        GradcheckOptions options = options_of(o);
        options.dual = bound.dual;
        options.transpose = true;
        if (o.order != 2) {
            to.push_back(checked(what, gradcheck(bound.f, bound.inputs, options),
                                 command("--op", row.name, o, 1)));
        }
        if (o.order != 1) {
            to.push_back(checked(what, gradgradcheck(bound.f, bound.inputs, options),
                                 command("--op", row.name, o, 2)));
        }
    }
}

// Second derivatives along random directions: what they are made of is checked entry by entry,
// row by row.
CheckedGradients check_leaves(const std::string& what, const TwoPrecisions& both,
                              const CheckOptions& o, GradcheckOptions options,
                              const char* option = nullptr) {
    if (o.dtype != DType::f64) return {checked(what, compare_precisions(both, o.seed, o.dtype))};
    const NamedTensors leaves = both.leaves(DType::f64);
    const auto again = [&](int order) {
        return option == nullptr ? std::string{} : command(option, what, o, order);
    };
    CheckedGradients all;
    if (o.order != 2) {
        all.push_back(checked(what, gradcheck(both.value, leaves, options), again(1)));
    }
    options.method = GradcheckMethod::directions;
    if (o.order != 1) {
        all.push_back(checked(what, gradgradcheck(both.value, leaves, options), again(2)));
    }
    return all;
}

std::vector<const OpCase*> rows_of(const std::string& op) {
    std::vector<const OpCase*> rows;
    for (const OpCase& row : all_cases()) {
        if (row.name == op) rows.push_back(&row);
    }
    require(!rows.empty(), "gradcheck: unknown op \"{}\"; without --op all are checked", op);
    return rows;
}

}  // namespace

CheckedGradients check_op(const std::string& name, const CheckOptions& options) {
    CheckedGradients all;
    for (const OpCase* row : rows_of(name)) {
        if (row->differentiable) check_row(*row, options, all);
    }
    return all;
}

CheckedGradients check_module(const std::string& name, const CheckOptions& options) {
    const CheckedModule module = checked_module(name);
    return check_leaves(name, {module.leaves, module.value}, options, options_of(options),
                        "--module");
}

// Each row and module by one thread, the gradients in their order.
CheckedGradients check_catalog(const CheckOptions& options) {
    std::vector<std::function<void(CheckedGradients&)>> checks;
    for (const OpCase& row : all_cases()) {
        if (!row.differentiable) continue;
        checks.push_back([&](CheckedGradients& to) { check_row(row, options, to); });
    }
    for (const std::string& name : checked_module_names()) {
        checks.push_back(
            [&options, name](CheckedGradients& to) { to = check_module(name, options); });
    }
    std::vector<CheckedGradients> parts(checks.size());
    parallel_for_chunks(static_cast<std::int64_t>(checks.size()), [&](std::int64_t chunk) {
        const auto i = static_cast<std::size_t>(chunk);
        checks[i](parts[i]);
    });
    CheckedGradients all;
    for (CheckedGradients& part : parts) {
        std::move(part.begin(), part.end(), std::back_inserter(all));
    }
    return all;
}

CheckedGradients check_loss(const std::string& what, const TwoPrecisions& both,
                            const CheckOptions& o) {
    GradcheckOptions options = options_of(o);
    options.method = GradcheckMethod::directions;
    CheckOptions one = o;
    one.order = o.order == 0 ? 1 : o.order;
    return check_leaves(what, both, one, options);
}

// ---- curves -------------------------------------------------------------------------------------

std::vector<ErrorCurve> curves_of(const std::function<Tensor()>& f, const NamedTensors& leaves,
                                  std::uint64_t seed) {
    std::vector<ErrorCurve> curves;
    for (std::size_t i = 0; i < std::min(kMostCurves, leaves.size()); ++i) {
        curves.push_back(error_curve(f, leaves, i, seed));
    }
    return curves;
}

std::vector<ErrorCurve> curves_of_module(const std::string& name, std::uint64_t seed) {
    const CheckedModule module = checked_module(name);
    return curves_of(module.value, module.leaves(DType::f64), seed);
}

std::vector<ErrorCurve> curves_of_op(const std::string& name, std::uint64_t seed) {
    std::vector<ErrorCurve> curves;
    for (const OpCase* row : rows_of(name)) {
        if (!row->differentiable || curves.size() >= kMostCurves) continue;
        const BoundCase bound = bound_sample(*row, 0);
        NamedTensors leaves;
        Tensors x;
        for (const Tensor& input : bound.inputs) {
            x.push_back(input.clone().set_requires_grad());
            leaves.emplace_back(fmt::format("{}, input {}", row->title(), x.size() - 1), x.back());
        }
        for (ErrorCurve& curve : curves_of([&] { return bound.f(x); }, leaves, seed)) {
            curves.push_back(std::move(curve));
        }
    }
    curves.resize(std::min(kMostCurves, curves.size()));
    return curves;
}

// ---- what was found -----------------------------------------------------------------------------

std::int64_t count_of(const CheckedGradients& checked, Verdict verdict) {
    return std::count_if(checked.begin(), checked.end(),
                         [verdict](const CheckedGradient& c) { return c.verdict == verdict; });
}

std::string to_text(const CheckedGradients& checked, bool in_full) {
    std::string text;
    for (const CheckedGradient& c : checked) {
        if (in_full) {
            text += fmt::format("{}\n{}\n", c.what, c.text);
        } else if (c.verdict != Verdict::pass) {
            text +=
                fmt::format("{:<13} {} {}\n{}\n", to_string(c.verdict), c.what, c.check, c.text);
        }
    }
    return text + fmt::format("{} checked: {} PASS, {} FAIL, {} INCONCLUSIVE\n",
                              pluralize(std::ssize(checked), "gradient"),
                              count_of(checked, Verdict::pass), count_of(checked, Verdict::fail),
                              count_of(checked, Verdict::inconclusive));
}

std::string to_json(const CheckedGradients& checked) {
    JsonWriter json(2);
    json.object([&] {
        json.member("checked", checked.size());
        json.member("failed", count_of(checked, Verdict::fail));
        json.member("inconclusive", count_of(checked, Verdict::inconclusive));
        json.list("results", checked, [&](const CheckedGradient& c) {
            json.object([&] {
                json.member("what", c.what);
                json.member("check", c.check);
                json.members_of(c.json);
            });
        });
    });
    return json.text();
}

TwoPrecisions loss_on(Module& model, std::function<Tensor()> loss) {
    model.to(DType::f64);
    return {.leaves =
                [&model](DType dtype) {
                    model.to(dtype);
                    return model.named_parameters();
                },
            .value = std::move(loss)};
}

TwoPrecisions loss_on(LanguageModel& model, const Batch& batch) {
    return loss_on(model, [&model, batch] { return model.loss(batch.inputs, batch.targets); });
}

ModelOnText model_on_text(const std::string& model, const std::string& text, std::int64_t batch,
                          std::uint64_t seed) {
    ModelWithText loaded = load_model_with_text(model, text);
    Generator generator(seed);
    const std::int64_t length =
        std::min<std::int64_t>(common_settings(loaded.model->model_config()).context, 16);
    const Batch pieces = loaded.data.random_batch(Split::all, batch, length, generator);
    TwoPrecisions loss = loss_on(*loaded.model, pieces);
    return {std::move(loaded.model), std::move(loss)};
}

}  // namespace tapestry::catalog
