// Which mistake was made? Each one separately, constructed from a known Jacobian: its name, and the
// wording of the evidence.
#include <tapestry/autograd/check/mistakes.h>
#include <tapestry/tests/judge/support.h>

#include <cmath>

using namespace tapestry;
using namespace tapestry::checker;
using test::contains;
using test::Values;

namespace {

Values random_values(std::int64_t n, std::uint64_t seed) {
    return test::values(test::random({n}, seed));
}

// An op whose outputs all depend on every input, with the right gradient claimed.
Symptoms dense(const Shape& shape, const Shape& output) {
    Symptoms s{.shape = shape, .output = output, .cotangent = random_values(numel(output), 1)};
    for (std::int64_t i = 0; i < numel(shape); ++i) {
        s.places.push_back(static_cast<std::size_t>(i));
        s.slopes.push_back(random_values(numel(output), 100 + static_cast<std::uint64_t>(i)));
    }
    s.claimed = numeric_gradient(s);
    return s;
}

// The same for y[..., i] = slope x[i]: the operand was repeated `times` times.
Symptoms repeated(std::int64_t times, std::int64_t size) {
    Symptoms s = dense({size}, {times, size});
    for (std::size_t i = 0; i < s.slopes.size(); ++i) {
        for (std::size_t k = 0; k < s.slopes[i].size(); ++k) {
            if (k % s.slopes.size() != i) s.slopes[i][k] = 0;
        }
    }
    s.claimed = numeric_gradient(s);
    return s;
}

Symptoms elementwise(std::int64_t size) { return repeated(1, size); }

Values times(Values x, double factor) {
    for (double& value : x) value *= factor;
    return x;
}

void check_cause(const Symptoms& s, Mistake mistake, const std::string& evidence) {
    const Cause cause = find_cause(s);
    CHECK_EQ(to_string(cause.mistake), to_string(mistake));
    CHECK_MESSAGE(contains(cause.evidence, evidence), cause.evidence);
    CHECK_FALSE(cause.hint.empty());
}

}  // namespace

TEST_CASE("mistakes: the numeric gradient is the Jacobian's transpose times the cotangent") {
    const Symptoms s{.shape = {2},
                     .claimed = {},
                     .places = {0, 1},
                     .slopes = {{1, 2, 3}, {0, -1, 0}},
                     .output = {3},
                     .cotangent = {10, 100, 1000}};
    CHECK_EQ(numeric_gradient(s), Values{3210, -100});
}

TEST_CASE("mistakes: NaN and infinity, and zeros everywhere") {
    Symptoms s = dense({2, 3}, {7});
    for (const double bad : {NAN, INFINITY}) {
        s.claimed[4] = bad;
        check_cause(s, Mistake::not_finite, fmt::format("element 4 is {}", bad));
    }
    s.claimed = Values(6, 0.0);
    check_cause(s, Mistake::zero, "claimed is 0 everywhere, numeric norm ");
    s.used_twice = true;
    check_cause(s, Mistake::dropped, "this use of the value claims 0, numeric norm ");
}

TEST_CASE("mistakes: sign and factors, those known by name and others") {
    const auto check_factor = [](double factor, const std::string& evidence) {
        Symptoms s = dense({2, 3}, {7});
        s.claimed = times(s.claimed, factor);
        check_cause(s, factor == -1 ? Mistake::sign : Mistake::factor, evidence);
    };
    check_factor(-1, "claimed = -numeric, to ");
    check_factor(2, "claimed = 2 * numeric (fitted 2), to ");
    check_factor(0.5, "claimed = 1/2 * numeric (fitted 0.5), to ");
    check_factor(-2, "claimed = -2 * numeric (fitted -2), to ");
    check_factor(3, "claimed = 3 (axis 1 of the operand) * numeric (fitted 3), to ");
    check_factor(1.0 / 3, "claimed = 1/3 (axis 1 of the operand) * numeric");
    check_factor(6, "claimed = 6 (all elements of the operand) * numeric");
    check_factor(std::sqrt(7.0), "claimed = sqrt(7) (axis 0 of the output) * numeric");
    check_factor(1 / std::sqrt(3.0), "claimed = 1/sqrt(3) (axis 1 of the operand) * numeric");
    check_factor(0.37, "claimed = 0.37 * numeric, to ");
    check_factor(1.001, "claimed = 1.001 * numeric, to ");
}

