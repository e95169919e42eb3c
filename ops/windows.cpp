#include <tapestry/ops/windows.h>

#include <tapestry/core/size_2d.h>

namespace tapestry {
namespace {

using Member = std::int64_t WindowAxis::*;

// "3 x 5", or "5" of windows over rows.
std::string both(const Windows& windows, std::int64_t rows, std::int64_t columns) {
    return windows.axes == 1 ? fmt::format("{}", columns) : fmt::format("{} x {}", rows, columns);
}

// The same, but one number where the two are equal.
std::string either(const Windows& windows, Member member) {
    const std::int64_t rows = windows.rows.*member, columns = windows.columns.*member;
    return fmt::format("{}", windows.axes == 1 ? Size2d(columns) : Size2d(rows, columns));
}

void check_member(std::string_view op, std::string_view what, const Windows& windows, Member member,
                  std::int64_t least) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;  // so that sums of products fit 64 bits
    for (const WindowAxis* axis : {&windows.rows, &windows.columns}) {
        const std::int64_t value = axis->*member;
        require(value >= least && value <= kMost, "{}: {} {}; it must be {}", op, what,
                either(windows, member),
                value > kMost ? "2147483648 at most" : (least > 0 ? "positive" : "0 or more"));
    }
}

}  // namespace

std::int64_t WindowAxis::count() const {
    const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
    const std::int64_t below = room < 0 && room % stride != 0 ? 1 : 0;  // rounds down
    return room / stride - below + 1;
}

void check_windows(std::string_view op, const Shape& shape, const Windows& windows) {
    check_member(op, "kernel", windows, &WindowAxis::kernel, 1);
    check_member(op, "stride", windows, &WindowAxis::stride, 1);
    check_member(op, "padding", windows, &WindowAxis::padding, 0);
    check_member(op, "dilation", windows, &WindowAxis::dilation, 1);
    const std::int64_t rows = windows.rows.count(), columns = windows.columns.count();
    require<ShapeError>(rows > 0 && columns > 0,
                        "{}: input {} with kernel {}, padding {}, dilation {} gives an output of "
                        "{}",
                        op, shape, both(windows, windows.rows.kernel, windows.columns.kernel),
                        either(windows, &WindowAxis::padding),
                        either(windows, &WindowAxis::dilation), both(windows, rows, columns));
}

}  // namespace tapestry
