#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/norm.h>
#include <tapestry/ops/softmax.h>

namespace tapestry::catalog {
namespace {

template <class Op, class F>
OpCase softmax_row(const char* name, const char* variant, int axis, Op op, F f) {
    OpCase row = op_case(
        name, variant, [=](const Tensors& x) { return op(x[0], axis); },
        [=](const auto& x) {
            const int rank = x[0].shape.rank();
            return f(x[0], axis < 0 ? axis + rank : axis);
        },
        {{{{3, 5}}},
         {{{2, 3, 65}, -6, 6}},
         {{{7, 64, 2}}},
         {{{1, 1}}},
         {{{4, 1}}},
         {{{0, 3}}},
         {{{2, 0}}},
         {{{2, 1100}}}});
    row.large = {{{700, 65}}};
    const std::string prefix = std::string(name) + ": ";
    row.errors = {{[=] {
                       op(ones({2, 3}), 2);
                   },
                   prefix + "axis 2 is outside a tensor of rank 2"},
                  {[=] { op(arange(3), -1); }, prefix + "needs floating-point numbers, got i64"},
                  {[=] { op(Tensor(), -1); }, prefix + "got an undefined tensor"}};
    return row;
}

template <class Op>
OpCase scalar_row(const char* name, double value, Op op) {
    OpCase row = op_case(
        name, "scalar", [=](const Tensors& x) { return op(x[0], -1); },
        [=](const auto& x) { return reference::map(x[0], [=](auto v) { return v - v + value; }); },
        {{{{}}}});
    row.no_empty = "a scalar is never empty";
    return row;
}

}  // namespace

std::vector<OpCase> softmax_cases() {
    const auto plain = [](const Tensor& x, int axis) { return softmax(x, axis); };
    const auto logarithm = [](const Tensor& x, int axis) { return log_softmax(x, axis); };
    const auto p = [](const auto& x, int axis) { return reference::softmax(x, axis); };
    const auto log_p = [](const auto& x, int axis) { return reference::log_softmax(x, axis); };
    return {softmax_row("softmax", "last axis", -1, plain, p),
            softmax_row("softmax", "first axis", 0, plain, p),
            scalar_row("softmax", 1, plain),
            softmax_row("log_softmax", "last axis", -1, logarithm, log_p),
            softmax_row("log_softmax", "first axis", 0, logarithm, log_p),
            scalar_row("log_softmax", 0, logarithm)};
}

}  // namespace tapestry::catalog