TEST_CASE("mistakes: axes exchanged") {
    for (const Shape& shape : {Shape{3, 3}, Shape{2, 3}}) {
        Symptoms s = dense(shape, {7});
        const Tensor right = tensor(s.claimed, shape);
        s.claimed = test::values(views::transpose(right, 0, 1).clone());
        check_cause(s, Mistake::permuted,
                    shape[0] == shape[1]
                        ? "claimed = numeric with its axes in the order [1, 0], to "
                        : "in the order [1, 0], which is column-major order, to ");
    }
    Symptoms s = dense({2, 3, 4}, {7});
    const Tensor right = tensor(s.claimed, {2, 3, 4});
    s.claimed = test::values(views::transpose(right, 1, 2).clone());
    check_cause(s, Mistake::permuted, "in the order [0, 2, 1]");
}

TEST_CASE("mistakes: a broadcast operand") {
    Symptoms s = repeated(4, 3);
    const Symptoms right = s;
    for (const std::size_t row : {0U, 3U}) {
        for (std::size_t i = 0; i < 3; ++i) {
            s.claimed[i] = s.slopes[i][3 * row + i] * s.cotangent[3 * row + i];
        }
        check_cause(s, Mistake::missing_sum,
                    fmt::format("[3] was repeated to [4, 3]; claimed = what the {} of 4 places "
                                "along axis 0 contributes, to ",
                                row == 0 ? "first" : "last"));
    }
    s.claimed = times(right.claimed, 4);
    check_cause(s, Mistake::doubled_sum,
                "[3] was repeated to [4, 3]; claimed = numeric * 4, the places along axis 0, to ");
    s.claimed = times(right.claimed, 0.25);  // a factor with a known origin
    check_cause(s, Mistake::factor,
                "[3] was repeated to [4, 3]; claimed = numeric / 4, the places along axis 0, to ");
}

TEST_CASE("mistakes: off by one") {
    Symptoms s = dense({2, 3}, {7});
    const Values right = s.claimed;
    for (std::size_t i = 0; i < 6; ++i) s.claimed[(i + 1) % 6] = right[i];
    check_cause(s, Mistake::shifted, "claimed = numeric moved by +1 in memory order, to ");
    for (std::size_t i = 0; i < 6; ++i) s.claimed[i] = right[(i + 1) % 6];
    check_cause(s, Mistake::shifted, "claimed = numeric moved by -1 in memory order, to ");
    for (std::size_t i = 0; i < 6; ++i) s.claimed[i / 3 * 3 + (i + 1) % 3] = right[i];
    check_cause(s, Mistake::shifted, "claimed = numeric moved by +1 along axis 1, to ");
}

TEST_CASE("mistakes: what belongs to another operand or another call") {
    Symptoms s = dense({2, 3}, {7});
    s.others = {{0, random_values(6, 51)}, {2, random_values(6, 52)}};
    s.claimed = s.others[1].second;
    check_cause(s, Mistake::stale, "claimed = the right gradient of operand 2, to ");

    s = dense({2, 3}, {7});
    s.other_cotangent = random_values(7, 53);
    Symptoms other = s;
    other.cotangent = s.other_cotangent;
    s.claimed = numeric_gradient(other);
    check_cause(s, Mistake::stale, "claimed = the right gradient for an earlier incoming gradient");
    s.claimed = s.other_claimed = random_values(6, 54);
    check_cause(s, Mistake::stale, "claimed = what the rule claimed for another incoming gradient");
}

