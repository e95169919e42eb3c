// Shapes: element counts, strides, NumPy's broadcasting rule and its error messages.
#include <tapestry/tests/core/support.h>

#include <limits>
#include <utility>

using namespace tapestry;
using tapestry::test::check_throws;

TEST_CASE("shape: a short list") {
    Shape shape{2, 3};
    CHECK(shape.rank() == 2);
    shape.push_back(4);
    shape.insert(0, 7);
    CHECK(shape == Shape{7, 2, 3, 4});
    shape.erase(1);
    CHECK(shape == Shape{7, 3, 4});
    CHECK(shape.back() == 4);
    CHECK(shape.sub(1, 3) == Shape{3, 4});
    CHECK(shape.sub(1, 1) == Shape{});
    CHECK(Shape::filled(3, 5) == Shape{5, 5, 5});
    CHECK(Shape{}.empty());
    CHECK_FALSE(Shape{1} == Shape{});
    CHECK(fmt::format("{} {} {}", Shape{}, Shape{4}, Shape{4, 3}) == "[] [4] [4, 3]");
}

TEST_CASE("shape: at most eight axes") {
    check_throws<ShapeError>([] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; },
                             "shape: 9 axes; at most 8 are supported");
    Shape full = Shape::filled(8, 1);
    check_throws<ShapeError>([&] { full.push_back(1); }, "shape: more than 8 axes");
    CHECK(full.rank() == 8);
}

TEST_CASE("shape: numel") {
    constexpr std::int64_t kHuge = std::int64_t{1} << 40;
    CHECK(numel({}) == 1);
    CHECK(numel({4, 3}) == 12);
    CHECK(numel({4, 0, 3}) == 0);
    CHECK(numel({kHuge, 0, 2}) == 0);
    CHECK(numel({std::numeric_limits<std::int64_t>::max()}) > 0);
    check_throws<ShapeError>([] { numel({2, -1}); }, "shape: negative size in [2, -1]");
    check_throws<ShapeError>([] { numel({0, -1}); }, "shape: negative size in [0, -1]");
    check_throws<ShapeError>(
        [] {
            numel({kHuge, kHuge});
        },
        "shape: [1099511627776, 1099511627776] has too many elements to count in 64 bits");
    // Strides and offsets of an empty tensor are products of its other sizes.
    for (const Shape& empty : {Shape{kHuge, kHuge, 0}, Shape{0, kHuge, kHuge}}) {
        check_throws<ShapeError>(
            [&] { numel(empty); },
            fmt::format("shape: {} has too many elements to count in 64 bits", empty));
    }
}

TEST_CASE("shape: the axes of two") {
    CHECK(Shape{} + Shape{} == Shape{});
    CHECK(Shape{2, 3} + Shape{4} == Shape{2, 3, 4});
    check_throws<ShapeError>([] { return Shape::filled(8, 1) + Shape{2}; },
                             "shape: more than 8 axes");
}

TEST_CASE("shape: the position of a row-major element") {
    CHECK(unravel_index(0, {}) == Shape{});
    CHECK(unravel_index(5, {6}) == Shape{5});
    CHECK(unravel_index(17, {2, 3, 4}) == Shape{1, 1, 1});
}

TEST_CASE("shape: row-major strides") {
    constexpr std::int64_t kHuge = std::int64_t{1} << 40;
    CHECK(contiguous_strides({}) == Strides{});
    CHECK(contiguous_strides({5}) == Strides{1});
    CHECK(contiguous_strides({2, 3, 4}) == Strides{12, 4, 1});
    CHECK(contiguous_strides({2, 1, 4}) == Strides{4, 4, 1});
    CHECK(contiguous_strides({2, 0, 4}).rank() == 3);
    CHECK(contiguous_strides({0, kHuge, kHuge}).rank() == 3);  // without overflow
}

TEST_CASE("shape: broadcasting") {
    struct Row {
        Shape a, b, together;
    };
    const Row rows[] = {
        {{}, {}, {}},
        {{3}, {}, {3}},
        {{2, 3}, {3}, {2, 3}},
        {{2, 3}, {1, 3}, {2, 3}},
        {{2, 1}, {3}, {2, 3}},
        {{4, 1, 3}, {2, 1}, {4, 2, 3}},
        {{1}, {0}, {0}},
        {{2, 0}, {1}, {2, 0}},
        {{1, 1, 1}, {5}, {1, 1, 5}},
    };
    for (const auto& [a, b, together] : rows) {
        CHECK(broadcast_shapes("add", a, b) == together);
        CHECK(broadcast_shapes("add", b, a) == together);
    }
    check_throws<ShapeError>(
        [] {
            broadcast_shapes("add", {4, 2, 3}, {5, 3});
        },
        "add: shapes do not broadcast: [4, 2, 3] and [5, 3] (axis -2: 2 against 5)");
    check_throws<ShapeError>([] { broadcast_shapes("mul", {0}, {3}); },
                             "mul: shapes do not broadcast: [0] and [3] (axis -1: 0 against 3)");
}

TEST_CASE("shape: axes may count from the end") {
    CHECK(normalize_axis("sum", 0, 3) == 0);
    CHECK(normalize_axis("sum", 2, 3) == 2);
    CHECK(normalize_axis("sum", -1, 3) == 2);
    CHECK(normalize_axis("sum", -3, 3) == 0);
    for (const auto& [axis, rank] : {std::pair{3, 3}, {-4, 3}, {0, 0}, {-1, 0}}) {
        check_throws<ShapeError>(
            [axis = axis, rank = rank] { normalize_axis("sum", axis, rank); },
            fmt::format("sum: axis {} is outside a tensor of rank {}", axis, rank));
    }
}
