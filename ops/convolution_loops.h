// The three sums behind a convolution and its gradients, on raw data. With x [N, C, H, W], w
// [O, C / G, h, w] and g [N, O, P, Q] they are the derivatives of one number,
//
//     L(x, w, g) = sum g[n, o, p, q] w[o, c, i, j] x[n, c, p stride + i dilation - padding, ...]:
//
// the convolution is dL/dg, its gradients are dL/dx and dL/dw, and since L is linear in each, the
// gradients of any one of the three are the other two. Read next: convolution.cpp, which records
// them. Internal to ops.
#pragma once

#include <tapestry/ops/windows.h>

namespace tapestry::convolution {

/// Checked shapes and options of a convolution.
struct Plan {
    Shape input;   ///< [N, C, H, W]
    Shape weight;  ///< [O, C / G, h, w]
    Shape output;  ///< [N, O, P, Q]
    Windows windows;
    std::int64_t groups = 1;

    /// Multiplications in each of the three sums.
    double products() const;
};

/// dL/dg + bias: the convolution, [N, O, P, Q]. `bias` [O] may be undefined.
Tensor output(const Tensor& x, const Tensor& weight, const Tensor& bias, const Plan& plan);

/// dL/dx, [N, C, H, W]
Tensor to_input(const Tensor& grad, const Tensor& weight, const Plan& plan);

/// dL/dw, [O, C / G, h, w]: summed over images in order, in pieces that depend only on the shapes.
Tensor to_weight(const Tensor& x, const Tensor& grad, const Plan& plan);

}  // namespace tapestry::convolution
