// Parameters as if they lay one behind the other, in buckets of a few megabytes, of which each
// process owns a part: all of these parts are its slice. So what a bucket's gradients are sent to
// is all processes and not one, whichever parameters are done first. Buckets and parts begin at
// multiples of kGrain numbers: the pieces of which sum_of_squares() makes a norm are then whole in
// one slice, and the norm has the bits that it has in one process.
// Internal to nn/data_parallel. Read next: gradients_underway.h, which sends buckets.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>

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

    std::size_t buckets() const;
    Range bucket(std::size_t number) const;
    /// What process `rank` is the owner of there. Empty for some where pieces are few.
    Range share(std::size_t bucket, int rank) const;
    /// How many numbers it owns in all, and how many pieces of kGrain that is.
    std::int64_t owned(int rank) const;
    std::int64_t pieces_owned(int rank) const;

    /// What of a parameter lies in a range.
    struct Part {
        std::size_t parameter;
        Range own;        ///< of its numbers
        std::int64_t at;  ///< where in the range, or in the slice
    };
    std::vector<Part> parts(Range range) const;
    std::vector<Part> parts(int rank) const;

    /// The numbers of a range, or of a slice, copied out of tensors of the parameters' shapes: [n].
    /// Those of a range are converted to `dtype`.
    Tensor pack(const Tensors& tensors, Range range, DType dtype) const;
    Tensor pack(const Tensors& tensors, int rank) const;
    /// And of a slice back into these.
    void unpack(const Tensor& numbers, int rank, Tensors& into) const;

private:
    std::int64_t pieces() const;
    Tensor packed(const Tensors& tensors, const std::vector<Part>& parts, std::int64_t n,
                  DType dtype) const;

    int processes_;
    std::int64_t bucket_pieces_;
    DType dtype_;
    std::vector<std::int64_t> ends_;
};

/// The bytes of a contiguous tensor.
std::span<const std::byte> bytes_of(const Tensor& x);
std::span<std::byte> mutable_bytes_of(Tensor& x);

}  // namespace tapestry
