// Convolutions of sequences and images, computed as matrix products.
//
// All tensors are floating-point and share a dtype (DTypeError). Images are [N, C, H, W], a batch
// of N with C channels; sequences [N, C, L]. As in PyTorch, the kernel is not flipped
// (cross-correlation). Read next: convolution_loops.h (the sums), convolution.cpp (the gradients).
#pragma once

#include <tapestry/core/size_2d.h>
#include <tapestry/core/tensor.h>

namespace tapestry {

/// Options of conv1d(), in elements.
struct Conv1dOptions {
    std::int64_t stride = 1;    ///< from one position of the kernel to the next
    std::int64_t padding = 0;   ///< zeros on either side
    std::int64_t dilation = 1;  ///< from one element of the kernel to the next
    /// Number of groups of channels, which are convolved independently: output o reads the inputs
    /// of group floor(o groups / O). With as many groups as channels it is a depthwise convolution.
    std::int64_t groups = 1;
    /// Output p reads inputs up to p stride only: dilation (l - 1) zeros before the sequence and
    /// none after. `padding` must be 0.
    bool causal = false;
};

/// Options of conv2d(), in pixels; as Conv1dOptions, vertically and horizontally.
struct Conv2dOptions {
    Size2d stride = 1;    ///< from one place of the kernel to the next
    Size2d padding = 0;   ///< zeros on all four sides: rows above and below, columns left and right
    Size2d dilation = 1;  ///< from one pixel of the kernel to the next
    std::int64_t groups = 1;  ///< as in Conv1dOptions
};

/// y[n, o, p, q] = bias[o] + sum_c,i,j weight[o, c, i, j]
///                 x[n, c, p stride + i dilation - padding, q stride + j dilation - padding]
/// for x [N, C, H, W], weight [O, C / groups, h, w] and bias [O] or undefined, where x is 0 outside
/// the image: [N, O, P, Q] with P = floor((H + 2 padding - dilation (h - 1) - 1) / stride) + 1.
///
/// Gradient: the derivatives of sum(g y) with respect to x and weight, again convolutions; the bias
/// gets g summed over images and pixels. Throws ShapeError if shapes do not fit or the output would
/// have no pixel; ValueError for a stride or dilation that is not positive, a negative padding, or
/// groups that do not divide both numbers of channels.
/// Source: LeCun et al. 1989, "Backpropagation Applied to Handwritten Zip Code Recognition".
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv2dOptions& options = {});

/// The same along one axis: x [N, C, L], weight [O, C / groups, l]: [N, O, P].
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv1dOptions& options = {});

// ---- transposed ---------------------------------------------------------------------------------

/// Options of conv_transpose1d(): those of the convolution that it reverses.
struct ConvTranspose1dOptions {
    std::int64_t stride = 1;          ///< from one position of the kernel to the next
    std::int64_t padding = 0;         ///< elements cut off at either side
    std::int64_t output_padding = 0;  ///< elements added at the end, less than the stride
    std::int64_t groups = 1;          ///< as in Conv1dOptions
    std::int64_t dilation = 1;        ///< from one element of the kernel to the next
};

/// Options of conv_transpose2d(), in pixels.
struct ConvTranspose2dOptions {
    Size2d stride = 1;          ///< from one place of the kernel to the next
    Size2d padding = 0;         ///< pixels cut off at all four sides
    Size2d output_padding = 0;  ///< rows and columns added at the end, less than the stride
    std::int64_t groups = 1;    ///< as in Conv1dOptions
    Size2d dilation = 1;        ///< from one pixel of the kernel to the next
};

/// Every pixel of x adds its multiple of the kernel, `stride` apart: the adjoint of conv2d with
/// these options, which enlarges images. x [N, C, H, W] and weight [C, O / groups, h, w], bias [O]
/// or undefined, give [N, O, P, Q] with P = (H - 1) stride - 2 padding + dilation (h - 1) +
/// output_padding + 1.
///
/// Gradient: conv2d of g to x, and the weight's of conv2d with x and g exchanged. Throws ShapeError
/// if shapes do not fit or the output would have no pixel; ValueError as conv2d, and unless
/// output_padding is less than the stride (PyTorch also takes less than the dilation).
/// Source: Dumoulin and Visin 2016, "A guide to convolution arithmetic for deep learning",
/// section 4.
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose2dOptions& options = {});

/// The same along one axis: x [N, C, L], weight [C, O / groups, l]: [N, O, P].
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose1dOptions& options = {});

}  // namespace tapestry
