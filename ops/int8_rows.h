// int8 matrices with a scale per row: a quarter of f32's memory, for inference, and for weights
// that training leaves as they are (LoRA). The error is at most half a scale per weight; for normal
// weights with deviation s, whose largest in a row is near 3 s, about s / 80.
// Read next: nn/layers/linear.h, which uses them in a model.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace tapestry {

/// Element [i, j] is scales[i] numbers[i * cols + j], with numbers in [-127, 127].
struct Int8Rows {
    std::int64_t rows = 0,             ///< of the matrix
        cols = 0;                      ///< of the matrix
    std::vector<std::int8_t> numbers;  ///< row-major, rows * cols of them
    std::vector<float> scales;         ///< one per row
};

/// Rounds an f32 matrix [rows, cols] to the nearest int8 rows, ties to even; a row's scale is its
/// largest absolute value over 127. Throws ShapeError, DTypeError, and ValueError for a row that is
/// not finite.
Int8Rows int8_rows(const Tensor& matrix);

/// x [..., cols] f32 -> [..., rows]: x W^T + b, summed in f32. Has no gradient; throws
/// AutogradError if a tape follows x. With up to four rows of x, as when generating token by token,
/// W is read as int8; for more, a block of its rows at a time is converted to f32.
Tensor multiply_by_rows(const Tensor& x, const Int8Rows& w, const Tensor& bias = {});

/// The same, which a tape records and keeps w for. Gradient: g W to x, g summed over rows to the
/// bias; w has none.
Tensor multiply_by_rows(const Tensor& x, const std::shared_ptr<const Int8Rows>& w,
                        const Tensor& bias = {});

/// The f32 matrix [rows, cols] that the rows stand for.
Tensor matrix_of(const Int8Rows& w);

}  // namespace tapestry
