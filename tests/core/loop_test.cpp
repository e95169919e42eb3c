// Loop: visits every element of every operand exactly once, in any layout, with any number of
// threads.
#include <tapestry/core/loop.h>
#include <tapestry/tests/core/support.h>

using namespace tapestry;

namespace {

// Iterates over three operands of one shape: a dense one, whose offsets number the elements, and
// two with any strides. Each element must be visited once, with the right offsets in all three.
void check_loop(const Shape& shape, const Strides& second, const Strides& third) {
    std::vector<std::array<std::int64_t, 2>> expected;
    test::for_each_index(shape, [&](const Shape& i) {
        expected.push_back({test::dot(i, second), test::dot(i, third)});
    });
    std::vector<std::array<std::int64_t, 2>> met(expected.size(), {-1, -1});
    std::vector<int> visits(expected.size(), 0);
    const Loop<3> loop(shape, {contiguous_strides(shape), second, third});
    loop.for_each_row([&](const auto& offsets, std::int64_t n) {
        for (std::int64_t j = 0; j < n; ++j) {
            const auto i = static_cast<std::size_t>(offsets[0] + j * loop.inner_stride(0));
            met[i] = {offsets[1] + j * loop.inner_stride(1), offsets[2] + j * loop.inner_stride(2)};
            ++visits[i];  // race-free only if no other thread has this element
        }
    });
    CHECK(met == expected);
    CHECK(visits == std::vector<int>(expected.size(), 1));
}

}  // namespace

TEST_CASE("loop: every element once, random layouts") {
    Generator random(21);
    for (int round = 0; round < 300; ++round) {
        const ThreadsGuard guard(1 + round % 4);
        const Tensor x = test::random_layout(random);
        Strides odd = x.strides();  // impossible in real memory: only the iteration counts
        for (int axis = 0; axis < odd.rank(); ++axis) odd[axis] = test::pick(random, 7) - 3;
        check_loop(x.shape(), x.strides(), odd);
    }
}

TEST_CASE("loop: every element once, in many chunks") {
    Generator random(22);
    for (int threads = 1; threads <= 4; ++threads) {
        const ThreadsGuard guard(threads);
        // Chunks of kGrain end within rows, between rows and between blocks.
        for (const Shape& shape :
             {Shape{3 * kGrain + 5}, Shape{7, 30011}, Shape{2, 3, 5, 7, 11, 43}, Shape{kGrain, 4},
              Shape{4, kGrain}, Shape{50000, 1, 2}}) {
            Shape reversed;
            std::vector<int> order;
            for (int axis = shape.rank() - 1; axis >= 0; --axis) {
                reversed.push_back(shape[axis]);
                order.push_back(axis);
            }
            const Tensor x = views::permute(empty(reversed), order);
            Strides broadcast = contiguous_strides(shape);
            broadcast[test::pick(random, shape.rank())] = 0;
            check_loop(shape, x.strides(), broadcast);
        }
    }
}

TEST_CASE("loop: scalars, axes of one, nothing") {
    check_loop({}, {}, {});
    check_loop({1, 1}, {5, 3}, {0, 0});
    int calls = 0;
    const Loop<1> none({4, 0, 3}, {contiguous_strides({4, 0, 3})});
    none.for_each_row([&](const auto&, std::int64_t) { ++calls; });
    CHECK(calls == 0);
}

TEST_CASE("loop: adjacent axes become one row") {
    const Tensor x = empty({4, 5, 6});
    int rows = 0;
    std::int64_t length = 0;
    const auto count = [&](const auto&, std::int64_t n) {
        ++rows;
        length = n;
    };
    Loop<2>(x.shape(), {x.strides(), x.strides()}).for_each_row(count);
    CHECK(rows == 1);
    CHECK(length == 120);
    rows = 0;
    const Strides bias = broadcast_strides(empty({6}), x.shape());
    CHECK(bias == Strides{0, 0, 1});
    Loop<2>(x.shape(), {x.strides(), bias}).for_each_row(count);
    CHECK(rows == 20);
    CHECK(length == 6);
}
