// Sums over long vectors: the same as in plain loops, at every length, and without the outputs and
// entries that do not count.
#include <tapestry/autograd/check/long_vectors.h>
#include <tapestry/tests/judge/support.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tapestry;
using namespace tapestry::checker;
using test::Values;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Values numbers(std::size_t n, std::uint64_t seed) {
    return test::values(test::random({static_cast<std::int64_t>(n)}, seed));
}

}  // namespace

TEST_CASE("long vectors: sums of any length") {
    for (std::size_t n = 0; n < 20; ++n) {
        const Values w = numbers(n, 1), a = numbers(n, 2), b = numbers(n, 3);
        double product = 0, difference = 0, squares = 0;
        for (std::size_t i = 0; i < n; ++i) {
            product += w[i] * a[i];
            difference += w[i] * (a[i] - b[i]);
            squares += w[i] * a[i] * w[i] * a[i];
        }
        CHECK_EQ(dot(w, a), doctest::Approx(product));
        CHECK_EQ(weighted_difference(w, a, b), doctest::Approx(difference));
        CHECK_EQ(squares_along(w, a), doctest::Approx(squares));
        const Difference found = difference_of(w, a, b, a);
        CHECK_EQ(found.slope, doctest::Approx(difference));
        CHECK_EQ(found.squares, doctest::Approx(squares));
        CHECK_EQ(found.changed, n);
        CHECK_EQ(found.moved, n > 0);
        CHECK(found.is_finite);
        CHECK_EQ(shaken_along(b, {b, a}, w)[0].change, 0);
        CHECK_EQ(shaken_along(b, {b, a}, w)[1].change, doctest::Approx(difference));
        Values to;
        move_along(a, b, 0.5, to);
        for (std::size_t i = 0; i < n; ++i) CHECK_EQ(to[i], a[i] + 0.5 * b[i]);
    }
}

TEST_CASE("long vectors: outputs of weight 0 do not count") {
    Values w = numbers(9, 1);
    const Values base = numbers(9, 2);
    Values above = base, below = base;
    above[3] = kInfinity;
    below[8] = std::nan("");
    CHECK_FALSE(difference_of(w, above, below, base).is_finite);
    CHECK_FALSE(all_finite(w, above));
    w[3] = w[8] = 0;
    const Difference found = difference_of(w, above, below, base);
    CHECK(found.is_finite);
    CHECK_FALSE(found.moved);
    CHECK_EQ(found.slope, 0);
    CHECK_EQ(found.changed, 2);
    CHECK(all_finite(w, above));
    CHECK_EQ(weighted_difference(w, above, below), 0);
    above[5] += 1;
    CHECK(difference_of(w, above, below, base).moved);
}

TEST_CASE("long vectors: the hash of a difference tells which outputs change") {
    for (std::size_t n = 1; n < 12; ++n) {
        const Values w(n, 1.0), base = numbers(n, 2);
        std::vector<std::uint64_t> seen;
        for (std::size_t i = 0; i < n; ++i) {
            Values above = base, below = base;
            (i % 2 == 0 ? above : below)[i] += 1;
            const Difference found = difference_of(w, above, below, base);
            CHECK_EQ(found.changed, 1);
            seen.push_back(found.which);
            below[i] += 2;  // the same output again
            CHECK_EQ(difference_of(w, above, below, base).which, found.which);
            CHECK_EQ(difference_of(w, above, below, base, {i}).which, found.which);
        }
        std::sort(seen.begin(), seen.end());
        CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
    }
}

TEST_CASE("long vectors: some outputs give the bits that they give alone") {
    const Values w = numbers(40, 1), a = numbers(40, 2), b = numbers(40, 3), base = numbers(40, 4);
    for (std::size_t count = 1; count < 12; ++count) {
        std::vector<std::size_t> of;
        Values few[4];
        for (std::size_t i = 0; i < count; ++i) {
            of.push_back(3 * i + 1);
            few[0].push_back(w[of[i]]);
            few[1].push_back(a[of[i]]);
            few[2].push_back(b[of[i]]);
            few[3].push_back(base[of[i]]);
        }
        const Difference all = difference_of(few[0], few[1], few[2], few[3]);
        const Difference some = difference_of(w, a, b, base, of);
        CHECK_EQ(some.slope, all.slope);
        CHECK_EQ(some.squares, all.squares);
        CHECK_EQ(some.changed, all.changed);
    }
}

TEST_CASE("long vectors: entries that are not finite are left out") {
    const Values gradient{1, kInfinity, 3, std::nan(""), 5}, u{1, 1, 2, 1, 1};
    CHECK_EQ(squares_along(gradient, u), 1 + 36 + 25);
    const Values shaken{2, kInfinity, 3, 4, 4};
    const Shaken found = shaken_along(gradient, {shaken}, u)[0];
    CHECK_EQ(found.change, 0);
    CHECK_EQ(found.squares, 2);
}
