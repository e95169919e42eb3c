// Rows of the op table: reductions and vector norms. Definitions: reference/reduction.h; vectors of
// zeros: tests/ops/reduction_test.cpp.
#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/reduction_rows.h>
#include <tapestry/ops/reduction.h>

#include <limits>

namespace tapestry::catalog {
namespace {

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
    rows.push_back(op_case(
        "sum_to", "twice",
        [](const Tensors& x) {
            return sum_to(sum_to(x[0], {1, 3}), {3});
        },
        [](const auto& x) { return reference::sum_to(x[0], {3}); }, {{{{2, 3}}}}));
    rows.back().no_empty = "each variant has one shape";
    rows.back().no_single = rows.back().no_empty;
    rows.push_back(sum_to_row("inner axis", {4, 5, 3}, {5, 1}));
    rows.push_back(sum_to_row("scalar", {3, 4}, {}));
    rows.push_back(sum_to_row("one element", {1, 1}, {1}));
    rows.push_back(sum_to_row("empty", {0, 3}, {3}));
    rows.back().errors = {
        {[] {
             sum_to(ones({2, 3}), {2});
         },
         "sum_to: [2] does not broadcast to [2, 3]"},
        {[] {
             sum_to(ones({3}), {2, 3});
         },
         "sum_to: [2, 3] does not broadcast to [3]"},
        {[] { sum_to(arange(3), {}); }, "sum_to: needs floating-point numbers, got i64"}};
}

using ArgReductionFunction = std::function<Tensor(const Tensor&, int axis, bool keepdim)>;

OpCase arg_row(const char* name, const char* variant, int axis, bool keepdim,
               const ArgReductionFunction& op, const Generic<OfNumbers>& f) {
    OpCase row = op_case(
        name, variant, [=](const Tensors& x) { return op(x[0], axis, keepdim); },
        [=](const auto& x) {
            return reference::reduce(x[0], {axis < 0 ? axis + 3 : axis}, keepdim, f);
        },
        {{{{2, 3, 5}}}, {{{3, 70, 37}}}, {{{1, 1, 1}}}, {{{0, 2, 3}}}});
    row.differentiable = false;
    row.large = {{{40, 60, 50}}};
    return row;
}

void add_arg_rows(std::vector<OpCase>& rows, const std::string& name,
                  const ArgReductionFunction& op, const Generic<OfNumbers>& f) {
    rows.push_back(arg_row(name.c_str(), "last axis", -1, false, op, f));
    rows.push_back(arg_row(name.c_str(), "first axis", 0, true, op, f));
    rows.back().samples.back() = {{{2, 0, 3}}};
    rows.push_back(arg_row(name.c_str(), "middle axis", 1, false, op, f));
    rows.back().errors = {
        {[=] {
             op(ones({2, 0}), 1, false);
         },
         name + ": axis 1 of [2, 0] is empty"},
        {[=] { op(ones({2}), 1, false); }, name + ": axis 1 is outside a tensor of rank 1"},
        {[=] { op(ones({}), 1, false); }, name + ": axis 1 is outside a tensor of rank 0"},
        {[=] { op(Tensor(), 0, false); }, name + ": got an undefined tensor"}};
}

// Exact results, for i64 and masks over axis 0.
OpCase exact_row(const char* name, const char* variant, const ReductionFunction& op,
                 const Generic<OfNumbers>& f, std::vector<Sample> samples) {
    OpCase row = op_case(
        name, variant, [op](const Tensors& x) { return op(x[0], Axes{0}, false); },
        [f](const auto& x) { return reference::reduce(x[0], {0}, false, f); }, std::move(samples));
    row.differentiable = false;
    row.large = {whole_numbers({20'000, 3}, -99, 99)};
    return row;
}

const std::vector<Sample> kWholeNumbers{
    {whole_numbers({40, 3}, -9, 9)}, {whole_numbers({1}, -9, 9)}, {whole_numbers({2, 0}, 0, 1)}};
const std::vector<Sample> kMasks{{mask({3, 5})}, {mask({1})}, {mask({2, 0})}};

void add_exact_rows(std::vector<OpCase>& rows, const char* name, const ReductionFunction& op,
                    const Generic<OfNumbers>& f) {
    rows.push_back(exact_row(name, "of whole numbers", op, f, kWholeNumbers));
    rows.push_back(exact_row(name, "of a mask", op, f, kMasks));
}

void add_truth_rows(std::vector<OpCase>& rows) {
    using T = const Tensor&;
    const auto any_of = [](T x, const Axes& a, bool k) { return any(x, a, k); };
    const auto all_of = [](T x, const Axes& a, bool k) { return all(x, a, k); };
    const auto any_by_definition = [](const auto& v) { return reference::any(v); };
    const auto all_by_definition = [](const auto& v) { return reference::all(v); };
    const std::vector<Sample> masks{{mask({3, 5})}, {mask({2, 40})}, {mask({1})}, {mask({0, 2})}};
    rows.push_back(exact_row("any", "of a mask", any_of, any_by_definition, masks));
    rows.push_back(exact_row("all", "of a mask", all_of, all_by_definition, masks));
    const std::size_t first = rows.size();
    add_rows(rows, "any", any_of, any_by_definition, OfNothing::number);
    add_rows(rows, "all", all_of, all_by_definition, OfNothing::number);
    const auto count_of = [](T x, const Axes& a, bool k) { return count_nonzero(x, a, k); };
    const auto count_by_definition = [](const auto& v) {
        using Number = typename std::decay_t<decltype(v)>::value_type;
        Number count(0);
        for (const Number& value : v) count += Number(value == Number(0) ? 0 : 1);
        return count;
    };
    add_rows(rows, "count_nonzero", count_of, count_by_definition, OfNothing::number);
    rows.push_back(exact_row("count_nonzero", "of a mask", count_of, count_by_definition, masks));
    rows.push_back(exact_row("count_nonzero", "of whole numbers", count_of, count_by_definition,
                             kWholeNumbers));
    for (std::size_t i = first; i < rows.size(); ++i) rows[i].differentiable = false;
}

void add_spread_rows(std::vector<OpCase>& rows) {
    using T = const Tensor&;
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
        rows, "stddev", [](T x, const Axes& a, bool k) { return stddev(x, a, 0, k); },
        [](const auto& v) { return reference::stddev(v, 0); }, OfNothing::no_number);
    rows.back().errors.push_back(needs_floating("stddev", [] { stddev(arange(3)); }));
    rows.push_back(reduction_row(
        "stddev", "unbiased", {1}, false,
        [](T x, const Axes& a, bool k) { return stddev(x, a, 1, k); },
        [](const auto& v) { return reference::stddev(v, 1); }, OfNothing::no_number));
    rows.back().samples = {{{{2, 3, 5}}}, {{{3, 70, 37}}}, {{{0, 2, 3}}}};
    rows.back().no_single = "NaN; see reduction_test.cpp";
}

}  // namespace

std::vector<OpCase> reduction_cases() {
    using T = const Tensor&;
    std::vector<OpCase> rows;
    add_rows(
        rows, "sum", [](T x, const Axes& a, bool k) { return sum(x, a, k); },
        [](const auto& v) { return reference::sum(v); }, OfNothing::number);
    const auto sum_of = [](T x, const Axes& a, bool k) { return sum(x, a, k); };
    rows.push_back(exact_row("sum", "of a mask", sum_of,
                             [](const auto& v) { return reference::sum(v); },
                             {{mask({3, 5})}, {mask({1})}, {mask({0, 2})}}));
    rows.push_back(exact_row(
        "sum", "of whole numbers", sum_of, [](const auto& v) { return reference::sum(v); },
        kWholeNumbers));
    add_rows(
        rows, "mean", [](T x, const Axes& a, bool k) { return mean(x, a, k); },
        [](const auto& v) { return reference::mean(v); }, OfNothing::no_number);
    rows.back().errors.push_back(needs_floating("mean", [] { mean(arange(3)); }));
    add_rows(
        rows, "max", [](T x, const Axes& a, bool k) { return max(x, a, k); },
        [](const auto& v) { return reference::max(v); }, OfNothing::no_number);
    add_exact_rows(
        rows, "max", [](T x, const Axes& a, bool k) { return max(x, a, k); },
        [](const auto& v) { return reference::max(v); });
    rows.back().errors.push_back(
        {[] {
             max(zeros({2, 0}), {1});
         },
         "max: nothing to choose from: a reduced axis of [2, 0] is empty"});
    add_rows(
        rows, "min", [](T x, const Axes& a, bool k) { return min(x, a, k); },
        [](const auto& v) { return reference::min(v); }, OfNothing::no_number);
    add_exact_rows(
        rows, "min", [](T x, const Axes& a, bool k) { return min(x, a, k); },
        [](const auto& v) { return reference::min(v); });
    rows.back().errors.push_back(
        {[] { min(zeros({0})); }, "min: nothing to choose from: a reduced axis of [0] is empty"});
    add_spread_rows(rows);
    add_rows(
        rows, "logsumexp", [](T x, const Axes& a, bool k) { return logsumexp(x, a, k); },
        [](const auto& v) { return reference::logsumexp(v); }, OfNothing::number);
    rows.back().errors.push_back(needs_floating("logsumexp", [] { logsumexp(arange(3)); }));

    add_truth_rows(rows);
    add_arg_rows(
        rows, "argmax", [](T x, int a, bool k) { return argmax(x, a, k); },
        [](const auto& v) { return reference::argmax(v); });
    add_arg_rows(
        rows, "argmin", [](T x, int a, bool k) { return argmin(x, a, k); },
        [](const auto& v) { return reference::argmin(v); });
    add_sum_to_rows(rows);
    for (OpCase& row : rows) {
        if (row.name != "max" && row.name != "min") continue;
        row.no_half_gradient = "among hundreds of so few numbers the extreme is drawn twice";
    }
    return rows;
}

// ---- vector norms -------------------------------------------------------------------------------

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
