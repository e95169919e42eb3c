// Repeating in three steps: reshape to [outer, 1, inner], expand, which copies nothing, and merge,
// which copies.
#include <tapestry/ops/rearrange.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/subview.h>
#include <tapestry/ops/view.h>

#include <fmt/format.h>

#include <array>
#include <limits>
#include <numeric>

namespace tapestry {

// ---- flip and roll ------------------------------------------------------------------------------

namespace {
struct FlipView {
    static constexpr const char* kName = "flip";
    std::vector<int> axes;

    std::string attributes() const { return fmt::format("axes={}", fmt::join(axes, ",")); }
    Tensor operator()(const Tensor& x) const {
        constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::min();
        Tensor y = x.detach();
        for (const int axis : axes) y = views::slice(y, axis, -1, kBeforeAll, -1);
        return y;
    }
};
}  // namespace

Tensor flip(const Tensor& x, const std::vector<int>& axes) {
    check_defined("flip", x);
    std::array<bool, Shape::kMaxRank> seen{};
    for (const int named : axes) {
        const int axis = normalize_axis("flip", named, x.rank());
        require<ShapeError>(!std::exchange(seen[static_cast<std::size_t>(axis)], true),
                            "flip: axis {} is named twice", named);
    }
    return take_part(x, FlipView{axes});
}

Tensor roll(const Tensor& x, std::int64_t shift, int axis) {
    check_defined("roll", x);
    const int a = normalize_axis("roll", axis, x.rank());
    const std::int64_t size = x.size(a);
    if (size == 0) return x;
    const std::int64_t first = ((-(shift % size)) + size) % size;  // source of the first element
    return first == 0 ? x : concat({slice(x, a, first, size), slice(x, a, 0, first)}, a);
}

Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts,
            const std::vector<int>& axes) {
    check_defined("roll", x);
    require(shifts.size() == axes.size(), "roll: {} shifts for {} axes", shifts.size(),
            axes.size());
    Tensor y = x;
    for (std::size_t i = 0; i < axes.size(); ++i) y = roll(y, shifts[i], axes[i]);
    return y;
}

// ---- repeat -------------------------------------------------------------------------------------

namespace {

// x as [outer, 1, inner], where inner begins at axis `first`, repeated `count` times along the
// middle and reshaped to `shape`.
Tensor repeated(const Tensor& x, int first, std::int64_t count, const Shape& shape) {
    const std::int64_t outer = numel(x.shape().sub(0, first));
    const std::int64_t inner = numel(x.shape().sub(first, x.rank()));
    return reshape(expand(reshape(x, {outer, 1, inner}), {outer, count, inner}), shape);
}

Shape grown(std::string_view op, const Tensor& x, int axis, std::int64_t count) {
    Shape shape = x.shape();
    const bool overflow = __builtin_mul_overflow(shape[axis], count, &shape[axis]);
    require<ShapeError>(!overflow, "{}: axis {} grows beyond 64 bits", op, axis);
    return shape;
}

}  // namespace

Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& counts) {
    check_defined("repeat", x);
    const auto named = static_cast<int>(counts.size());
    require<ShapeError>(named >= x.rank(), "repeat: {} counts for a tensor {}; see tile", named,
                        x.shape());
    Tensor y = named == x.rank() ? x : reshape(x, Shape::filled(named - x.rank(), 1) + x.shape());
    for (int axis = named - 1; axis >= 0; --axis) {
        const std::int64_t count = counts[static_cast<std::size_t>(axis)];
        require(count >= 0, "repeat: counts must be >= 0, got {} for axis {}", count, axis);
        if (count != 1) y = repeated(y, axis, count, grown("repeat", y, axis, count));
    }
    return y;
}

Tensor tile(const Tensor& x, const std::vector<std::int64_t>& counts) {
    check_defined("tile", x);
    const auto axes = static_cast<std::size_t>(x.rank());
    std::vector<std::int64_t> all(axes - std::min(axes, counts.size()), 1);
    all.insert(all.end(), counts.begin(), counts.end());
    return repeat(x, all);
}

