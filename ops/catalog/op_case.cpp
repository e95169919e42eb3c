#include <tapestry/ops/catalog/op_case.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>

#include <algorithm>
#include <cmath>

namespace tapestry::catalog {
namespace {

// Casting would round toward zero and make 0 twice as frequent as any other number.
Tensor floor_of(const Tensor& x) {
    std::vector<std::int64_t> whole;
    for (const double value : x.to_vector<double>()) {
        whole.push_back(static_cast<std::int64_t>(std::floor(value)));
    }
    return tensor(whole, x.shape());
}

}  // namespace

double OpCase::tolerance(DType dtype) const {
    if (is_narrow(dtype)) return roundings * row_of(dtype).epsilon / 2;
    return dtype == DType::f32 ? tolerance_f32 : tolerance_f64;
}

reference::Arrays<double> OpCase::reference(const reference::Arrays<double>& inputs) const {
    reference::Arrays<Dual> dual;
    for (const reference::Array<double>& input : inputs) {
        dual.emplace_back(input.shape).data.assign(input.data.begin(), input.data.end());
    }
    reference::Arrays<double> values;
    for (const reference::Array<Dual>& result : dual_reference(dual)) {
        std::vector<double>& data = values.emplace_back(result.shape).data;
        std::transform(result.data.begin(), result.data.end(), data.begin(),
                       [](const Dual& x) { return x.value; });
    }
    return values;
}

std::vector<Sample> samples_of(std::initializer_list<std::initializer_list<Input>> samples) {
    return {samples.begin(), samples.end()};
}

std::vector<Sample> unary_samples(double low, double high) {
    return {{{{3, 5}, low, high}},
            {{{2, 3, 37}, low, high}},
            {{{1}, low, high}},
            {{{}, low, high}},
            {{{0, 3}, low, high}}};
}

Tensors make_inputs(const Sample& sample, DType dtype, std::uint64_t seed) {
    Generator generator(seed);
    Tensors inputs;
    for (const Input& input : sample) {
        // Drawn in f64 and rounded to `dtype`, so all dtypes test the same case.
        const Tensor drawn = uniform(input.shape, input.low, input.high, generator, DType::f64);
        if (input.kind == Kind::real) {
            inputs.push_back(cast(drawn, dtype));
        } else {
            const Tensor whole = floor_of(drawn);
            inputs.push_back(input.kind == Kind::whole ? whole : cast(whole, DType::boolean));
        }
    }
    return inputs;
}

}  // namespace tapestry::catalog
