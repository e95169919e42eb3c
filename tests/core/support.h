// Helpers shared by the tests of core: exact comparison of errors, unusual layouts of known
// numbers, and reading a tensor by its strides only, as a reference for copy and Loop.
#pragma once

#include <doctest/doctest.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>

#include <algorithm>
#include <exception>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

namespace tapestry::test {

/// What f() throws must be of this type, with exactly this message. call(f) calls it: check_throws
/// is instantiated for each lambda, and this is not.
inline void check_thrown(void (*call)(const void* f), const void* f, const std::type_info& type,
                         const std::string& message, int line) {
    INFO("called in line " << line);
    try {
        call(f);
    } catch (const std::exception& error) {
        CHECK_EQ(std::string(error.what()), message);
        CHECK(typeid(error) == type);
        return;
    }
    FAIL_CHECK("nothing thrown; expected: " << message);
}

/// Checks that f() throws an E (no other type) with exactly this message. `line` is the caller's
/// (std::source_location would be nicer, but clang 14 lacks it).
template <class E, class F>
void check_throws(const F& f, const std::string& message, int line = __builtin_LINE()) {
    const auto call = [](const void* one) { (*static_cast<const F*>(one))(); };
    check_thrown(call, &f, typeid(E), message, line);
}

/// Calls f(index) for every index of `shape`, the last axis fastest.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
    Shape index = Shape::filled(shape.rank(), 0);
    for (std::int64_t left = numel(shape); left > 0; --left) {
        f(index);
        for (int axis = shape.rank() - 1; axis >= 0; --axis) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
}

inline std::int64_t dot(const Shape& index, const Strides& strides) {
    std::int64_t sum = 0;
    for (int axis = 0; axis < index.rank(); ++axis) sum += index[axis] * strides[axis];
    return sum;
}

/// The elements in row-major order, each read by the strides.
inline std::vector<double> elements(const Tensor& x) {
    std::vector<double> values;
    visit_dtype(x.dtype(), [&](auto zero) {
        const auto* from = x.data<decltype(zero)>();
        for_each_index(x.shape(), [&](const Shape& index) {
            values.push_back(static_cast<double>(from[dot(index, x.strides())]));
        });
    });
    return values;
}

inline int pick(Generator& random, int below) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(below)));
}

/// A tensor of distinct numbers (except where expanded) after a few random views: permuted, sliced
/// with steps, reversed, with axes of size 1 and expanded axes.
inline Tensor random_layout(Generator& random, DType dtype = DType::f32, int most_rank = 4,
                            int most_size = 5) {
    Shape shape;
    for (int left = pick(random, most_rank + 1); left > 0; --left) {
        shape.push_back(1 + pick(random, most_size));
    }
    Tensor x = views::reshape(arange(numel(shape), dtype), shape);
    if (x.rank() == 0) return x;
    for (int steps = pick(random, 4); steps > 0; --steps) {
        const int axis = pick(random, x.rank());
        const auto start =
            static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(x.size(axis))));
        switch (pick(random, 5)) {
            case 0: x = views::transpose(x, axis, pick(random, x.rank())); break;
            case 1: x = views::slice(x, axis, start, x.size(axis)); break;
            case 2: x = views::slice(x, axis, 0, x.size(axis), 1 + pick(random, 3)); break;
            case 3: x = views::slice(x, axis, -1, -x.size(axis) - 1, -1 - pick(random, 2)); break;
            default: {
                x = views::slice(x, axis, start, start + 1);
                Shape wider = x.shape();
                wider[axis] = 1 + pick(random, 3);
                x = views::expand(x, wider);
            }
        }
    }
    return x;
}

// AddressSanitizer's build does not cache memory, and aborts on absurd requests before we see them.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#else
inline constexpr bool kAddressSanitizer = false;
#endif

}  // namespace tapestry::test
