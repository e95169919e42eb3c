// RotaryPositions: fractions, both kinds of pairs, and a growing table.
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/layers/rotary.h>
#include <tapestry/ops/join.h>
#include <tapestry/tests/nn/support.h>

#include <thread>

using namespace tapestry;
using test::check_throws;
using test::close;
using test::random;

namespace {

// Columns 0, 2, 4, ..., then 1, 3, ...
Tensor apart(const Tensor& x) {
    const std::int64_t width = x.size(-1);
    return concat({views::slice(x, -1, 0, width, 2), views::slice(x, -1, 1, width, 2)}, -1);
}

}  // namespace

TEST_CASE("RotaryPositions: what a call makes anew, from any place and in any order") {
    const RotaryPositions turn(6, {.base = 500});
    for (const std::int64_t first : {0, 5, 100, 3}) {
        const Tensor x = random({2, 4, 6}, 1);
        CHECK(close(turn(x, first), rotary(x, first, 500)));
        const Tensor single = random({1, 6}, 2, DType::f32);  // another dtype in between
        CHECK_EQ(turn(single, first).to_vector<float>(),
                 rotary(single, first, 500).to_vector<float>());
    }
}

TEST_CASE("GrowingTable: another dtype needs no longer table") {
    std::vector<std::int64_t> lengths;
    const GrowingTable table([&lengths](std::int64_t length, DType dtype) {
        lengths.push_back(length);
        return Tensors{zeros({length}, dtype)};
    });
    for (const std::int64_t length : {4, 4, 3, 5}) {
        for (const DType dtype : {DType::f32, DType::f64}) table.at_least(length, dtype);
    }
    CHECK_EQ(lengths, std::vector<std::int64_t>{4, 4, 4, 4, 4, 4, 8, 8});
}

TEST_CASE("RotaryPositions: halves are neighbours in another order, a share leaves the rest") {
    const Tensor x = random({3, 7, 8});
    const RotaryPositions neighbours(8), halves(8, {.pairs = RotaryPairs::halves});
    CHECK(close(halves(apart(x), 2), apart(neighbours(x, 2))));

    const RotaryPositions part(8, {.share = 0.5});
    CHECK_EQ(part.turned(), 4);
    const Tensors both = split(part(x, 2), 4, -1), from = split(x, 4, -1);
    CHECK(close(both[0], rotary(from[0], 2)));
    CHECK(close(both[1], from[1]));
}

TEST_CASE("RotaryPositions: several threads at once") {
    const RotaryPositions turn(4);
    std::vector<std::thread> threads;
    std::vector<int> right(4);
    for (std::size_t i = 0; i < right.size(); ++i) {
        threads.emplace_back([&turn, &right, i] {
            for (std::int64_t first = 1; first < 200; first *= 2) {
                const Tensor x = random({2, 4}, i);
                right[i] += close(turn(x, first), rotary(x, first)) ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(right, std::vector<int>(4, 8));
}

TEST_CASE("RotaryPositions: what it refuses") {
    check_throws<ValueError>(
        [] { RotaryPositions(7); },
        "rotary: numbers are rotated in pairs, but a share of 1 of a head's 7 numbers "
        "is 7");
    check_throws<ValueError>(
        [] { RotaryPositions(10, {.share = 0.5}); },
        "rotary: numbers are rotated in pairs, but a share of 0.5 of a head's 10 "
        "numbers is 5");
    check_throws<ValueError>(
        [] { RotaryPositions(8, {.share = 0.1}); },
        "rotary: numbers are rotated in pairs, but a share of 0.1 of a head's 8 "
        "numbers is 0");
    check_throws<ValueError>([] { RotaryPositions(8, {.share = 1.5}); },
                             "rotary: the share must be in (0, 1], got 1.5");
    check_throws<ValueError>([] { RotaryPositions(8, {.base = -1}); },
                             "rotary: base must be positive and finite, got -1");
    const RotaryPositions turn(4);
    check_throws<ValueError>(
        [&] {
            turn(ones({2, 4}), -1);
        },
        "rotary: first position must be >= 0, got -1");
    check_throws<ShapeError>(
        [&] {
            turn(ones({2, 2}));
        },
        "rotary: needs [..., T, D] with D >= 4, got [2, 2]");
}
