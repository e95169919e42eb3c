// Rows of the op table: rotary positions with each kind of pairs, full and partial, and for heads
// inside tokens. Definition: reference/attention.h.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/attention.h>
#include <tapestry/ops/catalog/reference/view.h>
#include <tapestry/ops/rotary.h>
#include <tapestry/ops/view.h>

#include <cmath>

namespace tapestry::catalog {
namespace {

constexpr std::int64_t kFirst = 3;
constexpr double kBase = 100;

// wave(angle) for positions kFirst, ... and the pairs of `turned` numbers, [length, turned / 2].
Tensor table(double (*wave)(double), std::int64_t length, std::int64_t turned, DType dtype) {
    std::vector<double> values;
    for (std::int64_t t = 0; t < length; ++t) {
        for (std::int64_t i = 0; i < turned / 2; ++i) {
            values.push_back(
                wave(static_cast<double>(kFirst + t) *
                     std::pow(kBase, -2 * static_cast<double>(i) / static_cast<double>(turned))));
        }
    }
    return cast(tensor(values, {length, turned / 2}), dtype);
}

// Rotates all but the last `rest` elements of each row.
Tensor turned(const Tensor& x, std::int64_t rest, RotaryPairs pairs) {
    const std::int64_t length = x.size(-2), width = x.size(-1) - rest;
    return rotary(x, table(std::cos, length, width, x.dtype()),
                  table(std::sin, length, width, x.dtype()), pairs);
}

OpCase rotary_row(const char* variant, std::int64_t rest, RotaryPairs pairs) {
    const bool halves = pairs == RotaryPairs::halves;
    OpCase row = op_case(
        "rotary", variant, [=](const Tensors& x) { return turned(x[0], rest, pairs); },
        [=](const auto& x) {
            return reference::rotary(x[0], x[0].shape.back() - rest, halves, kFirst, kBase);
        },
        {});
    for (const std::int64_t width : {2, 6, 16, 50}) {  // multiples of the vector size, and not
        row.samples.push_back({{{2, 3, 5, width + rest}}});
    }
    for (const Shape& shape : {Shape{4, 4 + rest}, Shape{0, 3, 4 + rest}, Shape{2, 0, 2 + rest}}) {
        row.samples.push_back({{shape}});
    }
    row.no_single = "a pair is two numbers";
    row.large = {{{3, 2, 700, 34 + rest}}};
    return row;
}

// Heads as produced by a projection: [B, T, H, D] -> [B, H, T, D].
OpCase heads_row() {
    OpCase row = op_case(
        "rotary", "heads inside",
        [](const Tensors& x) { return turned(transpose(x[0], 1, 2), 1, RotaryPairs::interleaved); },
        [](const auto& x) {
            const auto heads = reference::transpose(x[0], 1, 2);
            return reference::rotary(heads, heads.shape.back() - 1, false, kFirst, kBase);
        },
        {{{{2, 5, 3, 7}}}, {{{1, 1, 1, 3}}}, {{{2, 0, 2, 3}}}});
    row.no_single = "a pair is two numbers";
    row.large = {{{2, 400, 3, 35}}};
    return row;
}

std::vector<ErrorCase> rotary_errors() {
    const Tensor x = ones({2, 3, 4}), table = ones({3, 2});
    const auto wrong = [](const Tensor& a, const Tensor& cos, const Tensor& sin) {
        return [=] { rotary(a, cos, sin); };
    };
    return {
        {wrong(ones({4}), table, table), "rotary: needs [..., T, D], got [4]"},
        {wrong(x, ones({2, 2}), table),
         "rotary: cos is [2, 2]; [2, 3, 4] needs [3, P] with 2 P <= 4"},
        {wrong(x, table, ones({3, 3})),
         "rotary: sin is [3, 3]; [2, 3, 4] needs [3, P] with 2 P <= 4"},
        {wrong(x, table, ones({3, 1})), "rotary: cos is [3, 2], but sin [3, 1]"},
        {wrong(x, table, ones({3, 2}, DType::f64)), "rotary: element types differ: f32 and f64"},
        {wrong(arange(4), table, table), "rotary: needs floating-point numbers, got i64"},
        {wrong(x, Tensor(), table), "rotary: got an undefined tensor"},
        {[x, table] {
             Tensor leaf = table.clone();
             leaf.set_requires_grad();
             const Tape tape;
             rotary(x, leaf, table);
         },
         "rotary: cos and sin must be constants, but a tape records them"}};
}

}  // namespace

std::vector<OpCase> rotary_cases() {
    std::vector<OpCase> rows{rotary_row("interleaved", 0, RotaryPairs::interleaved),
                             rotary_row("interleaved, in part", 3, RotaryPairs::interleaved),
                             rotary_row("halves", 0, RotaryPairs::halves),
                             rotary_row("halves, in part", 5, RotaryPairs::halves), heads_row()};
    rows.front().errors = rotary_errors();
    return rows;
}

}  // namespace tapestry::catalog
