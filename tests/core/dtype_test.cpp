// Element types: names, the step from a run-time type to a C++ type, conversions that are defined
// for every number.
#include "support.h"

#include <limits>

using namespace tapestry;
using tapestry::test::check_throws;

TEST_CASE("dtype: names and sizes") {
    CHECK(fmt::format("{} {} {} {}", DType::f32, DType::f64, DType::i64, DType::boolean) ==
          "f32 f64 i64 bool");
    for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::boolean}) {
        visit_dtype(dtype, [dtype](auto zero) {
            CHECK(sizeof(zero) == size_of(dtype));
            CHECK(dtype_of<decltype(zero)>() == dtype);
            CHECK(is_floating(dtype) == std::is_floating_point_v<decltype(zero)>);
        });
    }
}

TEST_CASE("dtype: floating only") {
    CHECK(visit_floating("exp", DType::f32, [](auto zero) { return sizeof(zero); }) == 4);
    CHECK(visit_floating("exp", DType::f64, [](auto zero) { return sizeof(zero); }) == 8);
    check_throws<DTypeError>(
        [] { visit_floating("exp", DType::i64, [](auto zero) { return sizeof(zero); }); },
        "exp: needs f32 or f64, got i64");
    check_throws<DTypeError>(
        [] { visit_floating("exp", DType::boolean, [](auto zero) { return sizeof(zero); }); },
        "exp: needs f32 or f64, got bool");
}

TEST_CASE("dtype: every conversion is defined") {
    using I64 = std::numeric_limits<std::int64_t>;
    constexpr double kInf = std::numeric_limits<double>::infinity();
    CHECK(convert_element<std::int64_t>(-2.7) == -2);
    CHECK(convert_element<std::int64_t>(2.7F) == 2);
    CHECK(convert_element<std::int64_t>(1e300) == I64::max());
    CHECK(convert_element<std::int64_t>(-kInf) == I64::min());
    CHECK(convert_element<std::int64_t>(0x1p63F) == I64::max());
    CHECK(convert_element<std::int64_t>(-0x1p63) == I64::min());
    CHECK(convert_element<std::int64_t>(std::numeric_limits<float>::quiet_NaN()) == 0);
    CHECK(convert_element<bool>(0.25));
    CHECK_FALSE(convert_element<bool>(-0.0));
    CHECK(convert_element<double>(true) == 1);
    CHECK(convert_element<float>(std::int64_t{7}) == 7);
}
