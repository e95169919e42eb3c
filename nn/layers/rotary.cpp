#include <tapestry/nn/layers/rotary.h>

#include <tapestry/core/at_fork.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>

#include <algorithm>
#include <cmath>
#include <shared_mutex>
#include <vector>

namespace tapestry {

namespace {

// Shared by all who hold a table's lock, so fork() can wait for them.
std::shared_mutex& fork_gate() {
    static std::shared_mutex& gate = []() -> std::shared_mutex& {
        memory_statistics();  // the allocator's lock, which is taken below this one, comes first
        auto* const made = new std::shared_mutex;
        detail::hold_across_fork(*made);
        return *made;
    }();
    return gate;
}

}  // namespace

Tensors GrowingTable::at_least(std::int64_t length, DType dtype) const {
    const std::shared_lock no_fork(fork_gate());
    const std::lock_guard lock(mutex_);
    const bool is_short = length_ < length;
    if (tables_.empty() || is_short || tables_.front().dtype() != dtype) {
        if (is_short) length_ = std::max(length, 2 * length_);
        tables_ = make_(length_, dtype);
    }
    return tables_;
}

namespace {

void check_base(double base) {
    require(base > 0 && std::isfinite(base), "rotary: base must be positive and finite, got {}",
            base);
}

void check_first(std::int64_t first) {
    require(first >= 0, "rotary: first position must be >= 0, got {}", first);
}

std::int64_t checked_width(std::int64_t width, const RotaryConfig& c) {
    check_base(c.base);
    require(c.share > 0 && c.share <= 1, "rotary: the share must be in (0, 1], got {}", c.share);
    const auto turned = static_cast<std::int64_t>(c.share * static_cast<double>(width));
    require(turned >= 2 && turned % 2 == 0,
            "rotary: numbers are rotated in pairs, but a share of {} of a head's {} numbers is {}",
            c.share, width, turned);
    return turned;
}

// For positions first, first + 1, ...: [length, turned / 2] each. Angles in double: at position
// 100,000 float rounding would be visible.
Tensors cos_and_sin(std::int64_t first, std::int64_t length, std::int64_t turned, double base,
                    DType dtype) {
    const std::int64_t pairs = turned / 2;
    std::vector<double> frequencies;
    for (std::int64_t i = 0; i < pairs; ++i) {
        const double power = 2 * static_cast<double>(i) / static_cast<double>(turned);
        frequencies.push_back(1 / std::pow(base, power));
    }
    std::vector<double> cos, sin;
    for (std::int64_t t = first; t < first + length; ++t) {
        for (const double frequency : frequencies) {
            const double angle = static_cast<double>(t) * frequency;
            cos.push_back(std::cos(angle));
            sin.push_back(std::sin(angle));
        }
    }
    return {cast(tensor(cos, {length, pairs}), dtype), cast(tensor(sin, {length, pairs}), dtype)};
}

}  // namespace

Tensor rotary(const Tensor& x, std::int64_t first, double base) {
    require<ShapeError>(x.defined() && x.rank() >= 2 && x.size(-1) % 2 == 0,
                        "rotary: needs [..., T, D] with an even D, got {}", x.shape());
    check_first(first);
    check_base(base);
    const Tensors table =
        cos_and_sin(first, x.size(-2), x.size(-1), base, compute_dtype(x.dtype()));
    return rotary(x, table[0], table[1]);
}

RotaryPositions::RotaryPositions(std::int64_t width, const RotaryConfig& config)
    : turned_(checked_width(width, config)),
      pairs_(config.pairs),
      tables_([turned = turned_, base = config.base](std::int64_t length, DType dtype) {
          return cos_and_sin(0, length, turned, base, dtype);
      }) {}

Tensor RotaryPositions::operator()(const Tensor& x, std::int64_t first) const {
    require<ShapeError>(x.defined() && x.rank() >= 2 && x.size(-1) >= turned_,
                        "rotary: needs [..., T, D] with D >= {}, got {}", turned_, x.shape());
    check_first(first);
    const std::int64_t end = first + x.size(-2);
    const Tensors tables = tables_.at_least(end, compute_dtype(x.dtype()));
    return rotary(x, views::slice(tables[0], 0, first, end), views::slice(tables[1], 0, first, end),
                  pairs_);
}

}  // namespace tapestry
