#include <tapestry/nn/train/flat_parameters.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/loop.h>

#include <algorithm>

namespace tapestry {

FlatParameters::FlatParameters(const Tensors& parameters, int processes) : processes_(processes) {
    require(!parameters.empty(), "data parallel: there are no parameters to train");
    dtype_ = parameters.front().dtype();
    for (const Tensor& p : parameters) {
        require<DTypeError>(p.dtype() == dtype_,
                            "data parallel: parameters are {} and {}; one type is needed", dtype_,
                            p.dtype());
        ends_.push_back(p.numel() + (ends_.empty() ? 0 : ends_.back()));
    }
}

Range FlatParameters::slice(int rank) const {
    const Range pieces = share_of((numel() + kGrain - 1) / kGrain, rank, processes_);
    return {std::min(pieces.begin * kGrain, numel()), std::min(pieces.end * kGrain, numel())};
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

Tensor FlatParameters::pack(const Tensors& tensors, Range range) const {
    Tensor numbers({range.size()}, dtype_);
    const std::span<std::byte> to = mutable_bytes_of(numbers);
    const std::size_t size = size_of(dtype_);
    for (const Part& part : parts(range)) {
        const Tensor from = dense(tensors[part.parameter]);
        const auto bytes = bytes_of(from).subspan(static_cast<std::size_t>(part.own.begin) * size,
                                                  static_cast<std::size_t>(part.own.size()) * size);
        std::copy(bytes.begin(), bytes.end(),
                  to.begin() + part.at * static_cast<std::int64_t>(size));
    }
    return numbers;
}

void FlatParameters::unpack(const Tensor& numbers, Range range, Tensors& into) const {
    const std::span<const std::byte> from = bytes_of(numbers);
    const std::size_t size = size_of(dtype_);
    for (const Part& part : parts(range)) {
        const auto bytes = from.subspan(static_cast<std::size_t>(part.at) * size,
                                        static_cast<std::size_t>(part.own.size()) * size);
        std::copy(bytes.begin(), bytes.end(),
                  mutable_bytes_of(into[part.parameter]).begin() +
                      part.own.begin * static_cast<std::int64_t>(size));
    }
}

std::span<const std::byte> bytes_of(const Tensor& x) {
    return visit_dtype(x.dtype(), [&](auto zero) {
        return std::as_bytes(
            std::span(x.data<decltype(zero)>(), static_cast<std::size_t>(x.numel())));
    });
}

std::span<std::byte> mutable_bytes_of(Tensor& x) {
    return visit_dtype(x.dtype(), [&](auto zero) {
        return std::as_writable_bytes(
            std::span(x.mutable_data<decltype(zero)>(), static_cast<std::size_t>(x.numel())));
    });
}

}  // namespace tapestry
