#include <tapestry/autograd/capi/buffers.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tapestry::capi {
namespace {

using Values = std::vector<double>;

constexpr std::size_t kGuards = 8;         // on either side
constexpr double kGuard = -7.7357589e123;  // no result is this number

// Usually they are: much faster than one after the other.
bool are_same(const double* a, const double* b, std::size_t n) {
    return n == 0 || std::memcmp(a, b, n * sizeof(double)) == 0;
}

}  // namespace

bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

Buffer::Buffer(const Values& numbers)
    : numbers_(numbers), memory_(numbers.size() + 2 * kGuards, kGuard) {
    std::copy(numbers.begin(), numbers.end(), memory_.begin() + kGuards);
}

double* Buffer::data() { return memory_.data() + kGuards; }

Values Buffer::now() const {
    return {memory_.begin() + kGuards, memory_.end() - static_cast<std::ptrdiff_t>(kGuards)};
}

bool Buffer::has_its_guards() const {
    const auto is_guard = [](double value) { return same_bits(value, kGuard); };
    const auto end = memory_.end() - static_cast<std::ptrdiff_t>(kGuards);
    return std::all_of(memory_.begin(), memory_.begin() + kGuards, is_guard) &&
           std::all_of(end, memory_.end(), is_guard);
}

std::optional<std::size_t> Buffer::changed() const {
    if (are_same(memory_.data() + kGuards, numbers_.data(), numbers_.size())) return {};
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
        if (!same_bits(memory_[kGuards + i], numbers_[i])) return i;
    }
    return {};
}

void Buffer::spoil() { std::fill(memory_.begin(), memory_.end(), std::nan("")); }

std::optional<std::size_t> unwritten(const Values& with_zeros, const Values& with_ones) {
    for (std::size_t i = 0; i < with_ones.size(); ++i) {
        if (same_bits(with_ones[i], 1) && same_bits(with_zeros[i], 0)) return i;
    }
    return {};
}

double apart(const Values& a, const Values& b) {
    if (a.size() == b.size() && are_same(a.data(), b.data(), a.size())) return 0;
    double most = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
            if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
            return 1;
        }
        most = std::max(most, std::abs(a[i] - b[i]));
        size = std::max({size, std::abs(a[i]), std::abs(b[i])});
    }
    return size > 0 ? most / size : 0;
}

}  // namespace tapestry::capi
