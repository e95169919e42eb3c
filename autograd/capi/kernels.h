// Kernels over the C ABI: several arrays in and out, of any layout in memory, some without a
// cotangent or without a wanted gradient. A vjp is right for contiguous arrays that are all there
// in every comparison with differences, and wrong in a training run. Internal to autograd/capi.
// Read next: kernels.cpp; autograd/check/conventions.h, the same for entries of a tape.
#pragma once

#include <tapestry/autograd/check/precision.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::capi {

/// A kernel and its vjp for raw memory; they throw what the status of the callback says.
struct Kernel {
    using Arrays = const double* const*;
    using Strides = const std::ptrdiff_t* const*;

    std::function<void(Arrays inputs, Strides strides, double* const* results)> f;
    std::function<void(Arrays inputs, Strides strides, Arrays cotangents, Strides cotangent_strides,
                       double* const* gradients)>
        vjp;
    std::vector<Shape> inputs;   ///< their shapes
    std::vector<Shape> results;  ///< their shapes
};

/// The kernel as a function of contiguous inputs with one result, all results joined. The kernel
/// must outlive it.
PlainRule contiguous_rule(const Kernel& kernel);

/// A sentence for each convention that the kernel breaks at x: results written beyond their ends,
/// added to or not written at all; arguments overwritten; a second call; inputs and cotangents that
/// are transposed, between other numbers, with gaps, or with a stride of 0; a cotangent that is
/// NULL; gradients that are not wanted; one array as two inputs.
std::vector<std::string> broken_conventions(const Kernel& kernel, const PlainInputs& x);

}  // namespace tapestry::capi