Tensor repeat_interleave(const Tensor& x, std::int64_t count, int axis) {
    check_defined("repeat_interleave", x);
    require(count >= 0, "repeat_interleave: count must be >= 0, got {}", count);
    const int a = normalize_axis("repeat_interleave", axis, x.rank());
    return repeated(x, a + 1, count, grown("repeat_interleave", x, a, count));
}

Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int axis) {
    check_defined("repeat_interleave", x);
    check_dtype("repeat_interleave", counts, DType::i64);
    const int a = normalize_axis("repeat_interleave", axis, x.rank());
    require<ShapeError>(counts.rank() == 1 && counts.numel() == x.size(a),
                        "repeat_interleave: counts {} for axis {} of {}", counts.shape(), axis,
                        x.shape());
    constexpr std::int64_t kMost = std::int64_t{1} << 48;  // beyond any memory
    std::vector<std::int64_t> ids;
    std::int64_t i = 0;
    for (const std::int64_t count : counts.to_vector<std::int64_t>()) {
        require(count >= 0 && count < kMost,
                "repeat_interleave: counts must be from 0 to 2^48 - 1, got {} for element {}",
                count, i);
        ids.insert(ids.end(), static_cast<std::size_t>(count), i++);
    }
    return index_select(x, a, tensor(ids, {static_cast<std::int64_t>(ids.size())}));
}

// ---- order of axes ------------------------------------------------------------------------------

Tensor movedim(const Tensor& x, int from, int to) {
    check_defined("movedim", x);
    std::vector<int> order(static_cast<std::size_t>(x.rank()));
    std::iota(order.begin(), order.end(), 0);
    const int moved = normalize_axis("movedim", from, x.rank());
    order.erase(order.begin() + moved);
    order.insert(order.begin() + normalize_axis("movedim", to, x.rank()), moved);
    return permute(x, order);
}

Tensor swapaxes(const Tensor& x, int axis0, int axis1) { return transpose(x, axis0, axis1); }

// ---- meshgrid -----------------------------------------------------------------------------------

Tensors meshgrid(const Tensors& coordinates, std::string_view indexing) {
    require(!coordinates.empty(), "meshgrid: got no tensors");
    require(indexing == "ij" || indexing == "xy", "meshgrid: indexing must be ij or xy, got \"{}\"",
            indexing);
    Shape grid;
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
        check_defined("meshgrid", coordinates[i]);
        require<ShapeError>(coordinates[i].rank() == 1, "meshgrid: tensor {} is {}, not a vector",
                            i, coordinates[i].shape());
        grid.push_back(coordinates[i].numel());
    }
    const bool exchanged = indexing == "xy" && grid.rank() >= 2;
    Tensors result;
    for (int axis = 0; axis < grid.rank(); ++axis) {
        Shape alone = Shape::filled(grid.rank(), 1);
        alone[axis] = grid[axis];
        const Tensor& along = coordinates[static_cast<std::size_t>(axis)];
        const Tensor y = expand(reshape(along, alone), grid);
        result.push_back(exchanged ? transpose(y, 0, 1) : y);
    }
    return result;
}

// ---- pixels -------------------------------------------------------------------------------------

namespace {
void check_images(std::string_view op, const Tensor& x, std::int64_t r) {
    check_defined(op, x);
    require<ShapeError>(x.rank() == 4, "{}: needs images [N, C, H, W], got {}", op, x.shape());
    constexpr std::int64_t kMost = 1 << 15;
    require(r >= 1 && r <= kMost, "{}: the factor must be in [1, {}], got {}", op, kMost, r);
}
}  // namespace

Tensor pixel_shuffle(const Tensor& x, std::int64_t r) {
    check_images("pixel_shuffle", x, r);
    const std::int64_t n = x.size(0), c = x.size(1) / (r * r), h = x.size(2), w = x.size(3);
    require<ShapeError>(c * r * r == x.size(1),
                        "pixel_shuffle: {} x {} does not divide {} channels", r, r, x.size(1));
    const Tensor parts = permute(reshape(x, {n, c, r, r, h, w}), {0, 1, 4, 2, 5, 3});
    return reshape(parts, {n, c, h * r, w * r});
}

Tensor pixel_unshuffle(const Tensor& x, std::int64_t r) {
    check_images("pixel_unshuffle", x, r);
    const std::int64_t n = x.size(0), c = x.size(1), h = x.size(2) / r, w = x.size(3) / r;
    require<ShapeError>(h * r == x.size(2) && w * r == x.size(3),
                        "pixel_unshuffle: {} does not divide images of {} x {}", r, x.size(2),
                        x.size(3));
    const Tensor parts = permute(reshape(x, {n, c, h, r, w, r}), {0, 1, 3, 5, 2, 4});
    return reshape(parts, {n, c * r * r, h, w});
}

}  // namespace tapestry
