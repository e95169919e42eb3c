#include <tapestry/core/create.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/sampling.h>
#include <tapestry/ops/sampling.h>

namespace tapestry::catalog {
namespace {

constexpr std::uint64_t kSeed = 7;

OpCase multinomial_row(const char* variant, std::int64_t n, bool replacement) {
    const auto weights = [](const Shape& shape) { return Sample{{shape, 0, 1}}; };
    OpCase row = op_case(
        "multinomial", variant,
        [=](const Tensors& x) {
            Generator generator(kSeed);
            return multinomial(x[0], n, replacement, generator);
        },
        [=](const auto& x) { return reference::multinomial(x[0], n, replacement, kSeed); },
        {weights({3, 5}), weights({2, 3, 37}), weights({4}), weights({0, 4})});
    row.no_single = n > 1 ? "one category cannot be drawn twice without replacement" : "";
    if (n == 1) row.samples.push_back(weights({1}));
    row.differentiable = false;
    row.large = weights({50, 700});
    return row;
}

}  // namespace

std::vector<OpCase> sampling_cases() {
    std::vector<OpCase> rows{
        multinomial_row("one", 1, false), multinomial_row("without replacement", 3, false),
        multinomial_row("replacement", 1, true), multinomial_row("replacement, many", 9, true)};
    rows[3].no_single = {};
    rows[3].samples.push_back({{{1}, 0.5, 1}});
    const auto draw = [](const Tensor& weights, std::int64_t n = 1, bool replacement = false) {
        return [=] { multinomial(weights, n, replacement); };
    };
    const Tensor one_off = tensor<float>({{1, 2}, {3, -1}});
    rows[0].errors = {
        {draw(one_off), "multinomial: weight 1 of row 1 is -1; weights must be finite and >= 0"},
        {draw(full({2}, NAN)), "multinomial: weight 0 of row 0 is nan;"},
        {draw(full({2}, INFINITY)), "multinomial: weight 0 of row 0 is inf;"},
        {draw(full({2}, 1e308, DType::f64)),
         "multinomial: the weights of row 0 add up to infinity"},
        {draw(zeros({2, 3})), "multinomial: row 0 has no weight above 0"},
        {draw(ones({2, 0})), "multinomial: row 0 has no weight above 0"},
        {draw(tensor<float>({1, 0, 2}), 3),
         "multinomial: 3 draws without replacement from the 2 weights above 0 of row 0"},
        {draw(ones({3}), 0), "multinomial: needs at least 1 draw, got 0"},
        {draw(scalar(1)), "multinomial: needs weights [..., K], got []"},
        {draw(arange(3)), "multinomial: needs floating-point numbers, got i64"},
        {draw(Tensor()), "multinomial: got an undefined tensor"}};
    return rows;
}

}  // namespace tapestry::catalog
