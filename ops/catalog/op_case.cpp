#include <tapestry/ops/catalog/op_case.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/random.h>

namespace tapestry::catalog {

Tensors make_inputs(const Sample& sample, DType dtype, std::uint64_t seed) {
    Generator generator(seed);
    Tensors inputs;
    for (const Input& input : sample) {
        // Drawn in f64 and rounded to f32, so that both types see the same case.
        const Tensor drawn = uniform(input.shape, input.low, input.high, generator, DType::f64);
        if (input.kind == Kind::real) {
            inputs.push_back(cast(drawn, dtype));
        } else {
            const Tensor whole = cast(drawn, DType::i64);  // [low, high) for low >= 0
            inputs.push_back(input.kind == Kind::index ? whole : cast(whole, DType::boolean));
        }
    }
    return inputs;
}

}  // namespace tapestry::catalog
