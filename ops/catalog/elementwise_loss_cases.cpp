// Rows of the op table: losses of pairs of numbers.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/elementwise.h>
#include <tapestry/ops/catalog/reference/loss.h>
#include <tapestry/ops/loss.h>

namespace tapestry::catalog {
namespace {

// Range of an input's elements.
struct Range {
    double low, high;
};
constexpr Range kAny{-2, 2};
constexpr Range kInside{0.05, 0.95};

// Compares op(x, y, reduction) with f(x, y) of every pair, reduced.
template <class Op, class F>
OpCase pair_row(const char* name, const char* variant, Op op, F f, Reduction reduction,
                const Range& x, const Range& y) {
    OpCase row = op_case(
        name, variant, [=](const Tensors& in) { return op(in[0], in[1], reduction); },
        [=](const auto& in) {
            const auto losses = reference::map(in[0], in[1], f);
            return reference::reduced(losses, static_cast<reference::Reduction>(reduction),
                                      losses.size());
        },
        {});
    const auto sample = [&](const Shape& shape) {
        return Sample{{shape, x.low, x.high}, {shape, y.low, y.high}};
    };
    row.samples = {sample({3, 5}), sample({2, 3, 19}), sample({1}), sample({})};
    if (reduction == Reduction::mean) {
        row.no_empty = "NaN; see tests/ops/loss_test.cpp";
    } else {
        row.samples.push_back(sample({0, 3}));
    }
    row.large = sample({70, 1000});
    return row;
}

// Rows for the three reductions. The first has the errors that all losses of pairs share.
template <class Op, class F>
std::vector<OpCase> pair_rows(const std::string& name, Op op, F f, const Range& x = kAny,
                              const Range& y = kAny) {
    const char* of = name.c_str();
    std::vector<OpCase> rows{pair_row(of, "mean", op, f, Reduction::mean, x, y),
                             pair_row(of, "sum", op, f, Reduction::sum, x, y),
                             pair_row(of, "none", op, f, Reduction::none, x, y)};
    const auto call = [op](const Tensor& a, const Tensor& b) { op(a, b, Reduction::mean); };
    rows.front().errors = {
        {[=] { call(ones({2}), ones({3})); },
         name + ": shapes differ: [2] and [3]; expand() first"},
        {[=] { call(ones({2}), ones({2}, DType::f64)); },
         name + ": element types differ: f32 and f64"},
        {[=] { call(arange(2), arange(2)); }, name + ": needs floating-point numbers, got i64"},
        {[=] { call(Tensor(), ones({2})); }, name + ": got an undefined tensor"},
        {[=] { call(ones({2}), Tensor()); }, name + ": got an undefined tensor"}};
    return rows;
}

// ---- regression ---------------------------------------------------------------------------------

std::vector<OpCase> mse_rows() {
    return pair_rows("mse_loss", mse_loss, [](auto x, auto y) { return (x - y) * (x - y); });
}

std::vector<OpCase> l1_rows() {
    return pair_rows("l1_loss", l1_loss, [](auto x, auto y) {
        using std::abs;
        return abs(x - y);
    });
}

std::vector<OpCase> quantile_rows() {
    std::vector<OpCase> rows = pair_rows(
        "quantile_loss",
        [](const Tensor& x, const Tensor& y, Reduction r) { return quantile_loss(x, y, 0.8, r); },
        [](auto x, auto y) {
            using T = decltype(x);
            return x < y ? T(0.8) * (y - x) : T(-0.2) * (y - x);
        });
    for (const double q : {0.0, 1.0}) {
        rows.front().errors.push_back({[q] { quantile_loss(ones({2}), ones({2}), q); },
                                       "quantile_loss: q must be between 0 and 1, got"});
    }
    return rows;
}

std::vector<OpCase> huber_rows() {
    std::vector<OpCase> rows = pair_rows(
        "huber_loss",
        [](const Tensor& x, const Tensor& y, Reduction r) { return huber_loss(x, y, r, 0.7); },
        [](auto x, auto y) { return reference::huber(x, y, 0.7); });
    rows.front().errors.push_back({[] { huber_loss(ones({2}), ones({2}), Reduction::sum, 0); },
                                   "huber_loss: delta must be > 0, got 0"});
    return rows;
}

std::vector<OpCase> smooth_l1_rows() {
    std::vector<OpCase> rows = pair_rows(
        "smooth_l1_loss",
        [](const Tensor& x, const Tensor& y, Reduction r) { return smooth_l1_loss(x, y, r, 0.4); },
        [](auto x, auto y) { return reference::huber(x, y, 0.4) / 0.4; });
    rows.front().errors.push_back({[] { smooth_l1_loss(ones({2}), ones({2}), Reduction::sum, -1); },
                                   "smooth_l1_loss: beta must be >= 0, got -1"});
    rows.push_back(pair_row(
        "smooth_l1_loss", "beta 0",
        [](const Tensor& x, const Tensor& y, Reduction r) { return smooth_l1_loss(x, y, r, 0); },
        [](auto x, auto y) {
            using std::abs;
            return abs(x - y);
        },
        Reduction::mean, kAny, kAny));
    return rows;
}

// ---- probabilities ------------------------------------------------------------------------------

std::vector<OpCase> bce_rows() {
    return pair_rows("binary_cross_entropy", binary_cross_entropy,
                     [](auto p, auto y) { return reference::binary_cross_entropy(p, y); }, kInside,
                     {0, 1});
}

std::vector<OpCase> bce_with_logits_rows() {
    return pair_rows(
        "binary_cross_entropy_with_logits",
        [](const Tensor& x, const Tensor& y, Reduction r) {
            return binary_cross_entropy_with_logits(x, y, {.reduction = r});
        },
        [](auto x, auto y) { return reference::binary_cross_entropy_with_logits(x, y); }, {-4, 4},
        {0, 1});
}

OpCase weighted_bce_row() {
    const auto sample = [](const Shape& shape, const Shape& weight, const Shape& pos_weight) {
        return Sample{{shape, -4, 4}, {shape, 0, 1}, {weight, 0.5, 2}, {pos_weight, 0.5, 5}};
    };
    OpCase row = op_case(
        "binary_cross_entropy_with_logits", "weight, pos_weight",
        [](const Tensors& x) {
            return binary_cross_entropy_with_logits(
                x[0], x[1], {.weight = x[2], .pos_weight = x[3], .reduction = Reduction::sum});
        },
        [](const auto& x) {
            auto losses = reference::map(x[0], x[2], [](auto a, auto) { return a; });
            const auto weight = reference::map(x[0], x[2], [](auto, auto w) { return w; });
            const auto pos = reference::map(x[0], x[3], [](auto, auto w) { return w; });
            for (std::int64_t i = 0; i < losses.size(); ++i) {
                losses[i] = weight[i] *
                            reference::binary_cross_entropy_with_logits(x[0][i], x[1][i], pos[i]);
            }
            return reference::reduced(losses, reference::Reduction::sum, 1);
        },
        {sample({3, 5}, {3, 1}, {5}), sample({2, 3, 4}, {2, 3, 4}, {3, 1}), sample({}, {}, {}),
         sample({0, 3}, {1}, {3})});
    const auto wrong = [](const BceOptions& options) {
        return [=] { binary_cross_entropy_with_logits(ones({2, 4}), ones({2, 4}), options); };
    };
    row.errors = {{wrong({.weight = ones({2})}),
                   "binary_cross_entropy_with_logits: weight [2] does not broadcast to [2, 4]"},
                  {wrong({.pos_weight = ones({1, 2, 4})}),
                   "binary_cross_entropy_with_logits: pos_weight [1, 2, 4] does not broadcast to "
                   "[2, 4]"},
                  {wrong({.pos_weight = ones({4}, DType::f64)}),
                   "binary_cross_entropy_with_logits: element types differ: f32 and f64"}};
    return row;
}

std::vector<OpCase> kl_div_rows() {
    const auto with = [](bool log_target) {
        return [log_target](const Tensor& x, const Tensor& y, Reduction r) {
            return kl_div(x, y,
                          {log_target, r == Reduction::mean  ? KlReduction::mean
                                       : r == Reduction::sum ? KlReduction::sum
                                                             : KlReduction::none});
        };
    };
    std::vector<OpCase> rows =
        pair_rows("kl_div", with(false), [](auto x, auto y) { return reference::kl_div(x, y); },
                  {-4, 0}, {0.05, 1});
    rows.push_back(pair_row("kl_div", "log_target", with(true),
                            [](auto x, auto y) {
                                using std::exp;
                                return reference::kl_div(x, exp(y));
                            },
                            Reduction::sum, {-4, 0}, {-4, 0}));
    rows.push_back(op_case(
        "kl_div", "batchmean",
        [](const Tensors& x) { return kl_div(x[0], x[1], {.reduction = KlReduction::batchmean}); },
        [](const auto& x) {
            const auto parts = reference::map(
                x[0], x[1], [](auto log_p, auto q) { return reference::kl_div(log_p, q); });
            return reference::reduced(parts, reference::Reduction::mean,
                                      x[0].shape.rank() == 0 ? 1 : x[0].shape[0]);
        },
        {{{{3, 5}, -4, 0}, {{3, 5}, 0.05, 1}},
         {{{}, -4, 0}, {{}, 0.05, 1}},
         {{{3, 0}, -4, 0}, {{3, 0}, 0.05, 1}}}));
    return rows;
}

}  // namespace

std::vector<OpCase> elementwise_loss_cases() {
    std::vector<OpCase> rows{weighted_bce_row()};
    for (auto* more : {mse_rows, l1_rows, quantile_rows, huber_rows, smooth_l1_rows, bce_rows,
                       bce_with_logits_rows, kl_div_rows}) {
        for (OpCase& row : more()) rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace tapestry::catalog
