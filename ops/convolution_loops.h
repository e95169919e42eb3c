// The three sums that a convolution and its gradients are, over plain memory. With x [N, C, H, W],
// w [O, C / G, h, w] and g [N, O, P, Q] they are derivatives of one number,
//
//     L(x, w, g) = sum g[n, o, p, q] w[o, c, i, j] x[n, c, p stride + i dilation - padding, ...]:
//
// the convolution is dL/dg, its gradients are dL/dx and dL/dw, and since L is linear in each, the
// gradients of any one of the three are the other two. Read next: convolution.cpp, which says this
// to the tape. Internal to ops.
#pragma once

#include <tapestry/ops/windows.h>

namespace tapestry::convolution {

/// What is convolved with what, checked.
struct Plan {
    Shape input;   ///< [N, C, H, W]
    Shape weight;  ///< [O, C / G, h, w]
    Shape output;  ///< [N, O, P, Q]
    Windows windows;
    std::int64_t groups = 1;

    /// Multiplications of each of the three.
    double products() const;
};

/// dL/dg + bias: the convolution, [N, O, P, Q]. The bias [O] may be undefined.
Tensor output(const Tensor& x, const Tensor& weight, const Tensor& bias, const Plan& plan);

/// dL/dx, [N, C, H, W]
Tensor to_input(const Tensor& grad, const Tensor& weight, const Plan& plan);

/// dL/dw, [O, C / G, h, w]: summed over images in their order, in pieces that depend on the shapes
/// alone.
Tensor to_weight(const Tensor& x, const Tensor& grad, const Plan& plan);

}  // namespace tapestry::convolution
