#include <tapestry/ops/catalog/op_case.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>

#include <cmath>

namespace tapestry::catalog {
namespace {

// A conversion would round towards zero, and draw that twice as often as any other number.
Tensor floor_of(const Tensor& x) {
    std::vector<std::int64_t> whole;
    for (const double value : x.to_vector<double>()) {
        whole.push_back(static_cast<std::int64_t>(std::floor(value)));
    }
    return tensor(whole, x.shape());
}

}  // namespace

Tensors make_inputs(const Sample& sample, DType dtype, std::uint64_t seed) {
    Generator generator(seed);
    Tensors inputs;
    for (const Input& input : sample) {
        // Drawn in f64 and rounded to f32, so that both types see the same case.
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
