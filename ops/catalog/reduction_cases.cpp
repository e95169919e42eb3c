#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/reduction.h>
#include <tapestry/ops/reduction.h>

#include <algorithm>

namespace tapestry::catalog {
namespace {

using Axes = std::vector<int>;

// What a reduction of no numbers at all gives: a number, or NaN or an error. The latter two are
// tested in tests/ops/reduction_test.cpp, and rows keep to empty results.
enum class OfNothing { number, no_number };

bool reduces_nothing(const Shape& shape, const Axes& axes) {
    if (axes.empty()) return numel(shape) == 0;
    return std::any_of(axes.begin(), axes.end(),
                       [&](int axis) { return shape[axis < 0 ? axis + shape.rank() : axis] == 0; });
}

// Shapes in which `axes` of rank 3 are trailing, leading, in the middle, apart; and the edges.
std::vector<Sample> samples_for(const Axes& axes, OfNothing of_nothing) {
    std::vector<Sample> samples{{{{2, 3, 5}}}, {{{3, 70, 37}}}, {{{1, 1, 1}}}, {{{3, 1, 4}}}};
    if (axes.empty()) {
        samples.push_back({{{}}});
        samples.push_back({{{2100}}});
    }
    for (const Shape& shape : {Shape{0, 2, 3}, Shape{2, 0, 3}, Shape{2, 3, 0}}) {
        if (of_nothing == OfNothing::number || !reduces_nothing(shape, axes)) {
            samples.push_back({{shape}});
        }
    }
    return samples;
}

// `f` is generic: a vector of numbers to a number.
template <class Op, class F>
OpCase reduction_row(const char* name, const char* variant, const Axes& axes, bool keepdim, Op op,
                     F f, OfNothing of_nothing) {
    Axes from_start = axes;
    for (int& axis : from_start) axis = axis < 0 ? axis + 3 : axis;
    OpCase row = op_case(
        name, variant, [=](const Tensors& x) { return op(x[0], axes, keepdim); },
        [=](const auto& x) { return reference::reduce(x[0], from_start, keepdim, f); },
        samples_for(axes, of_nothing));
    const bool never = of_nothing == OfNothing::no_number && axes.empty();
    if (never) row.no_empty = "there is no result for no numbers; see reduction_test.cpp";
    row.large = {{{40, 60, 50}}};
    const std::string prefix = std::string(name) + ": ";
    row.errors = {{[=] {
                       op(ones({2, 3}), {2}, false);
                   },
                   prefix + "axis 2 is outside a tensor of rank 2"},
                  {[=] {
                       op(ones({2, 3}), {1, -1}, false);
                   },
                   prefix + "axis -1 is named twice"},
                  {[=] { op(Tensor(), {}, false); }, prefix + "got an undefined tensor"}};
    return row;
}

// One row per way the axes can lie.
template <class Op, class F>
void add_rows(std::vector<OpCase>& rows, const char* name, Op op, F f, OfNothing of_nothing) {
    rows.push_back(reduction_row(name, "all axes", {}, false, op, f, of_nothing));
    rows.push_back(reduction_row(name, "last axis, keepdim", {-1}, true, op, f, of_nothing));
    rows.push_back(reduction_row(name, "leading axes", {0, 1}, false, op, f, of_nothing));
    rows.push_back(reduction_row(name, "middle axis", {1}, false, op, f, of_nothing));
    rows.push_back(reduction_row(name, "first and last axis", {0, 2}, true, op, f, of_nothing));
}

ErrorCase needs_floating(const std::string& name, std::function<void()> call) {
    return {std::move(call), name + ": needs f32 or f64, got i64"};
}

OpCase sum_to_row(const char* variant, const Shape& from, const Shape& to) {
    OpCase row = op_case(
        "sum_to", variant, [to](const Tensors& x) { return sum_to(x[0], to); },
        [to](const auto& x) { return reference::sum_to(x[0], to); }, {{{from}}});
    row.no_empty = "each variant has one shape";
    row.no_single = row.no_empty;
    return row;
}

void add_sum_to_rows(std::vector<OpCase>& rows) {
    rows.push_back(sum_to_row("bias", {2, 3, 19}, {19}));
    rows.back().large = {{{40, 100, 19}}};
    rows.push_back(sum_to_row("same shape", {2, 3}, {2, 3}));
    rows.back().op = [](const Tensors& x) { return sum_to(sum_to(x[0], {1, 3}), {3}); };
    rows.back().reference = [](const auto& x) { return reference::sum_to(x[0], {3}); };
    rows.back().dual_reference = [](const auto& x) { return reference::sum_to(x[0], {3}); };
    rows.push_back(sum_to_row("inner axis", {4, 5, 3}, {5, 1}));
    rows.push_back(sum_to_row("scalar", {3, 4}, {}));
    rows.push_back(sum_to_row("one element", {1, 1}, {1}));
    rows.push_back(sum_to_row("empty", {0, 3}, {3}));
    rows.back().errors = {{[] {
                               sum_to(ones({2, 3}), {2});
                           },
                           "sum_to: [2] does not broadcast to [2, 3]"},
                          {[] {
                               sum_to(ones({3}), {2, 3});
                           },
                           "sum_to: [2, 3] does not broadcast to [3]"},
                          {[] { sum_to(arange(3), {}); }, "sum_to: needs f32 or f64, got i64"}};
}

OpCase argmax_row(const char* variant, int axis, bool keepdim) {
    OpCase row = op_case(
        "argmax", variant, [=](const Tensors& x) { return argmax(x[0], axis, keepdim); },
        [=](const auto& x) {
            return reference::reduce(x[0], {axis < 0 ? axis + 3 : axis}, keepdim,
                                     [](const auto& v) { return reference::argmax(v); });
        },
        {{{{2, 3, 5}}}, {{{3, 70, 37}}}, {{{1, 1, 1}}}, {{{0, 2, 3}}}});
    row.differentiable = false;
    row.large = {{{40, 60, 50}}};
    return row;
}

// Sums that count: of masks, as i64.
OpCase mask_row() {
    OpCase row = op_case(
        "sum", "of a mask", [](const Tensors& x) { return sum(x[0], {0}); },
        [](const auto& x) {
            return reference::reduce(x[0], {0}, false,
                                     [](const auto& v) { return reference::sum(v); });
        },
        {{mask({3, 5})}, {mask({1})}, {mask({0, 2})}});
    row.differentiable = false;
    return row;
}

}  // namespace

std::vector<OpCase> reduction_cases() {
    using T = const Tensor&;
    std::vector<OpCase> rows;
    add_rows(
        rows, "sum", [](T x, const Axes& a, bool k) { return sum(x, a, k); },
        [](const auto& v) { return reference::sum(v); }, OfNothing::number);
    rows.push_back(mask_row());
    add_rows(
        rows, "mean", [](T x, const Axes& a, bool k) { return mean(x, a, k); },
        [](const auto& v) { return reference::mean(v); }, OfNothing::no_number);
    rows.back().errors.push_back(needs_floating("mean", [] { mean(arange(3)); }));
    add_rows(
        rows, "max", [](T x, const Axes& a, bool k) { return max(x, a, k); },
        [](const auto& v) { return reference::max(v); }, OfNothing::no_number);
    rows.back().errors.push_back(needs_floating("max", [] { max(arange(3)); }));
    rows.back().errors.push_back(
        {[] {
             max(zeros({2, 0}), {1});
         },
         "max: nothing to choose from: a reduced axis of [2, 0] is empty"});
    add_rows(
        rows, "min", [](T x, const Axes& a, bool k) { return min(x, a, k); },
        [](const auto& v) { return reference::min(v); }, OfNothing::no_number);
    rows.back().errors.push_back(
        {[] { min(zeros({0})); }, "min: nothing to choose from: a reduced axis of [0] is empty"});
    add_rows(
        rows, "var", [](T x, const Axes& a, bool k) { return var(x, a, 0, k); },
        [](const auto& v) { return reference::var(v, 0); }, OfNothing::no_number);
    rows.back().errors.push_back(needs_floating("var", [] { var(arange(3)); }));
    rows.push_back(reduction_row(
        "var", "unbiased", {1}, false, [](T x, const Axes& a, bool k) { return var(x, a, 1, k); },
        [](const auto& v) { return reference::var(v, 1); }, OfNothing::no_number));
    rows.back().samples = {{{{2, 3, 5}}}, {{{3, 70, 37}}}, {{{0, 2, 3}}}};
    rows.back().no_single = "NaN; see reduction_test.cpp";
    add_rows(
        rows, "logsumexp", [](T x, const Axes& a, bool k) { return logsumexp(x, a, k); },
        [](const auto& v) { return reference::logsumexp(v); }, OfNothing::number);
    rows.back().errors.push_back(needs_floating("logsumexp", [] { logsumexp(arange(3)); }));

    rows.push_back(argmax_row("last axis", -1, false));
    rows.push_back(argmax_row("first axis", 0, true));
    rows.push_back(argmax_row("middle axis", 1, false));
    rows.back().samples.back() = {{{0, 2, 3}}};
    rows[rows.size() - 2].samples.back() = {{{2, 0, 3}}};
    rows.back().errors = {
        {[] {
             argmax(ones({2, 0}), 1);
         },
         "argmax: axis 1 of [2, 0] is empty"},
        {[] { argmax(ones({2}), 1); }, "argmax: axis 1 is outside a tensor of rank 1"},
        {[] { argmax(ones({}), 1); }, "argmax: axis 1 is outside a tensor of rank 0"},
        {[] { argmax(Tensor(), 0); }, "argmax: got an undefined tensor"}};
    add_sum_to_rows(rows);
    return rows;
}

}  // namespace tapestry::catalog
