#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/linalg.h>
#include <tapestry/ops/catalog/reference/loss.h>
#include <tapestry/ops/linear_cross_entropy.h>
#include <tapestry/ops/loss.h>

namespace tapestry::catalog {
namespace {

reference::Reduction same(Reduction reduction) {
    return static_cast<reference::Reduction>(reduction);
}

// Class 1 is ignored in rows with ignore_index.
OpCase cross_entropy_row(const char* variant, const CrossEntropyOptions& options) {
    OpCase row = op_case(
        "cross_entropy", variant,
        [=](const Tensors& x) { return cross_entropy(x[0], x[1], options); },
        [=](const auto& x) {
            return reference::cross_entropy(x[0], x[1], options.ignore_index,
                                            options.label_smoothing, same(options.reduction));
        },
        {{{{6, 5}}, indices({6}, 5)},
         {{{2, 3, 65}, -5, 5}, indices({2, 3}, 65)},
         {{{7}}, indices({}, 1)},
         {{{1, 1}}, indices({1}, 1)},
         {{{2, 1100}}, indices({2}, 1100)}});
    if (options.reduction != Reduction::mean) row.samples.push_back({{{0, 3}}, indices({0}, 3)});
    if (options.reduction == Reduction::mean)
        row.no_empty = "NaN; see tests/ops/reduction_test.cpp";
    row.large = {{{700, 65}}, indices({700}, 65)};
    return row;
}

std::vector<ErrorCase> cross_entropy_errors() {
    const auto targets = [](std::int64_t second) { return tensor<std::int64_t>({0, second}); };
    return {
        {[=] {
             cross_entropy(ones({2, 3}), targets(3));
         },
         "cross_entropy: target 3 at position 1 is outside the 3 classes (0 to 2; -100 is "
         "ignored)"},
        {[=] {
             cross_entropy(ones({2, 3}), targets(-1));
         },
         "cross_entropy: target -1 at position 1"},
        {[=] {
             cross_entropy(ones({3, 3}), targets(0));
         },
         "cross_entropy: targets are [2], but logits [3, 3] need [3]"},
        {[=] {
             cross_entropy(ones({2, 3}), ones({2}));
         },
         "cross_entropy: needs i64, got f32"},
        {[=] { cross_entropy(ones({}), targets(0)); }, "cross_entropy: logits are a scalar"},
        {[=] { cross_entropy(arange(3), targets(0)); },
         "cross_entropy: needs floating-point numbers, got i64"},
        {[=] { cross_entropy(Tensor(), targets(0)); }, "cross_entropy: got an undefined tensor"},
        {[=] {
             cross_entropy(ones({2, 3}), Tensor());
         },
         "cross_entropy: got an undefined tensor"},
        {[=] {
             cross_entropy(ones({2, 3}), targets(0), {.label_smoothing = 1.5});
         },
         "cross_entropy: label_smoothing must be in [0, 1], got 1.5"}};
}

// Class 1 is ignored in rows with ignore_index.
OpCase linear_cross_entropy_row(const char* variant, const LinearCrossEntropyOptions& options) {
    OpCase row = op_case(
        "linear_cross_entropy", variant,
        [=](const Tensors& x) { return linear_cross_entropy(x[0], x[1], x[2], options); },
        [=](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            const double cap = options.softcap;
            const auto logits =
                reference::map(reference::linear<T>(x[0], x[1], nullptr), [cap](const auto& z) {
                    using std::tanh;
                    return cap > 0 ? T(cap) * tanh(z / T(cap)) : z;
                });
            return reference::cross_entropy(logits, x[2], options.ignore_index,
                                            options.label_smoothing, same(options.reduction));
        },
        {{{{6, 4}}, {{5, 4}}, indices({6}, 5)},
         {{{2, 3, 7}}, {{65, 7}}, indices({2, 3}, 65)},
         {{{3}}, {{4, 3}}, indices({}, 1)},
         {{{1, 1}}, {{1, 1}}, indices({1}, 1)},
         {{{2, 3}}, {{1100, 3}}, indices({2}, 1100)}});
    row.rounds_inside = true;  // the logits
    if (options.reduction == Reduction::sum) {
        row.samples.push_back({{{0, 3}}, {{4, 3}}, indices({0}, 4)});
    } else {
        row.no_empty = "NaN; see tests/ops/linear_cross_entropy_test.cpp";
    }
    row.large = {{{300, 20}}, {{400, 20}}, indices({300}, 400)};
    return row;
}

std::vector<ErrorCase> linear_cross_entropy_errors() {
    const auto call = [](const Shape& x, const Shape& weight, std::int64_t target,
                         const LinearCrossEntropyOptions& options = {}) {
        return [=] {
            linear_cross_entropy(ones(x), ones(weight), tensor<std::int64_t>({0, target}), options);
        };
    };
    return {
        {call({2, 3}, {4, 3}, 4),
         "linear_cross_entropy: target 4 at position 1 is outside the 4 classes (0 to 3; -100 is "
         "ignored)"},
        {call({2, 3}, {4, 5}, 0),
         "linear_cross_entropy: x [2, 3] does not end in the 5 features of the weight [4, 5]"},
        {call({2, 3}, {3}, 0),
         "linear_cross_entropy: the weight must be [classes, features], got [3]"},
        {call({3, 3}, {4, 3}, 0), "linear_cross_entropy: targets are [2], but x [3, 3] needs [3]"},
        {call({2, 3}, {4, 3}, 0, {.label_smoothing = 1.5}),
         "linear_cross_entropy: label_smoothing must be in [0, 1], got 1.5"},
        {call({2, 3}, {4, 3}, 0, {.softcap = -1}),
         "linear_cross_entropy: softcap must be finite and >= 0, got -1"},
        {call({2, 3}, {4, 3}, 0, {.reduction = Reduction::none}),
         "linear_cross_entropy: the reduction must be mean or sum; for the loss of each row use "
         "linear() and cross_entropy()"},
        {[] {
             linear_cross_entropy(ones({2, 3}), ones({4, 3}, DType::f64),
                                  tensor<std::int64_t>({0, 1}));
         },
         "linear_cross_entropy: element types differ: f32 and f64"},
        {[] {
             linear_cross_entropy(ones({2, 3}), ones({4, 3}), ones({2}));
         },
         "linear_cross_entropy: needs i64, got f32"},
        {[] {
             linear_cross_entropy(ones({2, 3}), Tensor(), tensor<std::int64_t>({0, 1}));
         },
         "linear_cross_entropy: got an undefined tensor"}};
}

std::vector<OpCase> linear_cross_entropy_rows() {
    std::vector<OpCase> rows{
        linear_cross_entropy_row("mean", {}),
        linear_cross_entropy_row("ignore, sum", {.ignore_index = 1, .reduction = Reduction::sum}),
        linear_cross_entropy_row("ignore, smoothed", {.ignore_index = 1, .label_smoothing = 0.2}),
        linear_cross_entropy_row("softcap", {.softcap = 3}),
        linear_cross_entropy_row(
            "softcap, smoothed, sum",
            {.label_smoothing = 0.1, .softcap = 5, .reduction = Reduction::sum})};
    rows.front().errors = linear_cross_entropy_errors();
    return rows;
}

// Class 1 is ignored in rows with ignore_index.
OpCase weighted_row(const char* variant, CrossEntropyOptions options) {
    OpCase row = op_case(
        "cross_entropy", variant,
        [=](const Tensors& x) {
            CrossEntropyOptions with = options;
            with.weight = x[2];
            return cross_entropy(x[0], x[1], with);
        },
        [=](const auto& x) {
            return reference::weighted_cross_entropy(x[0], x[1], x[2], options.ignore_index,
                                                     options.label_smoothing,
                                                     same(options.reduction));
        },
        {{{{6, 5}}, indices({6}, 5), {{5}, 0.5, 2}},
         {{{2, 3, 65}, -5, 5}, indices({2, 3}, 65), {{65}, 0.5, 2}},
         {{{1, 1}}, indices({1}, 1), {{1}, 0.5, 2}}});
    row.rounds_inside = true;  // the weights
    if (options.reduction == Reduction::sum) {
        row.samples.push_back({{{0, 3}}, indices({0}, 3), {{3}, 0.5, 2}});
    } else {
        row.no_empty = "NaN; see tests/ops/loss_test.cpp";
    }
    return row;
}

OpCase soft_row(const char* variant, CrossEntropyOptions options) {
    OpCase row = op_case(
        "cross_entropy", variant,
        [=](const Tensors& x) {
            CrossEntropyOptions with = options;
            with.weight = x[2];
            return cross_entropy(x[0], x[1], with);
        },
        [=](const auto& x) {
            return reference::soft_cross_entropy(x[0], x[1], x[2], options.label_smoothing,
                                                 same(options.reduction));
        },
        {{{{6, 5}}, {{6, 5}, 0, 1}, {{5}, 0.5, 2}},
         {{{2, 3, 65}, -5, 5}, {{2, 3, 65}, 0, 1}, {{65}, 0.5, 2}},
         {{{1, 1}}, {{1, 1}, 0, 1}, {{1}, 0.5, 2}}});
    row.rounds_inside = true;  // the weights and probabilities
    if (options.reduction == Reduction::sum) {
        row.samples.push_back({{{0, 3}}, {{0, 3}}, {{3}, 0.5, 2}});
    } else {
        row.no_empty = "NaN; see tests/ops/loss_test.cpp";
    }
    return row;
}

std::vector<OpCase> weighted_rows() {
    std::vector<OpCase> rows{
        weighted_row("weight", {}),
        weighted_row("weight, ignore, smoothed, sum",
                     {.ignore_index = 1, .label_smoothing = 0.2, .reduction = Reduction::sum}),
        soft_row("probabilities, weight", {}),
        soft_row("probabilities, smoothed, sum",
                 {.label_smoothing = 0.2, .reduction = Reduction::sum})};
    const Tensor targets = tensor<std::int64_t>({0, 1});
    rows[0].errors = {{[=] {
                           cross_entropy(ones({2, 3}), targets, {.weight = ones({2})});
                       },
                       "cross_entropy: the weight is [2], but 3 classes need [3]"},
                      {[=] {
                           cross_entropy(ones({2, 3}), targets, {.weight = arange(3)});
                       },
                       "cross_entropy: needs floating-point numbers, got i64"}};
    rows[2].errors = {{[] {
                           cross_entropy(ones({2, 3}), ones({2, 3}, DType::f64));
                       },
                       "cross_entropy: element types differ: f32 and f64"}};
    return rows;
}

// ---- ctc_loss -----------------------------------------------------------------------------------

OpCase ctc_row(const char* variant, const CtcOptions& options, std::vector<Sample> samples) {
    OpCase row = op_case(
        "ctc_loss", variant,
        [=](const Tensors& x) { return ctc_loss(x[0], x[1], x[2], x[3], options); },
        [=](const auto& x) {
            using T = std::decay_t<decltype(x[0][0])>;
            const std::int64_t batch = x[0].shape[0], width = x[1].shape[1];
            reference::Array<T> losses(Shape{batch});
            for (std::int64_t b = 0; b < batch; ++b) {
                const auto count = static_cast<std::int64_t>(x[3][b]);
                std::vector<std::int64_t> labels;
                for (std::int64_t i = 0; i < count; ++i) {
                    labels.push_back(static_cast<std::int64_t>(x[1][b * width + i]));
                }
                losses[b] = reference::ctc(x[0], b, static_cast<std::int64_t>(x[2][b]), labels,
                                           options.blank);
                if (options.reduction == Reduction::mean && count > 1) {
                    losses[b] = losses[b] / T(static_cast<double>(count));
                }
            }
            return reference::reduced(losses, same(options.reduction), batch);
        },
        std::move(samples));
    row.no_single = "a class and the blank are two";
    row.tolerance_f64 = 1e-11;
    return row;
}

std::vector<OpCase> ctc_rows() {
    const auto sample =
        [](std::int64_t batch) {  // at most two of three labels in four or five steps
            return Sample{{{batch, 5, 4}, -3, 0},
                          whole_numbers({batch, 2}, 0, 3),
                          whole_numbers({batch}, 4, 6),
                          whole_numbers({batch}, 0, 3)};
        };
    const CtcOptions last{.blank = 3};
    std::vector<OpCase> rows{
        ctc_row("mean", last, {sample(3)}),
        ctc_row("sum", {.blank = 3, .reduction = Reduction::sum}, {sample(4), sample(0)}),
        ctc_row("none", {.blank = 3, .reduction = Reduction::none}, {sample(2), sample(0)}),
        ctc_row("blank first", {.reduction = Reduction::sum},
                {{{{3, 4, 3}, -3, 0},
                  whole_numbers({3, 1}, 1, 3),
                  whole_numbers({3}, 2, 5),
                  whole_numbers({3}, 1, 2)},
                 {{{0, 4, 3}},
                  whole_numbers({0, 1}, 1, 3),
                  whole_numbers({0}, 2, 5),
                  whole_numbers({0}, 1, 2)}})};
    rows[0].no_empty = "NaN; see tests/ops/loss_test.cpp";
    const auto call = [](const Shape& shape, const Tensor& targets, std::int64_t steps,
                         std::int64_t labels, std::int64_t blank = 0) {
        return [=] {
            ctc_loss(zeros(shape), targets, full({1}, static_cast<double>(steps), DType::i64),
                     full({1}, static_cast<double>(labels), DType::i64), {.blank = blank});
        };
    };
    const Tensor one = tensor<std::int64_t>({{1}});
    rows[0].errors = {
        {call({4, 3}, one, 4, 1), "ctc_loss: log-probabilities must be [B, T, V], got [4, 3]"},
        {call({2, 4, 3}, one, 4, 1),
         "ctc_loss: targets are [1, 1], but log-probabilities [2, 4, 3] need [2, S]"},
        {call({1, 4, 3}, one, 5, 1), "ctc_loss: input_lengths[0] = 5 is not from 1 to 4"},
        {call({1, 4, 3}, one, 0, 1), "ctc_loss: input_lengths[0] = 0 is not from 1 to 4"},
        {call({1, 4, 3}, one, 4, 2), "ctc_loss: target_lengths[0] = 2 is not from 0 to 1"},
        {call({1, 4, 3}, one, 4, 1, 3), "ctc_loss: blank 3 is not a class from 0 to 2"},
        {call({1, 4, 3}, one, 4, 1, 1),
         "ctc_loss: targets[0, 0] = 1 is not a class from 0 to 2 other than the blank 1"},
        {call({1, 4, 3}, ones({1, 1}), 4, 1), "ctc_loss: needs i64, got f32"},
        {[=] {
             ctc_loss(zeros({1, 4, 3}, DType::i64), one, one, one);
         },
         "ctc_loss: needs floating-point numbers, got i64"},
        {[=] {
             ctc_loss(zeros({1, 4, 3}), one, one, one);
         },
         "ctc_loss: input_lengths are [1, 1], but need [1]"},
        {[=] {
             ctc_loss(zeros({1, 4, 3}), one, Tensor(), one);
         },
         "ctc_loss: got an undefined tensor"}};
    return rows;
}

// ---- nll_loss -----------------------------------------------------------------------------------

OpCase nll_row(const char* variant, const NllOptions& options) {
    OpCase row = op_case(
        "nll_loss", variant, [=](const Tensors& x) { return nll_loss(x[0], x[1], options); },
        [=](const auto& x) {
            return reference::nll(x[0], x[1], options.ignore_index, same(options.reduction));
        },
        {{{{6, 5}}, indices({6}, 5)},
         {{{2, 3, 65}, -5, 5}, indices({2, 3}, 65)},
         {{{7}}, indices({}, 1)},
         {{{1, 1}}, indices({1}, 1)}});
    if (options.reduction == Reduction::mean) {
        row.no_empty = "NaN; see tests/ops/loss_test.cpp";
    } else {
        row.samples.push_back({{{0, 3}}, indices({0}, 3)});
    }
    row.large = {{{700, 65}}, indices({700}, 65)};
    return row;
}

std::vector<OpCase> nll_rows() {
    std::vector<OpCase> rows{
        nll_row("mean", {}), nll_row("ignore, mean", {.ignore_index = 1}),
        nll_row("ignore, sum", {.ignore_index = 1, .reduction = Reduction::sum}),
        nll_row("none", {.reduction = Reduction::none})};
    const Tensor targets = tensor<std::int64_t>({0, 3});
    rows.front().errors = {
        {[=] {
             nll_loss(ones({2, 3}), targets);
         },
         "nll_loss: target 3 at position 1 is outside the 3 classes (0 to 2; -100 is ignored)"},
        {[=] {
             nll_loss(ones({3, 4}), targets);
         },
         "nll_loss: targets are [2], but log-probabilities [3, 4] need [3]"},
        {[=] {
             nll_loss(ones({2, 3}), ones({2}));
         },
         "nll_loss: needs i64, got f32"},
        {[=] { nll_loss(ones({}), targets); }, "nll_loss: log-probabilities are a scalar"},
        {[=] { nll_loss(arange(3), targets); }, "nll_loss: needs floating-point numbers, got i64"},
        {[=] { nll_loss(Tensor(), targets); }, "nll_loss: got an undefined tensor"}};
    return rows;
}

}  // namespace

std::vector<OpCase> loss_cases() {
    std::vector<OpCase> rows{
        cross_entropy_row("mean", {}),
        cross_entropy_row("sum", {.reduction = Reduction::sum}),
        cross_entropy_row("none", {.reduction = Reduction::none}),
        cross_entropy_row("ignore", {.ignore_index = 1, .reduction = Reduction::sum}),
        cross_entropy_row("ignore, mean", {.ignore_index = 1}),
        cross_entropy_row("smoothed", {.label_smoothing = 0.1}),
        cross_entropy_row(
            "smoothed, ignore, none",
            {.ignore_index = 1, .label_smoothing = 0.3, .reduction = Reduction::none})};
    rows.front().errors = cross_entropy_errors();
    for (OpCase& row : weighted_rows()) rows.push_back(std::move(row));
    for (OpCase& row : ctc_rows()) rows.push_back(std::move(row));
    for (OpCase& row : nll_rows()) rows.push_back(std::move(row));
    for (OpCase& row : linear_cross_entropy_rows()) rows.push_back(std::move(row));
    return rows;
}

}  // namespace tapestry::catalog
