#include <tapestry/nn/data_parallel/flat_parameters.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>

#include <algorithm>
#include <span>

namespace tapestry {

namespace {

// 4 MiB of f32: a few milliseconds on a fast network, and long compared with any latency.
constexpr std::int64_t kLargestBucket = 128;  // pieces
// One bucket remains to be sent after the backward pass: a small part of the total.
constexpr std::int64_t kFewestBuckets = 16;

}  // namespace

FlatParameters::FlatParameters(const Tensors& parameters, int processes) : processes_(processes) {
    require(!parameters.empty(), "data parallel: there are no parameters to train");
    dtype_ = parameters.front().dtype();
    for (const Tensor& p : parameters) {
        require<DTypeError>(p.dtype() == dtype_,
                            "data parallel: parameters must have one type, got {} and {}", dtype_,
                            p.dtype());
        ends_.push_back(p.numel() + (ends_.empty() ? 0 : ends_.back()));
    }
    const std::int64_t each = std::min(kLargestBucket, pieces() / kFewestBuckets) / processes;
    bucket_pieces_ = std::max<std::int64_t>(each, 1) * processes;  // the same for every process
}

std::int64_t FlatParameters::pieces() const { return (numel() + kGrain - 1) / kGrain; }

std::size_t FlatParameters::buckets() const {
    return static_cast<std::size_t>((pieces() + bucket_pieces_ - 1) / bucket_pieces_);
}

Range FlatParameters::bucket(std::size_t number) const {
    const std::int64_t length = bucket_pieces_ * kGrain;
    const std::int64_t begin = static_cast<std::int64_t>(number) * length;
    return {begin, std::min(begin + length, numel())};
}

Range FlatParameters::share(std::size_t bucket, int rank) const {
    const Range all = this->bucket(bucket);
    const Range own = share_of((all.size() + kGrain - 1) / kGrain, rank, processes_);
    return {std::min(all.begin + own.begin * kGrain, all.end),
            std::min(all.begin + own.end * kGrain, all.end)};
}

std::int64_t FlatParameters::owned(int rank) const {
    std::int64_t n = 0;
    for (std::size_t k = 0; k < buckets(); ++k) n += share(k, rank).size();
    return n;
}

std::int64_t FlatParameters::pieces_owned(int rank) const {
    return (owned(rank) + kGrain - 1) / kGrain;  // only the last piece of all may be partial
}

std::vector<FlatParameters::Part> FlatParameters::parts(int rank) const {
    std::vector<Part> all;
    std::int64_t at = 0;
    for (std::size_t k = 0; k < buckets(); ++k) {
        const Range own = share(k, rank);
        for (Part part : parts(own)) {
            part.at += at;
            all.push_back(part);
        }
        at += own.size();
    }
    return all;
}

std::vector<FlatParameters::Part> FlatParameters::parts(Range range) const {
    std::vector<Part> parts;
    const auto first = std::upper_bound(ends_.begin(), ends_.end(), range.begin);
    for (auto end = first; end != ends_.end(); ++end) {
        const std::int64_t start = end == ends_.begin() ? 0 : end[-1];
        if (start >= range.end) break;
        const Range own{std::max(range.begin, start) - start, std::min(range.end, *end) - start};
        if (own.size() == 0) continue;
        parts.push_back(
            {static_cast<std::size_t>(end - ends_.begin()), own, start + own.begin - range.begin});
    }
    return parts;
}

Tensor FlatParameters::pack(const Tensors& tensors, Range range, DType dtype) const {
    return packed(tensors, parts(range), range.size(), dtype);
}

Tensor FlatParameters::pack(const Tensors& tensors, int rank) const {
    return packed(tensors, parts(rank), owned(rank), dtype_);
}

Tensor FlatParameters::packed(const Tensors& tensors, const std::vector<Part>& parts,
                              std::int64_t n, DType dtype) const {
    Tensor numbers({n}, dtype);
    const std::span<std::byte> to = mutable_bytes_of(numbers);
    const std::size_t size = size_of(dtype);
    for (const Part& part : parts) {
        const Tensor from = dense(cast(tensors[part.parameter], dtype));
        const auto bytes = bytes_of(from).subspan(static_cast<std::size_t>(part.own.begin) * size,
                                                  static_cast<std::size_t>(part.own.size()) * size);
        std::copy(bytes.begin(), bytes.end(),
                  to.begin() + part.at * static_cast<std::int64_t>(size));
    }
    return numbers;
}

void FlatParameters::unpack(const Tensor& numbers, int rank, Tensors& into) const {
    const std::span<const std::byte> from = bytes_of(numbers);
    const std::size_t size = size_of(dtype_);
    for (const Part& part : parts(rank)) {
        const auto bytes = from.subspan(static_cast<std::size_t>(part.at) * size,
                                        static_cast<std::size_t>(part.own.size()) * size);
        std::copy(bytes.begin(), bytes.end(),
                  mutable_bytes_of(into[part.parameter]).begin() +
                      part.own.begin * static_cast<std::int64_t>(size));
    }
}

}  // namespace tapestry
