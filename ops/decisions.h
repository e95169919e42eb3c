// What Op::decisions() is made of: on which side of a kink every element lies. For those who write
// ops.
#pragma once

#include <tapestry/core/create.h>
#include <tapestry/ops/comparison.h>

namespace tapestry {

/// How many of the conditions hold, element by element, as i64. They are results of comparisons
/// (contiguous) of one shape.
inline Tensor how_many(const Tensors& conditions) {
    Tensor count = zeros(conditions.at(0).shape(), DType::i64);
    std::int64_t* to = count.mutable_data<std::int64_t>();
    for (const Tensor& condition : conditions) {
        const bool* holds = condition.data<bool>();
        for (std::int64_t i = 0; i < count.numel(); ++i) to[i] += holds[i] ? 1 : 0;
    }
    return count;
}

/// 0 where a < b, 1 where a = b, 2 where a > b; b is a tensor or a number. NaN counts as below.
template <class B>
Tensor side_of(const Tensor& a, const B& b) {
    return how_many({ge(a, b), gt(a, b)});
}

}  // namespace tapestry
