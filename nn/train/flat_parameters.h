// Parameters as if they lay one behind the other, cut into a slice for each process. A slice begins
// at a multiple of kGrain numbers: the pieces of which sum_of_squares() makes a norm are then whole
// in one slice, and the norm has the bits that it has in one process.
// Internal to nn/train. Read next: data_parallel.h, which sends slices.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/nn/train/gradient_sum.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tapestry {

class FlatParameters {
public:
    /// Throws DTypeError unless all are of one floating type, and ValueError if there are none.
    FlatParameters(const Tensors& parameters, int processes);

    std::int64_t numel() const { return ends_.back(); }
    DType dtype() const { return dtype_; }
    /// What process `rank` is the owner of. Empty if there are more processes than pieces.
    Range slice(int rank) const;

    /// What of a parameter lies in a range.
    struct Part {
        std::size_t parameter;
        Range own;        ///< of its numbers
        std::int64_t at;  ///< where in the range
    };
    std::vector<Part> parts(Range range) const;

    /// The numbers of a range, copied out of tensors of the parameters' shapes: [n].
    Tensor pack(const Tensors& tensors, Range range) const;
    /// And back into these.
    void unpack(const Tensor& numbers, Range range, Tensors& into) const;

private:
    int processes_;
    DType dtype_;
    std::vector<std::int64_t> ends_;
};

/// The bytes of a contiguous tensor.
std::span<const std::byte> bytes_of(const Tensor& x);
std::span<std::byte> mutable_bytes_of(Tensor& x);

}  // namespace tapestry
