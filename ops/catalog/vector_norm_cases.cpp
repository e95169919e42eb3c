// Rows of the op table: how large vectors are. Vectors of zeros: tests/ops/reduction_test.cpp.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/reduction_rows.h>
#include <tapestry/ops/vector_norm.h>

#include <limits>

namespace tapestry::catalog {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

OpCase norm_row(const char* variant, double p, const Axes& axes, bool keepdim) {
    const auto of_nothing = p >= 0 && p < kInf ? OfNothing::number : OfNothing::no_number;
    OpCase row = reduction_row(
        "norm", variant, axes, keepdim,
        [p](const Tensor& x, const Axes& a, bool k) { return norm(x, p, a, k); },
        [p](const auto& v) { return reference::norm(v, p); }, of_nothing);
    row.samples[1] = {{{3, 20, 7}}};
    row.large = {{{30, 20, 50}}};
    return row;
}

}  // namespace

std::vector<OpCase> vector_norm_cases() {
    std::vector<OpCase> rows;
    add_rows(
        rows, "norm", [](const Tensor& x, const Axes& a, bool k) { return norm(x, 2, a, k); },
        [](const auto& v) { return reference::norm(v, 2); }, OfNothing::number);
    rows.push_back(norm_row("p = 1", 1, {1}, false));
    rows.push_back(norm_row("p = 3", 3, {0, 2}, true));
    rows.push_back(norm_row("p = 1.5", 1.5, {-1}, false));
    rows.push_back(norm_row("p = 1/2", 0.5, {1}, false));
    rows.push_back(norm_row("p = -1", -1, {1}, false));
    rows.push_back(norm_row("p = inf", kInf, {1}, true));
    rows.push_back(norm_row("p = -inf", -kInf, {-1}, false));
    rows.push_back(norm_row("p = 0", 0, {1}, false));
    rows.back().differentiable = false;
    rows.back().errors = {
        needs_floating("norm", [] { norm(arange(3)); }),
        {[] { norm(ones({2}), std::numeric_limits<double>::quiet_NaN()); }, "norm: p is NaN"},
        {[] {
             norm(ones({2, 0}), kInf, {1});
         },
         "norm: p = inf over nothing: a reduced axis of [2, 0] is empty"},
        {[] { norm(ones({0}), -kInf); },
         "norm: p = -inf over nothing: a reduced axis of [0] is empty"}};
    return rows;
}

}  // namespace tapestry::catalog
