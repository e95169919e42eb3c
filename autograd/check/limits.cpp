#include <tapestry/autograd/check/limits.h>

#include <tapestry/autograd/check/compare.h>
#include <tapestry/core/error.h>

#include <algorithm>
#include <cmath>

namespace tapestry::checker {
namespace {

using Values = std::vector<double>;

void require_inside(const Bounds& bounds, double x, const std::string& name, const Shape& shape,
                    std::size_t i) {
    const std::string index = index_text(shape, static_cast<std::int64_t>(i));
    require(bounds.low <= bounds.high, "gradcheck: {} {}: no number lies in its bounds [{}, {}]",
            name, index, bounds.low, bounds.high);
    require(x >= bounds.low && x <= bounds.high,
            "gradcheck: {} {} = {} is outside its bounds [{}, {}]", name, index, x, bounds.low,
            bounds.high);
}

}  // namespace

std::vector<Box> Box::of(const NamedTensors& leaves, const std::vector<Bounds>& bounds) {
    std::ptrdiff_t numbers = 0;
    for (const auto& [name, leaf] : leaves) numbers += leaf.numel();
    const bool one_each = bounds.size() > 1;
    require<ShapeError>(!one_each || static_cast<std::ptrdiff_t>(bounds.size()) == numbers,
                        "gradcheck: {} bounds for {} numbers; give one for all, or one each",
                        bounds.size(), numbers);
    std::vector<Box> boxes;
    auto from = bounds.begin();
    for (const auto& [name, leaf] : leaves) {
        const auto end = one_each ? from + static_cast<std::ptrdiff_t>(leaf.numel()) : bounds.end();
        const Box& box = boxes.emplace_back(std::vector<Bounds>(from, end));
        if (one_each) from = end;
        if (bounds.empty()) continue;
        const Values x = leaf.to_vector<double>();
        for (std::size_t i = 0; i < x.size(); ++i) {
            require_inside(box.of(i), x[i], name, leaf.shape(), i);
        }
    }
    return boxes;
}

bool Box::contains(std::span<const double> x) const {
    if (bounds_.empty()) return true;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] < of(i).low || x[i] > of(i).high) return false;
    }
    return true;
}

Values Box::nearest(Values x) const {
    for (std::size_t i = 0; i < x.size() && !bounds_.empty(); ++i) {
        x[i] = std::clamp(x[i], of(i).low, of(i).high);
    }
    return x;
}

Reach Box::reach(const Values& x, const Values& u) const {
    Reach reach;
    for (std::size_t i = 0; i < x.size() && !bounds_.empty(); ++i) {
        if (u[i] == 0) continue;
        const double down = (x[i] - of(i).low) / std::abs(u[i]);
        const double up = (of(i).high - x[i]) / std::abs(u[i]);
        reach.below = std::min(reach.below, u[i] > 0 ? down : up);
        reach.above = std::min(reach.above, u[i] > 0 ? up : down);
    }
    return reach;
}

// Steps begin at 1/128 of u: there should be room for twice that.
Values Box::inwards(const Values& x, Values u, std::uint64_t seed) const {
    constexpr double kRoom = 0x1p-6;
    if (bounds_.empty()) return u;
    const Values signs = random_signs(x.size(), seed);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double down = x[i] - of(i).low, up = of(i).high - x[i];
        if (std::min(down, up) >= kRoom * std::abs(u[i])) continue;
        const double size = std::min(std::abs(u[i]), std::max(down, up) / kRoom);
        u[i] = std::copysign(size, up - down) * (signs[i] > 0 ? 1 : 0.5);
    }
    return u;
}

Budget::Budget(const GradcheckLimits& limits)
    : allowed_(limits.evaluations), seconds_(limits.seconds) {
    require(allowed_ > 0, "gradcheck: limits.evaluations must be positive, got {}", allowed_);
    require(seconds_ > 0, "gradcheck: limits.seconds must be positive, got {}", seconds_);
}

void Budget::spend() {
    if (evaluations_ >= allowed_) throw Spent{fmt::format("the limit of {} evaluations", allowed_)};
    const std::chrono::duration<double> passed = Clock::now() - start_;
    if (passed.count() >= seconds_) throw Spent{fmt::format("the limit of {} seconds", seconds_)};
    ++evaluations_;
}

}  // namespace tapestry::checker