TEST_CASE("mistakes: the op's own derivative, left out or there twice") {
    Symptoms s = elementwise(6);
    s.shape = s.output = {6};
    const Values right = s.claimed;
    s.claimed = s.cotangent;
    check_cause(s, Mistake::chain, "claimed = the incoming gradient, to ");
    for (std::size_t i = 0; i < 6; ++i) s.claimed[i] = right[i] * s.slopes[i][i];
    check_cause(s, Mistake::chain, "claimed = incoming * derivative^2, to ");
}

TEST_CASE("mistakes: some elements, and what looks like nothing known") {
    Symptoms s = dense({3, 4}, {7});
    s.claimed[5] += 1;
    s.claimed[7] *= 2;
    check_cause(s, Mistake::partial, "2 of 12 elements are wrong, the first is number 5");
    const Values right = numeric_gradient(s);
    // That a single one is the smallest says nothing.
    const auto by_size = [](double a, double b) { return std::abs(a) < std::abs(b); };
    const auto least = std::min_element(right.begin(), right.end(), by_size) - right.begin();
    s.claimed = right;
    s.claimed[static_cast<std::size_t>(least)] *= 2;
    check_cause(s, Mistake::partial,
                fmt::format("1 of 12 elements are wrong, the first is number {}", least));
    s.claimed = random_values(12, 55);
    const double correlation = [&] {
        double both = 0, one = 0, other = 0;
        for (std::size_t i = 0; i < 12; ++i) {
            both += right[i] * s.claimed[i];
            one += right[i] * right[i];
            other += s.claimed[i] * s.claimed[i];
        }
        return both / std::sqrt(one * other);
    }();
    check_cause(
        s, Mistake::unknown,
        fmt::format("correlation of claimed and numeric gradient {:.3f}, norms ", correlation));
}

TEST_CASE("mistakes: the truth is known at some places only") {
    Symptoms s = dense({2, 3}, {7});
    s.claimed = times(s.claimed, 2);
    for (const std::size_t gone : {4U, 2U}) {
        s.places.erase(s.places.begin() + static_cast<std::ptrdiff_t>(gone));
        s.slopes.erase(s.slopes.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    check_cause(s, Mistake::factor, "claimed = 2 * numeric");
}

// ---- narrow formats -----------------------------------------------------------------------------

namespace {

// What a narrow format leaves open of every number of the right gradient, and another incoming
// gradient with the right claim for it.
void narrow(Symptoms& s, double doubt) {
    s.blur = 0.02;
    s.doubts = Values(s.claimed.size(), doubt);
    s.other_cotangent = random_values(static_cast<std::int64_t>(s.cotangent.size()), 2);
    Symptoms other = s;
    other.cotangent = s.other_cotangent;
    s.other_claimed = numeric_gradient(other);
}

void add(Values& a, const Values& b, double times) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += times * b[i];
}

}  // namespace

TEST_CASE("mistakes: elements in which a format hides a pattern's error are not right") {
    Symptoms s = dense({8}, {4});
    s.point = {2, -1.5, 0.01, 1, -0.02, 1.2, 0.01, -0.7};
    narrow(s, 0.01);
    add(s.claimed, s.point, 0.5);
    add(s.other_claimed, s.point, -0.3);
    check_cause(s, Mistake::held, "proportional to x");
}

TEST_CASE("mistakes: in a narrow format a cause must hold for two incoming gradients") {
    Symptoms s = dense({3, 2}, {4});
    narrow(s, 0.002);
    const Values right = s.claimed;
    for (std::size_t i = 0; i < right.size(); ++i) s.claimed[i] *= 1.5 + static_cast<double>(i / 2);
    s.other_claimed = random_values(6, 3);
    check_cause(s, Mistake::unknown, "correlation");
    s.blur = 0;  // the numbers are exact: no accident
    s.doubts = {};
    check_cause(s, Mistake::rows, "a different factor at each place");
}
