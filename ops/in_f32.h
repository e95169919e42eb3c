// Ops on numbers of 16 bits that have no way of their own for them: the numbers are widened, the op
// is what it is for f32, and its result is rounded, once. The tape holds three entries for it, and
// what the op saves it saves as f32. For what no step of a training waits for. Internal to ops.
#pragma once

#include <tapestry/ops/cast.h>

namespace tapestry {

/// f(x...) computed in f32, of the type of the first x. An undefined x stays so.
template <class F, class... X>
Tensor in_f32(const F& f, const Tensor& first, const X&... rest) {
    const auto wide = [](const Tensor& x) { return x.defined() ? to(x, DType::f32) : x; };
    return to(f(wide(first), wide(rest)...), first.dtype());
}

}  // namespace tapestry
