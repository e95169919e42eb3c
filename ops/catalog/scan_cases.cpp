// Rows of the op table: running sums and products, and products. Integers are drawn from a range
// that includes zero; tests/ops/prod_test.cpp tests zeros in real inputs.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reduction_rows.h>
#include <tapestry/ops/catalog/reference/reduction.h>
#include <tapestry/ops/scan.h>

namespace tapestry::catalog {
namespace {

OpCase cumsum_row(const char* variant, int axis) {
    OpCase row = op_case(
        "cumsum", variant, [=](const Tensors& x) { return cumsum(x[0], axis); },
        [=](const auto& x) { return reference::cumsum(x[0], axis < 0 ? axis + 3 : axis); },
        {{{{2, 3, 5}}},
         {{{3, 20, 70}}},
         {{{1, 1, 1}}},
         {{{4, 1, 3}}},
         {{{0, 2, 3}}},
         {{{2, 3, 0}}}});
    row.large = {{{40, 60, 50}}};
    return row;
}

std::vector<OpCase> diff_rows() {
    const auto differences = [](auto y, int axis) {
        const auto x = y;
        --y.shape[axis];
        y.data.resize(static_cast<std::size_t>(numel(y.shape)));
        for (std::int64_t i = 0; i < y.size(); ++i) {
            Shape at = reference::unravel(y.shape, i);
            const auto before = x[reference::ravel_broadcast(x.shape, at)];
            ++at[axis];
            y[i] = x[reference::ravel_broadcast(x.shape, at)] - before;
        }
        return y;
    };
    OpCase once = op_case(
        "diff", "", [](const Tensors& x) { return diff(x[0]); },
        [=](const auto& x) { return differences(x[0], x[0].shape.rank() - 1); },
        {{{{3, 5}}}, {{{2}}}, {{{2, 1}}}, {{{0, 3}}}});
    once.no_single = "one element has no differences";
    once.large = {{{70, 1000}}};
    once.errors = {{[] { diff(ones({3}), 1, 1); }, "diff: axis 1 is outside a tensor of rank 1"},
                   {[] { diff(ones({3}), -1); }, "diff: n must be >= 0, got -1"},
                   {[] { diff(ones({3}, DType::boolean)); }, "diff: needs numbers, got bool"},
                   {[] { diff(Tensor()); }, "diff: got an undefined tensor"}};
    OpCase twice = op_case(
        "diff", "twice, axis 0", [](const Tensors& x) { return diff(x[0], 2, 0); },
        [=](const auto& x) { return differences(differences(x[0], 0), 0); },
        {{{{5, 3}}}, {{{3}}}, {{{3, 0}}}});
    twice.no_single = once.no_single;
    OpCase whole = once;
    whole.variant = "of whole numbers";
    whole.samples = {{whole_numbers({4, 6}, -5, 6)}, {whole_numbers({0, 3}, 0, 1)}};
    whole.differentiable = false;
    whole.errors.clear();
    return {once, twice, whole};
}

}  // namespace

std::vector<OpCase> scan_cases() {
    std::vector<OpCase> rows{cumsum_row("last axis", -1), cumsum_row("middle axis", 1),
                             cumsum_row("first axis", 0)};
    rows.push_back(op_case(
        "cumsum", "scalar", [](const Tensors& x) { return cumsum(x[0], 0); },
        [](const auto& x) { return x[0]; }, {{{{}}}}));
    rows.back().no_empty = "a scalar is never empty";
    rows.front().errors = {{[] {
                                cumsum(ones({2, 3}), 2);
                            },
                            "cumsum: axis 2 is outside a tensor of rank 2"},
                           {[] { cumsum(Tensor(), 0); }, "cumsum: got an undefined tensor"}};
    for (OpCase& row : diff_rows()) rows.push_back(std::move(row));
    return rows;
}

// ---- products -----------------------------------------------------------------------------------

namespace {

OpCase cumprod_row(const char* variant, int axis) {
    OpCase row = op_case(
        "cumprod", variant, [=](const Tensors& x) { return cumprod(x[0], axis); },
        [=](const auto& x) { return reference::cumprod(x[0], axis < 0 ? axis + 3 : axis); },
        {{{{2, 3, 5}}}, {{{3, 20, 70}}}, {{{1, 1, 1}}}, {{{0, 2, 3}}}, {{{2, 3, 0}}}});
    row.large = {{{40, 60, 50}}};
    return row;
}

OpCase whole_row(const char* name, Tensor (*op)(const Tensor&), bool running, const Sample& first) {
    OpCase row = op_case(
        name, first[0].kind == Kind::mask ? "of a mask" : "of whole numbers",
        [op](const Tensors& x) { return op(x[0]); },
        [running](const auto& x) {
            if (running) return reference::cumprod(x[0], 0);
            return reference::reduce(x[0], {0}, false,
                                     [](const auto& v) { return reference::prod(v); });
        },
        {first, {whole_numbers({5, 7}, -1, 3)}, {mask({1})}, {mask({2, 0})}});
    row.differentiable = false;
    return row;
}

}  // namespace

std::vector<OpCase> prod_cases() {
    std::vector<OpCase> rows;
    add_rows(
        rows, "prod", [](const Tensor& x, const Axes& a, bool k) { return prod(x, a, k); },
        [](const auto& v) { return reference::prod(v); }, OfNothing::number);
    for (OpCase& row : rows) {  // thousands of factors must be near 1 to avoid overflow
        for (Sample& sample : row.samples) {
            if (numel(sample[0].shape) > 1000) sample = {{sample[0].shape, 0.999, 1.001}};
        }
        row.large = {{{40, 60, 50}, 0.9999, 1.0001}};
    }
    rows.push_back(cumprod_row("last axis", -1));
    rows.push_back(cumprod_row("middle axis", 1));
    rows.push_back(cumprod_row("first axis", 0));
    rows.back().errors = {{[] {
                               cumprod(ones({2, 3}), 2);
                           },
                           "cumprod: axis 2 is outside a tensor of rank 2"},
                          {[] { cumprod(Tensor(), 0); }, "cumprod: got an undefined tensor"}};
    rows.push_back(op_case(
        "cumprod", "scalar", [](const Tensors& x) { return cumprod(x[0], 0); },
        [](const auto& x) { return x[0]; }, {{{{}}}}));
    rows.back().no_empty = "a scalar is never empty";
    const auto product = [](const Tensor& x) { return prod(x, {0}); };
    const auto running = [](const Tensor& x) { return cumprod(x, 0); };
    for (const Sample& first : {Sample{whole_numbers({9, 3}, -3, 4)}, Sample{mask({3, 8})}}) {
        rows.push_back(whole_row("prod", product, false, first));
        rows.push_back(whole_row("cumprod", running, true, first));
    }
    return rows;
}

}  // namespace tapestry::catalog
