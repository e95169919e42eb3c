// Tensors with values.
#include "support.h"

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
    check_throws<ValueError>([] { arange(-1); }, "arange: -1 is negative");
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
