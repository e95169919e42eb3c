// Tensors with values. Names and meaning are NumPy's and PyTorch's.
#pragma once

#include <tapestry/core/tensor.h>

#include <vector>

namespace tapestry {

Tensor empty(const Shape& shape, DType dtype = DType::f32);
Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);

/// 0, 1, ..., n - 1
Tensor arange(std::int64_t n, DType dtype = DType::i64);

/// n x n with ones on the diagonal.
Tensor eye(std::int64_t n, DType dtype = DType::f32);

/// Rank 0.
Tensor scalar(double value, DType dtype = DType::f32);

/// `values` in row-major order. Throws ShapeError when their number is not that of the shape.
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape) {
    Tensor result(shape, dtype_of<T>());
    require<ShapeError>(static_cast<std::int64_t>(values.size()) == result.numel(),
                        "tensor: {} values for shape {}", values.size(), shape);
    T* to = result.mutable_data<T>();
    for (const T value : values) *to++ = value;
    return result;
}

/// A vector.
template <class T>
Tensor tensor(std::initializer_list<T> values) {
    return tensor(std::vector<T>(values), {static_cast<std::int64_t>(values.size())});
}

/// A matrix: tensor<float>({{1, 2}, {3, 4}}).
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows) {
    std::vector<T> values;
    const std::size_t columns = rows.size() == 0 ? 0 : rows.begin()->size();
    for (const auto& row : rows) {
        require<ShapeError>(row.size() == columns, "tensor: rows of {} and {} values", columns,
                            row.size());
        values.insert(values.end(), row.begin(), row.end());
    }
    return tensor(values,
                  {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns)});
}

}  // namespace tapestry
