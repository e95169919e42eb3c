#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/views.h>
#include <tapestry/tests/core/support.h>

#include <array>
#include <limits>

using namespace tapestry;
using test::check_throws;

TEST_CASE("from_blob: the caller's numbers, where they are") {
    std::vector<float> numbers{1, 2, 3, 4, 5, 6};
    Tensor x = from_blob(numbers.data(), {2, 3});
    CHECK_EQ(x.dtype(), DType::f32);
    CHECK_EQ(x.data<float>(), numbers.data());
    CHECK_EQ(x.to_vector<float>(), numbers);
    numbers[4] = 50;
    CHECK_EQ(x.at({1, 1}), 50);
    x.fill_(7);
    CHECK_EQ(numbers, std::vector<float>(6, 7));
}

TEST_CASE("from_blob: every element type") {
    std::array<double, 2> f64{1, 2};
    std::array<std::int64_t, 2> i64{3, 4};
    std::array<bool, 2> truth{true, false};
    CHECK_EQ(from_blob(f64.data(), {2}).dtype(), DType::f64);
    CHECK_EQ(from_blob(i64.data(), {2}).at<std::int64_t>({1}), 4);
    CHECK_EQ(from_blob(truth.data(), {2}).at<bool>({0}), true);
}

TEST_CASE("from_blob: strides") {
    std::vector<double> numbers{0, 1, 2, 3, 4, 5, 6, 7};
    CHECK_EQ(from_blob(numbers.data(), {2, 4}, {1, 2}).to_vector<double>(),
             std::vector<double>{0, 2, 4, 6, 1, 3, 5, 7});
    CHECK_EQ(from_blob(numbers.data() + 1, {3}, {3}).to_vector<double>(),
             std::vector<double>{1, 4, 7});
    CHECK_EQ(from_blob(numbers.data(), {2, 2}, {0, 1}).to_vector<double>(),
             std::vector<double>{0, 1, 0, 1});
}

TEST_CASE("from_blob: released once, when the last tensor that shares the memory goes") {
    std::array<float, 4> numbers{};
    int released = 0;
    {
        Tensor view;
        {
            const Tensor x = from_blob(numbers.data(), {4}, [&] { ++released; });
            view = views::slice(x, 0, 1, 3);
        }
        CHECK_EQ(released, 0);
        CHECK_EQ(view.numel(), 2);
    }
    CHECK_EQ(released, 1);
}

TEST_CASE("from_blob: borrowed memory is not counted, nor reused in place") {
    std::array<float, 4> numbers{};
    const std::size_t before = memory_statistics().current;
    const Tensor x = from_blob(numbers.data(), {4});
    CHECK_EQ(memory_statistics().current, before);
    CHECK_FALSE(x.owns_alone());
    CHECK(x.clone().owns_alone());
}

TEST_CASE("from_blob: nothing may be null") {
    float* null = nullptr;
    CHECK_EQ(from_blob(null, {0, 3}).numel(), 0);
    int released = 0;
    check_throws<ValueError>(
        [&] {
            from_blob(null, {2, 3}, [&] { ++released; });
        },
        "from_blob: null pointer for shape [2, 3]");
    CHECK_EQ(released, 0);
}

TEST_CASE("from_blob: memory that is not aligned, strides that lead astray") {
    alignas(8) std::array<std::byte, 32> bytes{};
    auto* odd = reinterpret_cast<float*>(bytes.data() + 2);
    check_throws<ValueError>([&] { from_blob(odd, {2}); },
                             fmt::format("from_blob: the address {} is not a multiple of 4, as f32 "
                                         "requires; copy the numbers instead",
                                         static_cast<void*>(odd)));
    auto* even = reinterpret_cast<float*>(bytes.data());
    check_throws<ShapeError>(
        [&] {
            from_blob(even, {2, 2}, {1});
        },
        "from_blob: 1 strides for shape [2, 2]");
    check_throws<ShapeError>(
        [&] {
            from_blob(even, {2, 2}, {2, -1});
        },
        "from_blob: strides must be >= 0, got -1 for axis 1");
    const std::int64_t far = std::numeric_limits<std::int64_t>::max();
    check_throws<ShapeError>(
        [&] {
            from_blob(even, {3, 3}, {far, far});
        },
        fmt::format("from_blob: [3, 3] with strides [{}, {}] exceeds the address space", far, far));
}
