// Rows of the op table: whole lines in order. Definitions: reference/order.h.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/order.h>
#include <tapestry/ops/order.h>
#include <tapestry/ops/unique.h>

namespace tapestry::catalog {
namespace {

OpCase sort_row(const char* variant, int axis, bool descending) {
    OpCase row = op_case(
        "sort", variant,
        [=](const Tensors& x) {
            const Selection sorted = sort(x[0], axis, descending);
            return Tensors{sorted.values, sorted.indices};
        },
        [=](const auto& x) {
            const int along = axis < 0 ? axis + x[0].shape.rank() : axis;
            return reference::ordered(x[0], along, 0, x[0].shape[along], descending);
        },
        {{{{2, 3, 5}}}, {{{3, 70, 7}}}, {{{1, 1, 1}}}, {{{0, 2, 3}}}, {{{2, 0, 3}}}});
    row.large = {{{6, 700, 20}}};  // lines of 700 and of 20: by counting and by comparing
    return row;
}

// Few different numbers, so that the order of equals shows.
OpCase ties_row(const char* variant, const Input& equals, bool descending) {
    OpCase row = op_case(
        "sort", variant,
        [=](const Tensors& x) {
            const Selection sorted = sort(x[0], -1, descending);
            return Tensors{sorted.values, sorted.indices};
        },
        [=](const auto& x) { return reference::ordered(x[0], 1, 0, x[0].shape[1], descending); },
        {{equals}, {{{1, 1}, equals.low, equals.high, equals.kind}}});
    row.differentiable = false;
    row.no_empty = "other rows";
    return row;
}

OpCase argsort_row() {
    OpCase row = op_case(
        "argsort", "", [](const Tensors& x) { return argsort(x[0], 0, true); },
        [](const auto& x) { return reference::ordered(x[0], 0, 0, x[0].shape[0], true)[1]; },
        {{{{5, 3}}}, {{{1}}}, {{{0, 2}}}, {{{900}}}});
    row.differentiable = false;
    row.large = {{{700, 20}}};
    row.errors = {{[] { argsort(ones({2}), 1); }, "argsort: axis 1 is outside a tensor of rank 1"},
                  {[] { argsort(Tensor()); }, "argsort: got an undefined tensor"}};
    return row;
}

OpCase quantile_row(const char* variant, int axis, bool keepdim, double q) {
    OpCase row = op_case(
        "quantile", variant, [=](const Tensors& x) { return quantile(x[0], q, axis, keepdim); },
        [=](const auto& x) {
            return reference::reduce(
                x[0], {axis < 0 ? axis + x[0].shape.rank() : axis}, keepdim,
                [q](const auto& line) { return reference::quantile(line, q); });
        },
        {{{{2, 3, 5}}}, {{{3, 70, 7}}}, {{{1, 1, 1}}}, {{{4, 0, 2}}}});
    if (axis == 1) row.samples.back() = {{{0, 3, 2}}};
    row.large = {{{40, 60, 50}}};
    return row;
}

OpCase quantiles_row() {
    static const std::vector<double> kShares{0, 0.3, 1};
    OpCase row = op_case(
        "quantile", "several q", [](const Tensors& x) { return quantile(x[0], kShares, -1, true); },
        [](const auto& x) {
            auto lines = x[0];  // [3, ..., 1]
            lines.data.clear();
            for (const double q : kShares) {
                const auto one = reference::reduce(
                    x[0], {x[0].shape.rank() - 1}, true,
                    [q](const auto& line) { return reference::quantile(line, q); });
                lines.data.insert(lines.data.end(), one.data.begin(), one.data.end());
            }
            lines.shape.back() = 1;
            lines.shape.insert(0, 3);
            return lines;
        },
        {{{{2, 5}}}, {{{7}}}, {{{1, 1}}}, {{{0, 2}}}});
    row.errors = {
        {[] {
             quantile(ones({2}), {0.5, 1.5}, 0);
         },
         "quantile: q = 1.5 is not in [0, 1]"},
        {[] { quantile(ones({2}), -0.1, 0); }, "quantile: q = -0.1 is not in [0, 1]"},
        {[] { quantile(ones({2}), std::vector<double>{}, 0); }, "quantile: got no q"},
        {[] {
             quantile(ones({2, 0}), 0.5, 1);
         },
         "quantile: axis 1 of [2, 0] is empty"},
        {[] { quantile(arange(3), 0.5, 0); }, "quantile: needs floating numbers, got i64"},
        {[] { quantile(Tensor(), 0.5, 0); }, "quantile: got an undefined tensor"}};
    return row;
}

OpCase quantile_of_all_row() {
    OpCase row = op_case(
        "quantile", "of all", [](const Tensors& x) { return quantile(x[0], 0.2); },
        [](const auto& x) {
            return reference::reduce(x[0], {}, false,
                                     [](const auto& all) { return reference::quantile(all, 0.2); });
        },
        {{{{3, 5}}}, {{{2, 600}}}, {{{1}}}, {{{}}}});
    row.no_empty = "there is no quantile of nothing";
    row.errors = {{[] { quantile(ones({0, 2}), 0.5); }, "quantile: axis 0 of [0] is empty"}};
    return row;
}

OpCase unique_row(const char* variant, std::vector<Sample> samples) {
    OpCase row = op_case(
        "unique", variant,
        [](const Tensors& x) {
            const Unique found = unique(x[0]);
            return Tensors{found.values, found.inverse, found.counts};
        },
        [](const auto& x) { return reference::unique(x[0]); }, std::move(samples));
    row.differentiable = false;
    return row;
}

OpCase bincount_row() {
    OpCase row = op_case(
        "bincount", "", [](const Tensors& x) { return bincount(x[0], 3); },
        [](const auto& x) { return reference::bincount(x[0], 3); },
        {{indices({40}, 9)}, {indices({2, 3}, 2)}, {indices({1}, 1)}, {indices({0}, 9)}});
    row.differentiable = false;
    row.errors = {{[] {
                       bincount(tensor<std::int64_t>({4, -1}));
                   },
                   "bincount: element 1 of [2] is -1, not a number from 0 to 2^48 - 1"},
                  {[] { bincount(arange(3), -2); }, "bincount: minlength -2 is negative"},
                  {[] { bincount(ones({2})); }, "bincount: needs i64, got f32"},
                  {[] { bincount(Tensor()); }, "bincount: got an undefined tensor"}};
    return row;
}

}  // namespace

std::vector<OpCase> order_cases() {
    std::vector<OpCase> rows{sort_row("last axis", -1, false),
                             sort_row("first axis, descending", 0, true),
                             sort_row("middle axis, descending", 1, true)};
    rows[1].samples.back() = {{{2, 3, 0}}};
    rows[0].errors = {{[] {
                           sort(ones({2, 3}), 2);
                       },
                       "sort: axis 2 is outside a tensor of rank 2"},
                      {[] { sort(scalar(1)); }, "sort: axis -1 is outside a tensor of rank 0"},
                      {[] { sort(views::expand(ones({1}), {std::int64_t{1} << 32})); },
                       "sort: axis -1 of [4294967296] is too long"},
                      {[] { sort(Tensor()); }, "sort: got an undefined tensor"}};
    rows.push_back(ties_row("whole numbers", whole_numbers({2, 40}, -3, 3), false));
    rows.push_back(ties_row("whole numbers, descending", whole_numbers({2, 900}, -300, 300), true));
    rows.push_back(ties_row("a mask, descending", mask({3, 600}), true));
    rows.push_back(argsort_row());
    rows.push_back(quantile_row("last axis", -1, false, 0.9));
    rows.push_back(quantile_row("middle axis, keepdim", 1, true, 0.5));
    rows.push_back(quantiles_row());
    rows.push_back(quantile_of_all_row());
    rows.push_back(unique_row("real numbers", {{{{2, 3}}}, {{{1}}}, {{{}}}, {{{0, 2}}}}));
    rows.back().errors = {{[] { unique(views::expand(ones({1}), {std::int64_t{1} << 32})); },
                           "unique: [4294967296] has too many elements"},
                          {[] { unique(Tensor()); }, "unique: got an undefined tensor"}};
    rows.push_back(unique_row("whole numbers", {{whole_numbers({3, 7}, -4, 4)},
                                                {whole_numbers({800}, -99, 99)},
                                                {whole_numbers({1}, 5, 6)},
                                                {whole_numbers({0}, 0, 1)}}));
    rows.push_back(unique_row("a mask", {{mask({2, 3})}, {mask({1})}, {mask({0})}}));
    rows.push_back(bincount_row());
    return rows;
}

}  // namespace tapestry::catalog
