// Rows of the op table: sorting and selection. Definitions: reference/order.h.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/order.h>
#include <tapestry/ops/order.h>

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
    row.large = {{{6, 700, 20}}};  // lines of 700 and of 20: radix and comparison sort
    return row;
}

// Few distinct numbers, which tests stability.
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
         "quantile: q must be in [0, 1], got 1.5"},
        {[] { quantile(ones({2}), -0.1, 0); }, "quantile: q must be in [0, 1], got -0.1"},
        {[] { quantile(ones({2}), std::vector<double>{}, 0); }, "quantile: got no q"},
        {[] {
             quantile(ones({2, 0}), 0.5, 1);
         },
         "quantile: axis 1 of [2, 0] is empty"},
        {[] { quantile(arange(3), 0.5, 0); }, "quantile: needs floating-point numbers, got i64"},
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
                  {[] { bincount(arange(3), -2); }, "bincount: minlength must be >= 0, got -2"},
                  {[] { bincount(ones({2})); }, "bincount: needs i64, got f32"},
                  {[] { bincount(Tensor()); }, "bincount: got an undefined tensor"}};
    return row;
}

std::vector<OpCase> searchsorted_rows() {
    const auto make = [](const char* variant, bool right, std::vector<Sample> samples) {
        OpCase row = op_case(
            "searchsorted", variant,
            [=](const Tensors& x) { return searchsorted(sort(x[0]).values, x[1], right); },
            [=](const auto& x) {
                auto y = x[1];
                const bool one_line = x[0].shape.rank() == 1;
                const std::int64_t n = x[0].shape.back();
                for (std::int64_t i = 0; i < y.size(); ++i) {
                    const std::int64_t line = one_line ? 0 : i / y.shape.back();
                    double count = 0;
                    for (std::int64_t j = 0; j < n; ++j) {
                        const auto& element = x[0][line * n + j];
                        count += element < x[1][i] || (right && !(x[1][i] < element)) ? 1 : 0;
                    }
                    y[i] = count;
                }
                return y;
            },
            std::move(samples));
        row.differentiable = false;
        return row;
    };
    OpCase left = make("", false,
                       {{{{9}}, {{3, 5}}},
                        {whole_numbers({20}, 0, 9), whole_numbers({2, 7}, -1, 10)},
                        {{{1}}, {{1}}},
                        {{{0}}, {{2}}},
                        {{{4}}, {{0, 2}}}});
    left.large = {{{700}}, {{70, 1000}}};
    left.errors = {
        {[] { searchsorted(ones({}), ones({2})); }, "searchsorted: the sorted tensor is a scalar"},
        {[] { searchsorted(ones({3}), ones({3}, DType::f64)); },
         "searchsorted: element types differ: f32 and f64"},
        {[] {
             searchsorted(ones({2, 3}), ones({3, 4}));
         },
         "searchsorted: [3, 4] has other axes before the last than [2, 3]"}};
    OpCase right = make("right, a line each", true,
                        {{{{3, 9}}, {{3, 5}}},
                         {whole_numbers({2, 20}, 0, 9), whole_numbers({2, 7}, -1, 10)},
                         {{{1, 1}}, {{1, 1}}},
                         {{{2, 0}}, {{2, 3}}},
                         {{{2, 3}}, {{2, 0}}}});
    return {left, right};
}

OpCase histc_row() {
    OpCase row = op_case(
        "histc", "", [](const Tensors& x) { return histc(x[0], 6, -1.5, 1.5); },
        [](const auto& x) {
            std::decay_t<decltype(x[0])> y({6});
            for (std::int64_t i = 0; i < x[0].size(); ++i) {
                for (std::int64_t bin = 0; bin < 6; ++bin) {
                    const double from = -1.5 + 0.5 * static_cast<double>(bin);
                    const bool below = x[0][i] < from + 0.5 || (bin == 5 && !(x[0][i] > 1.5));
                    if (!(x[0][i] < from) && below) y[bin] += 1;
                }
            }
            return y;
        },
        {{{{3, 50}}}, {{{1}}}, {{{}}}, {{{0, 2}}}});
    row.differentiable = false;
    row.errors = {
        {[] { histc(ones({2}), 0, 0, 1); }, "histc: the number of bins must be positive, got 0"},
        {[] { histc(ones({2}), 3, 1, 1); },
         "histc: the range must be finite and not empty, got [1, 1]"},
        {[] { histc(arange(3), 3, 0, 1); }, "histc: needs floating-point numbers, got i64"}};
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
    for (OpCase& row : searchsorted_rows()) rows.push_back(std::move(row));
    rows.push_back(histc_row());
    return rows;
}

// ---- selection ----------------------------------------------------------------------------------

