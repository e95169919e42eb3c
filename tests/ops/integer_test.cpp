// i64 arithmetic beyond the range of doubles, in which the catalogue's definitions compute: large
// numbers and overflow. Also divisions with delicate rounding.
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/rounding.h>
#include <tapestry/tests/core/support.h>

#include <cmath>
#include <limits>

using namespace tapestry;
using test::check_throws;

namespace {

using Whole = std::int64_t;
constexpr Whole kLeast = std::numeric_limits<Whole>::min();
constexpr Whole kMost = std::numeric_limits<Whole>::max();
constexpr Whole kPastDouble = (Whole{1} << 53) + 1;  // the first integer that is not a double

Tensor whole(Whole value) { return tensor<Whole>({value}); }

}  // namespace

TEST_CASE("whole numbers: exact where doubles are not") {
    CHECK_EQ((whole(kPastDouble) + 1).item<Whole>(), kPastDouble + 1);
    CHECK_EQ((whole(kPastDouble) * 3).item<Whole>(), 3 * kPastDouble);
    CHECK_EQ(tapestry::pow(whole(3), 39).item<Whole>(), 4052555153018976267);
    CHECK_EQ(remainder(whole(kPastDouble), 2).item<Whole>(), 1);
    CHECK_EQ(floor_divide(whole(kPastDouble * 3), 3).item<Whole>(), kPastDouble);
}

TEST_CASE("whole numbers wrap around where 64 bits end") {
    CHECK_EQ((whole(kMost) + 1).item<Whole>(), kLeast);
    CHECK_EQ((whole(kLeast) - 1).item<Whole>(), kMost);
    CHECK_EQ((whole(kMost) * 2).item<Whole>(), -2);
    CHECK_EQ((-whole(kLeast)).item<Whole>(), kLeast);
    CHECK_EQ(tapestry::abs(whole(kLeast)).item<Whole>(), kLeast);
    CHECK_EQ(floor_divide(whole(kLeast), -1).item<Whole>(), kLeast);
    CHECK_EQ(remainder(whole(kLeast), -1).item<Whole>(), 0);
    CHECK_EQ(tapestry::fmod(whole(kLeast), -1).item<Whole>(), 0);
}

TEST_CASE("whole numbers: a quotient is f32, and by zero what IEEE 754 says") {
    const Tensor quotient = tensor<Whole>({1, -1, 0, 7}) / tensor<Whole>({0, 0, 0, 2});
    CHECK_EQ(quotient.dtype(), DType::f32);
    CHECK_EQ(quotient.at({0}), INFINITY);
    CHECK_EQ(quotient.at({1}), -INFINITY);
    CHECK(std::isnan(quotient.at({2})));
    CHECK_EQ(quotient.at({3}), 3.5);
    CHECK_EQ((whole(7) / 2.5).item<float>(), 2.8F);
    CHECK_EQ((3.5 / whole(7)).item(), 0.5);
}

TEST_CASE("whole numbers: changed in place, but for what would not be whole") {
    Tensor x = whole(20);
    x += 1;
    x *= whole(2);
    CHECK_EQ(x.item<Whole>(), 42);
    check_throws<DTypeError>([&] { x /= 4; }, "/=: a result of f32 for a tensor of i64");
}

TEST_CASE("whole numbers: clamped from one side") {
    CHECK_EQ(clamp(whole(-5), 0, INFINITY).item<Whole>(), 0);
    CHECK_EQ(clamp(whole(kMost), 0, INFINITY).item<Whole>(), kMost);
    CHECK_EQ(clamp(whole(kLeast), -INFINITY, 3).item<Whole>(), kLeast);
}

TEST_CASE("whole numbers: one past 64 bits as an operand is refused") {
    check_throws<ValueError>([] { whole(1) + 0x1p63; },
                             "add: 9.223372036854776e+18 is not a 64-bit integer, but the tensor "
                             "is i64; convert it with to()");
    check_throws<ValueError>([] { whole(1) * std::nan(""); },
                             "mul: nan is not a 64-bit integer, but the tensor is i64; convert it "
                             "with to()");
}

TEST_CASE("whole numbers: compared with numbers that are not whole, or too large") {
    const auto is = [](const Tensor& result) { return result.item<bool>(); };
    for (const double beyond : {0x1p63, 1e300, std::numeric_limits<double>::infinity()}) {
        CHECK(is(lt(whole(kMost), beyond)));
        CHECK(is(ne(whole(kMost), beyond)));
        CHECK_FALSE(is(ge(whole(kMost), beyond)));
        CHECK(is(gt(whole(kLeast + 1), -beyond)));
    }
    CHECK(is(eq(whole(kLeast), -0x1p63)));
    CHECK(is(gt(whole(kLeast), -1e300)));
    CHECK(is(gt(whole(kPastDouble), 0x1p53)));  // to which it would round
    CHECK(is(ne(whole(0), std::nan(""))));
    CHECK_FALSE(is(eq(whole(0), std::nan(""))));
    CHECK_FALSE(is(le(whole(0), std::nan(""))));
    const Tensor yes = ones({}, DType::boolean);
    CHECK_FALSE(is(eq(yes, 2)));
    CHECK(is(lt(yes, 1.5)));
    CHECK(is(gt(yes, -1)));
    CHECK(is(eq(yes, 1)));
}

TEST_CASE("division: quotients that round to a whole number too large") {
    const auto f64 = [](double x) { return scalar(x, DType::f64); };
    CHECK_EQ(floor_divide(f64(1), 0.1).item(), 9);  // 0.1 is slightly more than a tenth
    CHECK_EQ(remainder(f64(1), 0.1).item(), std::fmod(1.0, 0.1));
    CHECK_EQ(floor_divide(f64(-1), 0.1).item(), -10);
    CHECK_EQ(floor_divide(f64(1), -INFINITY).item(), -1);
    CHECK_EQ(tapestry::fmod(f64(1e300), 3).item(), std::fmod(1e300, 3.0));
}

TEST_CASE("division of fractions by zero: inf or NaN") {
    CHECK_EQ(floor_divide(scalar(1), 0).item(), INFINITY);
    CHECK_EQ(floor_divide(scalar(-1), 0).item(), -INFINITY);
    CHECK(std::isnan(floor_divide(scalar(0), 0).item()));
    CHECK(std::isnan(remainder(scalar(1), 0).item()));
    CHECK(std::isnan(tapestry::fmod(scalar(1), 0).item()));
}
