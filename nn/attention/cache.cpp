#include <tapestry/nn/attention/cache.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/indexing.h>

#include <algorithm>

namespace tapestry {
namespace {

Tensor first(const Tensor& x, std::int64_t length) {  // [B, H, length, D]
    return x.defined() ? views::slice(x, 2, 0, length) : Tensor();
}

// Grows x to `wanted` tokens, keeping the first `length`.
void reserve(Tensor& x, const Tensor& like, std::int64_t length, std::int64_t wanted) {
    if (x.defined() && wanted <= x.size(2)) return;
    constexpr std::int64_t kSmallest = 32;
    Shape shape = like.shape();
    shape[2] = std::max({kSmallest, wanted, 2 * length});
    Tensor larger(shape, like.dtype());
    if (length > 0) views::slice(larger, 2, 0, length).copy_(first(x, length));
    x = larger;
}

void check_goes_with(const char* what, const Tensor& earlier, const Tensor& x) {
    require<ShapeError>(x.rank() == 4, "KeyValueCache: needs {} [B, H, T, D], got {}", what,
                        x.shape());
    const bool fits =
        !earlier.defined() || (earlier.dtype() == x.dtype() && earlier.size(0) == x.size(0) &&
                               earlier.size(1) == x.size(1) && earlier.size(3) == x.size(3));
    require<ShapeError>(fits, "KeyValueCache: {} {} {} do not match the earlier ones, {} {}", what,
                        x.dtype(), x.shape(), earlier.dtype(), earlier.shape());
}

}  // namespace

void KeyValueCache::append(const Tensor& keys, const Tensor& values) {
    require<AutogradError>(Tape::following({keys, values}) == nullptr,
                           "KeyValueCache: a tape records the keys or values, but a cache would "
                           "detach them; use it under a NoGradGuard");
    check_goes_with("keys", keys_, keys);
    check_goes_with("values", values_, values);
    require<ShapeError>(keys.size(2) == values.size(2), "KeyValueCache: {} keys for {} values",
                        keys.size(2), values.size(2));
    const std::int64_t end = length_ + keys.size(2);
    reserve(keys_, keys, length_, end);
    reserve(values_, values, length_, end);
    views::slice(keys_, 2, length_, end).copy_(keys);
    views::slice(values_, 2, length_, end).copy_(values);
    length_ = end;
}

Tensor KeyValueCache::keys() const { return first(keys_, length_); }
Tensor KeyValueCache::values() const { return first(values_, length_); }

void KeyValueCache::select(const Tensor& rows) {
    if (empty()) return;
    const NoGradGuard no_grad;
    keys_ = index_select(keys_, 0, rows);
    values_ = index_select(values_, 0, rows);
    if (latest_.defined()) latest_ = index_select(latest_, 0, rows);
}

}  // namespace tapestry
