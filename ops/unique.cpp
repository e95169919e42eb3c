// Both count on one thread: what is counted comes in the order of the values, or is added in place.
#include <tapestry/ops/unique.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/order_rows.h>

namespace tapestry {

Unique unique(const Tensor& x) {
    check_defined("unique", x);
    require<ShapeError>(x.numel() < std::int64_t{1} << 32, "unique: {} has too many elements",
                        x.shape());
    const Tensor from = dense(x);
    Tensor inverse(x.shape(), DType::i64);
    std::int64_t* place = inverse.mutable_data<std::int64_t>();
    std::vector<std::int64_t> counts;
    const Tensor values = visit_dtype(x.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* element = from.data<T>();
        std::vector<Ranked<T>> ranked;
        order_row(ranked, element, x.numel(), false);
        Tensor found({x.numel()}, x.dtype());
        T* to = found.mutable_data<T>();
        for (std::size_t i = 0; i < ranked.size(); ++i) {
            if (i == 0 || ranked[i].key != ranked[i - 1].key) {
                *to++ = element[ranked[i].index];
                counts.push_back(0);
            }
            ++counts.back();
            place[ranked[i].index] = static_cast<std::int64_t>(counts.size()) - 1;
        }
        return views::slice(found, 0, 0, static_cast<std::int64_t>(counts.size())).clone();
    });
    return {values, inverse, tensor(counts, {static_cast<std::int64_t>(counts.size())})};
}

Tensor bincount(const Tensor& x, std::int64_t minlength) {
    check_dtype("bincount", x, DType::i64);
    require(minlength >= 0, "bincount: minlength {} is negative", minlength);
    const Tensor from = dense(x);
    const std::int64_t* element = from.data<std::int64_t>();
    constexpr std::int64_t kTooLarge = std::int64_t{1} << 48;  // for any memory, and for a shape
    std::int64_t n = minlength;
    for (std::int64_t i = 0; i < x.numel(); ++i) {
        require(element[i] >= 0 && element[i] < kTooLarge,
                "bincount: element {} of {} is {}, not a number from 0 to 2^48 - 1", i, x.shape(),
                element[i]);
        n = std::max(n, element[i] + 1);
    }
    Tensor counts = zeros({n}, DType::i64);
    std::int64_t* count = counts.mutable_data<std::int64_t>();
    for (std::int64_t i = 0; i < x.numel(); ++i) ++count[element[i]];
    return counts;
}

}  // namespace tapestry