namespace {

Tensors both(const Selection& selection) { return {selection.values, selection.indices}; }

OpCase topk_row(const char* variant, std::int64_t k, int axis, bool largest,
                std::vector<Sample> samples) {
    OpCase row = op_case(
        "topk", variant, [=](const Tensors& x) { return both(topk(x[0], k, axis, largest)); },
        [=](const auto& x) {
            const int along = axis < 0 ? axis + x[0].shape.rank() : axis;
            return reference::ordered(x[0], along, 0, k, largest);
        },
        std::move(samples));
    row.large = {{{40, 900}}};
    return row;
}

// Selects one element of each line: of n sorted elements the one at place(n).
template <class Op, class Place>
OpCase one_row(const char* name, const char* variant, int axis, bool keepdim, Op op, Place place,
               bool descending = false) {
    OpCase row = op_case(
        name, variant, [=](const Tensors& x) { return both(op(x[0], axis, keepdim)); },
        [=](const auto& x) {
            const int along = axis < 0 ? axis + x[0].shape.rank() : axis;
            auto results = reference::ordered(x[0], along, place(x[0].shape[along]), 1, descending);
            if (!keepdim) {
                for (auto& result : results) result.shape.erase(along);
            }
            return results;
        },
        {{{{3, 4, 5}}}, {{{3, 70, 7}}}, {{{3, 8, 2}}}});
    row.large = {{{40, 60, 50}}};
    row.errors = {
        {[=] {
             op(ones({2, 3}), 2, false);
         },
         std::string(name) + ": axis 2 is outside a tensor of rank 2"},
        {[=] { op(Tensor(), 0, false); }, std::string(name) + ": got an undefined tensor"}};
    return row;
}

// The two variants of a row whose lines may have any length but 0.
template <class Op, class Place>
void add_rows(std::vector<OpCase>& rows, const char* name, Op op, Place place,
              bool descending = false) {
    rows.push_back(one_row(name, "last axis", -1, false, op, place, descending));
    rows.back().samples.push_back({{{1, 1, 1}}});
    rows.back().samples.push_back({{{2, 0, 3}}});
    rows.back().errors.push_back({[=] {
                                      op(ones({2, 0}), 1, false);
                                  },
                                  std::string(name) + ": axis 1 of [2, 0] is empty"});
    rows.push_back(one_row(name, "first axis, keepdim", 0, true, op, place, descending));
    rows.back().samples.push_back({{{1, 1, 1}}});
    rows.back().samples.push_back({{{2, 0, 3}}});
}

void add_topk_rows(std::vector<OpCase>& rows) {
    const std::vector<Sample> edges{{{{2, 3, 5}}}, {{{4, 700}}}, {{{3}}}, {{{0, 3}}}};
    rows.push_back(topk_row("last axis", 3, -1, true, edges));
    rows.back().no_single = "k is 3";
    rows.push_back(topk_row("last axis, smallest", 2, -1, false, edges));
    rows.back().no_single = "k is 2";
    rows.push_back(topk_row("one of the first axis", 1, 0, true,
                            {{{{5, 3}}}, {{{300, 3}}}, {{{1}}}, {{{2, 0}}}}));
    rows.push_back(topk_row("none", 0, 0, true, {{{{5, 3}}}, {{{1}}}, {{{0}}}}));
    rows.push_back(topk_row("whole numbers", 20, -1, true,
                            {{whole_numbers({2, 400}, -9, 9)}, {whole_numbers({0, 20}, 0, 1)}}));
    rows.back().differentiable = false;
    rows.back().no_single = "k is 20";
    rows[0].errors = {{[] {
                           topk(ones({2, 3}), 4);
                       },
                       "topk: k = 4 is more than the size of axis -1 of [2, 3]"},
                      {[] { topk(ones({2}), -1); }, "topk: k must be >= 0, got -1"},
                      {[] { topk(ones({2}), 1, 1); }, "topk: axis 1 is outside a tensor of rank 1"},
                      {[] { topk(views::expand(ones({1}), {std::int64_t{1} << 32}), 1); },
                       "topk: axis -1 of [4294967296] is too long"},
                      {[] { topk(Tensor(), 1); }, "topk: got an undefined tensor"}};
}

void add_kthvalue_rows(std::vector<OpCase>& rows) {
    const auto third = [](const Tensor& x, int axis, bool keepdim) {
        return kthvalue(x, 3, axis, keepdim);
    };
    const auto place = [](std::int64_t) { return 2; };
    for (const bool keepdim : {false, true}) {
        rows.push_back(one_row("kthvalue", keepdim ? "first axis, keepdim" : "middle axis",
                               keepdim ? 0 : 1, keepdim, third, place));
        rows.back().samples.push_back({{keepdim ? Shape{3, 0, 2} : Shape{0, 3, 2}}});
        rows.back().no_single = "k is 3";
    }
    rows.back().errors.push_back(
        {[] {
             kthvalue(ones({2, 3}), 4);
         },
         "kthvalue: k = 4 is not a position from 1 to 3 along axis -1 of [2, 3]"});
    rows.back().errors.push_back({[] { kthvalue(ones({2}), 0); }, "kthvalue: k = 0 is not"});
}

OpCase median_of_all_row() {
    OpCase row = op_case(
        "median", "of all", [](const Tensors& x) { return median(x[0]); },
        [](const auto& x) {
            auto y = reference::ordered(reference::flat(x[0]), 0, (x[0].size() - 1) / 2, 1, false);
            y[0].shape = {};
            return y[0];
        },
        {{{{3, 5}}}, {{{2, 600}}}, {{{1}}}, {{{}}}});
    row.no_empty = "there is no median of nothing";
    row.errors = {{[] {
                       median(ones({0, 2}));
                   },
                   "median: axis 0 of [0] is empty"},
                  {[] { median(Tensor()); }, "median: got an undefined tensor"}};
    return row;
}

}  // namespace

std::vector<OpCase> selection_cases() {
    using T = const Tensor&;
    std::vector<OpCase> rows;
    add_topk_rows(rows);
    add_kthvalue_rows(rows);
    add_rows(
        rows, "median", [](T x, int a, bool k) { return median(x, a, k); },
        [](std::int64_t n) { return (n - 1) / 2; });
    rows.push_back(median_of_all_row());
    add_rows(
        rows, "max_with_indices", [](T x, int a, bool k) { return max_with_indices(x, a, k); },
        [](std::int64_t) { return 0; }, true);
    add_rows(
        rows, "min_with_indices", [](T x, int a, bool k) { return min_with_indices(x, a, k); },
        [](std::int64_t) { return 0; });
    return rows;
}

}  // namespace tapestry::catalog
