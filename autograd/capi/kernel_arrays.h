// The arrays that a kernel of the C ABI is called with. Internal to autograd/capi.
#pragma once

#include <tapestry/autograd/capi/buffers.h>
#include <tapestry/core/tensor.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace tapestry::capi {

/// What a kernel reads: pointers to the arrays, NULL for an undefined one, and their strides.
class Given {
public:
    explicit Given(Tensors arrays);
    const double* const* arrays() const { return pointers_.data(); }
    const std::ptrdiff_t* const* strides() const { return stride_pointers_.data(); }
    /// The first array, and its first element, that a callback has changed.
    std::optional<std::pair<std::size_t, std::size_t>> changed() const;

private:
    Tensors arrays_;
    std::vector<const double*> pointers_ = {};
    std::vector<std::vector<std::ptrdiff_t>> strides_ = {};
    std::vector<const std::ptrdiff_t*> stride_pointers_ = {};
    std::vector<std::vector<double>> before_ = {};
};

/// What it writes, between guards; NULL where `wanted` is false (empty: all are).
class Written {
public:
    Written(const std::vector<Shape>& shapes, double filling, const std::vector<bool>& wanted);
    double* const* arrays() const { return pointers_.data(); }
    /// Empty where it was not wanted.
    std::vector<std::vector<double>> now() const;
    /// The first array beyond which something was written.
    std::optional<std::size_t> beyond() const;

private:
    std::vector<bool> wanted_ = {};
    std::vector<Buffer> buffers_ = {};
    std::vector<double*> pointers_ = {};
};

/// What it writes, with slack behind each array: a kernel that writes a little beyond one does no
/// harm.
class Results {
public:
    explicit Results(const std::vector<Shape>& shapes);
    double* const* arrays() const { return pointers_.data(); }
    std::vector<std::vector<double>> taken();

private:
    std::vector<std::vector<double>> numbers_ = {};
    std::vector<double*> pointers_ = {};
};

}  // namespace tapestry::capi
