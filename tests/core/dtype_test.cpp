// Dtypes: names, dispatch from a run-time dtype to a C++ type, conversions defined for every
// number.
#include <tapestry/tests/core/support.h>

#include <limits>

using namespace tapestry;
using tapestry::test::check_throws;

TEST_CASE("dtype: names and sizes") {
    CHECK(fmt::format("{} {} {} {} {} {}", DType::f32, DType::f64, DType::i64, DType::boolean,
                      DType::bf16, DType::f16) == "f32 f64 i64 bool bf16 f16");
    for (const DTypeRow& row : kDTypes) {
        const auto dtype = static_cast<DType>(&row - kDTypes);
        visit_dtype(dtype, [dtype](auto zero) {
            using T = decltype(zero);
            CHECK(sizeof(zero) == size_of(dtype));
            CHECK(dtype_of<T>() == dtype);
            CHECK(dtype_of<Compute<T>>() == compute_dtype(dtype));
            CHECK(is_floating(dtype) == (std::is_floating_point_v<T> || kIsHalf<T>));
            CHECK(is_half(dtype) == kIsHalf<T>);
            CHECK(is_narrow(dtype) == kIsNarrow<T>);
        });
    }
}

// Holds for a new type too.
TEST_CASE("dtype: a row's numbers are those of its type") {
    for_each_floating([](auto zero) {
        using T = decltype(zero);
        const DTypeRow& row = row_of(dtype_of<T>());
        const auto rounded = [](double x) { return static_cast<double>(convert_element<T>(x)); };
        CAPTURE(row.name);
        CHECK(rounded(row.largest) == row.largest);
        CHECK_FALSE(rounded(row.largest * (1 + row.epsilon)) <= row.largest);
        CHECK(rounded(1 + row.epsilon) == 1 + row.epsilon);
        CHECK(rounded(1 + row.epsilon / 2) == 1);
        const double above = row.smallest * (1 + row.epsilon);
        CHECK(rounded(row.smallest) == row.smallest);
        CHECK(rounded(above) == above);
        if (row.compute != DType::f64) CHECK(rounded(above / 2) != above / 2);
        CHECK(is_floating(row.compute));
        CHECK_FALSE(is_narrow(row.compute));
    });
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
    check_throws<DTypeError>(
        [] { visit_floating("exp", DType::bf16, [](auto zero) { return sizeof(zero); }); },
        "exp: needs f32 or f64, got bf16");
    CHECK(visit_stored("exp", DType::bf16, [](auto zero) { return sizeof(zero); }) == 2);
    CHECK(visit_stored("exp", DType::f64, [](auto zero) { return sizeof(zero); }) == 8);
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
    // Via f32.
    CHECK(convert_element<std::int64_t>(Bf16(0x1p63)) == I64::max());
    CHECK(convert_element<std::int64_t>(Bf16(-kInf)) == I64::min());
    CHECK(convert_element<std::int64_t>(F16(-2.75)) == -2);
    CHECK(convert_element<F16>(Bf16(1e9)) == static_cast<float>(kInf));
    CHECK(convert_element<bool>(Bf16(9.2e-41)));  // the smallest bf16, not 0
    CHECK_FALSE(convert_element<bool>(F16(-0.0)));
    // Copied unchanged: a signalling NaN would not survive a conversion.
    CHECK(convert_element<Bf16>(std::bit_cast<Bf16>(std::uint16_t{0x7f81})).bits == 0x7f81);
}
