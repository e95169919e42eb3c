// Rows of the op table: a few of each line. Definitions: reference/order.h.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/order.h>
#include <tapestry/ops/selection.h>

namespace tapestry::catalog {
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

// One of each line, of n elements in order the one at place(n).
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

// The two forms of a row whose lines may have any length but 0.
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
                       "topk: k = 4 is more than axis -1 of [2, 3] holds"},
                      {[] { topk(ones({2}), -1); }, "topk: k = -1 is negative"},
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
         "kthvalue: k = 4 is not a place from 1 to 3 along axis -1 of [2, 3]"});
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
