// A diagonal is a part of its matrix, seen with the strides of both axes added.
#include <tapestry/ops/diagonal.h>

#include <tapestry/core/views.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/part.h>

namespace tapestry {
namespace {

struct DiagonalView {
    static constexpr const char* kName = "diagonal";
    std::int64_t offset;
    int axis0, axis1;

    std::string attributes() const {
        return fmt::format("offset={}, axes={},{}", offset, axis0, axis1);
    }
    Tensor operator()(const Tensor& x) const { return views::diagonal(x, offset, axis0, axis1); }
};

}  // namespace

Tensor diagonal(const Tensor& x, std::int64_t offset, int axis0, int axis1) {
    check_defined("diagonal", x);
    return take_part(x, DiagonalView{offset, axis0, axis1});
}

Tensor diag(const Tensor& x, std::int64_t offset) {
    check_defined("diag", x);
    require<ShapeError>(x.rank() == 1 || x.rank() == 2,
                        "diag: needs a vector or a matrix, got {}; see diagonal", x.shape());
    if (x.rank() == 2) return diagonal(x, offset);
    constexpr std::int64_t kLimit = std::int64_t{1} << 31;  // no memory holds its square
    require(offset > -kLimit && offset < kLimit, "diag: offset {} makes too large a matrix",
            offset);
    const std::int64_t side = x.numel() + (offset < 0 ? -offset : offset);
    return place_part(x, {side, side}, DiagonalView{offset, 0, 1});
}

}  // namespace tapestry
