// Matrices of whole numbers of eight bits, with a scale for each row: a quarter of f32's memory,
// for models that are done learning. What they cost in precision is half a scale at most, in every
// weight; of weights that are normal with deviation s and a row's largest near 3 s, an eightieth of
// s. Read next: nn/layers/linear.h, which puts them into a model.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstdint>
#include <vector>

namespace tapestry {

/// Element [i, j] is scales[i] numbers[i * cols + j], with numbers from -127 to 127.
struct Int8Rows {
    std::int64_t rows = 0,             ///< of the matrix
        cols = 0;                      ///< of the matrix
    std::vector<std::int8_t> numbers;  ///< row-major, rows * cols of them
    std::vector<float> scales;         ///< one per row
};

/// The nearest to a matrix of f32 [rows, cols], ties to even: a row's scale is its largest size
/// over 127. Throws ShapeError, DTypeError; ValueError for a row that is not finite.
Int8Rows int8_rows(const Tensor& matrix);

/// x [..., cols] f32 -> [..., rows]: x W^T + b, summed in f32. A constant: there is no gradient,
/// and AutogradError is thrown where a tape follows x. With up to four rows, as when a text is
/// written token by token, W is read as it is; for more, some rows of it at a time become f32.
Tensor multiply_by_rows(const Tensor& x, const Int8Rows& w, const Tensor& bias = {});

}  // namespace tapestry
