// Parameters as one flat array, cut into buckets of a few megabytes. Each process owns a part of
// every bucket, and these parts are its slice. So every bucket goes to all processes instead of
// one, whichever parameters finish first. Buckets and parts begin at multiples of kGrain numbers:
// the pieces from which sum_of_squares() forms a norm then lie within one slice, and the norm has
// the same bits as in one process. Internal to nn/data_parallel. Read next: gradient_exchange.h,
// which sends buckets.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapestry {

class FlatParameters {
public:
    /// Throws DTypeError unless all have the same floating-point type, and ValueError if there are
    /// none.
    FlatParameters(const Tensors& parameters, int processes);

    std::int64_t numel() const { return ends_.back(); }
    DType dtype() const { return dtype_; }

    std::size_t buckets() const;
    Range bucket(std::size_t number) const;
    /// The part of a bucket that process `rank` owns. May be empty if there are few pieces.
    Range share(std::size_t bucket, int rank) const;
    /// The total of numbers that it owns, and of pieces of kGrain numbers.
    std::int64_t owned(int rank) const;
    std::int64_t pieces_owned(int rank) const;

    /// The part of a parameter that lies in a range.
    struct Part {
        std::size_t parameter;
        Range own;        ///< of the parameter's numbers
        std::int64_t at;  ///< offset within the range or slice
    };
    std::vector<Part> parts(Range range) const;
    std::vector<Part> parts(int rank) const;

    /// Copies the numbers of a range, or of a slice, out of tensors with the parameters' shapes:
    /// [n]. Those of a range are converted to `dtype`.
    Tensor pack(const Tensors& tensors, Range range, DType dtype) const;
    Tensor pack(const Tensors& tensors, int rank) const;
    /// Copies the numbers of a slice back.
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

}  // namespace tapestry
