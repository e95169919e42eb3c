// Creating tensors.
#include <tapestry/tests/core/support.h>

using namespace tapestry;
using tapestry::test::check_throws;

TEST_CASE("create: constants of every type") {
    for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::boolean}) {
        CHECK(zeros({2, 2}, dtype).to_vector<double>() == std::vector<double>(4, 0));
        CHECK(ones({3}, dtype).to_vector<double>() == std::vector<double>(3, 1));
        CHECK(full({2}, 1, dtype).dtype() == dtype);
        CHECK(ones_like(zeros({2, 1}, dtype)).dtype() == dtype);
        CHECK(zeros_like(ones({2, 1}, dtype)).shape() == Shape{2, 1});
        CHECK(scalar(1, dtype).shape() == Shape{});
        CHECK(empty({0}, dtype).numel() == 0);
    }
    CHECK(full({}, 2.5).item() == 2.5);
    CHECK(full({1}, 2.5, DType::i64).item() == 2);
    CHECK(full({1}, 2.5, DType::boolean).item() == 1);
    check_throws<ShapeError>([] { zeros({2, -3}); }, "shape: negative size in [2, -3]");
}

TEST_CASE("create: arange and eye") {
    CHECK(arange(4).dtype() == DType::i64);
    CHECK(arange(4, DType::f32).to_vector<double>() == std::vector<double>{0, 1, 2, 3});
    CHECK(arange(0).shape() == Shape{0});
    CHECK(eye(2).to_vector<double>() == std::vector<double>{1, 0, 0, 1});
    CHECK(eye(0).shape() == Shape{0, 0});
    check_throws<ValueError>([] { arange(-1); }, "arange: n must be >= 0, got -1");
}

TEST_CASE("create: arange from, to and by") {
    CHECK(arange(2, 11, 3).to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 5, 8});
    CHECK(arange(3, 6).dtype() == DType::i64);
    CHECK(arange(5, 0, -2).to_vector<double>() == std::vector<double>{5, 3, 1});
    CHECK(arange(2, 2).shape() == Shape{0});
    CHECK(arange(0, 3, 1, DType::f64).dtype() == DType::f64);
    const Tensor quarters = arange(0, 1, 0.25);
    CHECK(quarters.dtype() == DType::f32);
    CHECK(quarters.to_vector<double>() == std::vector<double>{0, 0.25, 0.5, 0.75});
    CHECK(arange(0.5, -1.0, -0.5).to_vector<double>() == std::vector<double>{0.5, 0, -0.5});
    CHECK(arange(1.0, 7.0, 2.0, DType::i64).to_vector<double>() == std::vector<double>{1, 3, 5});
    CHECK(arange(0, 1, 0.1, DType::f64).at({7}) == 7 * 0.1);  // not a sum of seven roundings
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    CHECK(arange(kLeast, kMost, kMost).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{kLeast, -1, kMost - 1});
    CHECK(arange(kMost, kLeast, kLeast).to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{kMost, -1});

    check_throws<ValueError>([] { arange(0, 3, 0); }, "arange: the step must not be 0");
    check_throws<ValueError>([] { arange(0, 3, -1); },
                             "arange: steps of -1 do not lead from 0 to 3");
    check_throws<ValueError>([] { arange(0, 1, 0.5, DType::i64); },
                             "arange: 0.5 is not a 64-bit integer, but the dtype is i64");
    check_throws<ValueError>([] { arange(0.0, std::numeric_limits<double>::infinity()); },
                             "arange: start, stop and step must be finite, got 0, inf and 1");
    check_throws<DTypeError>([] { arange(0, 2, 1, DType::boolean); },
                             "arange: needs floating-point numbers or i64, got bool");
    check_throws<MemoryError>([] { arange(0.0, 1e300, 1.0); },
                              "arange: too many numbers: 1e+300 from 0 to 1e+300");
}

TEST_CASE("create: linspace") {
    CHECK(linspace(0, 1, 5).to_vector<double>() == std::vector<double>{0, 0.25, 0.5, 0.75, 1});
    CHECK(linspace(1, -1, 3).to_vector<double>() == std::vector<double>{1, 0, -1});
    CHECK(linspace(3, 9, 1).to_vector<double>() == std::vector<double>{3});
    CHECK(linspace(3, 9, 0).shape() == Shape{0});
    const auto tenths = linspace(0.1, 0.7, 7, DType::f64).to_vector<double>();
    CHECK(tenths.front() == 0.1);
    CHECK(tenths.back() == 0.7);
    for (const double same : linspace(0.1, 0.1, 9, DType::f64).to_vector<double>()) {
        CHECK(same == 0.1);
    }
    check_throws<ValueError>([] { linspace(0, 1, -2); }, "linspace: n must be >= 0, got -2");
    check_throws<ValueError>([] { linspace(-1e308, 1e308, 3); },
                             "linspace: the distance from -1e+308 to 1e+308 must be finite");
    check_throws<DTypeError>([] { linspace(0, 1, 3, DType::i64); },
                             "linspace: needs floating-point numbers, got i64");
}

TEST_CASE("create: like another tensor") {
    const Tensor x = zeros({2, 3}, DType::i64);
    CHECK(full_like(x, 7).to_vector<std::int64_t>() == std::vector<std::int64_t>(6, 7));
    CHECK(empty_like(x).shape() == x.shape());
    CHECK(empty_like(x).dtype() == DType::i64);
}

TEST_CASE("create: from values") {
    CHECK(tensor<float>({1, 2}).shape() == Shape{2});
    CHECK(tensor<float>({7}).shape() == Shape{1});
    CHECK(tensor<double>({{1, 2, 3}, {4, 5, 6}}).shape() == Shape{2, 3});
    CHECK(tensor<double>({{1}, {2}}).shape() == Shape{2, 1});
    CHECK(tensor<double>({{1, 2}}).shape() == Shape{1, 2});
    CHECK(tensor<std::int64_t>({{1}}).shape() == Shape{1, 1});
    CHECK(tensor<bool>({true, false}).dtype() == DType::boolean);
    CHECK(tensor(std::vector<float>{1, 2, 3, 4}, {2, 2}).at({1, 0}) == 3);
    CHECK(tensor(std::vector<bool>{false, true}, {2}).at({1}) == 1);
    CHECK(tensor(std::vector<double>{}, {0, 4}).numel() == 0);
    check_throws<ShapeError>(
        [] {
            tensor(std::vector<float>{1, 2, 3}, {2, 2});
        },
        "tensor: 3 values for shape [2, 2]");
    check_throws<ShapeError>(
        [] {
            tensor<float>({{1, 2}, {3}});
        },
        "tensor: rows of 2 and 1 values");
}
