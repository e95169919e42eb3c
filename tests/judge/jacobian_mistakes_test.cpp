// Which mistake was made, seen from the whole Jacobian: a rule that can be asked for each output
// alone. Each case constructs the right Jacobian and what the wrong rule makes of it.
#include <tapestry/autograd/check/mistakes.h>
#include <tapestry/tests/judge/support.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

using namespace tapestry;
using namespace tapestry::checker;
using test::contains;
using test::Values;

namespace {

constexpr std::size_t kRows = 4, kColumns = 5;

Values random_values(std::size_t n, std::uint64_t seed) {
    return test::values(test::random({static_cast<std::int64_t>(n)}, seed));
}

using Matrix = std::vector<Values>;  // [place][output]

Matrix random_matrix(std::size_t places, std::size_t outputs) {
    Matrix m;
    for (std::size_t p = 0; p < places; ++p) m.push_back(random_values(outputs, 100 + p));
    return m;
}

// Each entry of a matrix, changed.
Matrix with(Matrix m, const std::function<double(std::size_t, std::size_t, double)>& entry) {
    for (std::size_t p = 0; p < m.size(); ++p) {
        for (std::size_t i = 0; i < m[p].size(); ++i) m[p][i] = entry(p, i, m[p][i]);
    }
    return m;
}

Values times(const Matrix& m, const Values& g) {
    Values found;
    for (const Values& row : m) {
        double sum = 0;
        for (std::size_t i = 0; i < row.size(); ++i) sum += row[i] * g[i];
        found.push_back(sum);
    }
    return found;
}

Symptoms symptoms(const Shape& shape, const Shape& output, const Matrix& right,
                  const Matrix& claimed) {
    const auto m = static_cast<std::size_t>(numel(output));
    Symptoms s{.shape = shape, .output = output, .cotangent = random_values(m, 1)};
    s.slopes = right;
    for (std::size_t p = 0; p < right.size(); ++p) s.places.push_back(p);
    s.slope_doubts.assign(right.size(), Values(m, 1e-12));
    s.doubts.assign(right.size(), 1e-12);
    s.rule = [claimed](const Values& g) { return times(claimed, g); };
    s.claimed = times(claimed, s.cotangent);
    s.other_cotangent = random_values(m, 2);
    s.other_claimed = times(claimed, s.other_cotangent);
    s.point = random_values(right.size(), 3);
    return s;
}

void check_cause(const Symptoms& s, Mistake mistake, const std::string& evidence) {
    const Cause cause = find_cause(s);
    CHECK_EQ(to_string(cause.mistake), to_string(mistake));
    CHECK_MESSAGE(contains(cause.evidence, evidence), cause.evidence);
    CHECK_FALSE(cause.hint.empty());
}

const Shape kSquare{static_cast<std::int64_t>(kRows), static_cast<std::int64_t>(kColumns)};

// f works on each row of [kRows, kColumns] alone.
Matrix by_rows() {
    return with(random_matrix(kRows * kColumns, kRows * kColumns),
                [](std::size_t p, std::size_t i, double value) {
                    return p / kColumns == i / kColumns ? value : 0;
                });
}

Matrix diagonal() {
    return with(random_matrix(9, 9),
                [](std::size_t p, std::size_t i, double value) { return p == i ? value : 0; });
}

}  // namespace

TEST_CASE("mistakes: the Jacobian for its transpose") {
    const Matrix right = random_matrix(9, 9);
    const Matrix claimed =
        with(right, [&right](std::size_t p, std::size_t i, double) { return right[i][p]; });
    check_cause(symptoms({9}, {9}, right, claimed), Mistake::permuted, "J g");
}

TEST_CASE("mistakes: a product of complex numbers without its conjugate") {
    const Values z = random_values(8, 9);
    const Matrix right =
        with(Matrix(8, Values(8, 0.0)), [&z](std::size_t p, std::size_t i, double) {
            if (p / 2 != i / 2) return 0.0;
            const double part = z[p == i ? p / 2 * 2 : p / 2 * 2 + 1];
            return p > i ? -part : part;
        });
    const Matrix claimed =
        with(right, [&right](std::size_t p, std::size_t i, double) { return right[i][p]; });
    check_cause(symptoms({4, 2}, {4, 2}, right, claimed), Mistake::conjugate, "complex numbers");
}

TEST_CASE("mistakes: a slow rule is not asked for every output") {
    const auto each = [](std::size_t p, std::size_t, double value) {
        return value * (1 + 0.1 * static_cast<double>(p * p));
    };
    Symptoms s = symptoms({9}, {9}, diagonal(), with(diagonal(), each));
    int calls = 0;
    s.rule = [&calls, rule = s.rule](const Values& g) {
        ++calls;
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        return rule(g);
    };
    CHECK_EQ(find_cause(s).mistake, Mistake::unknown);
    CHECK_LE(calls, 2);
}

TEST_CASE("mistakes: an incoming gradient in another order") {
    const Matrix right = random_matrix(7, 6);
    const Matrix reversed =
        with(right, [&right](std::size_t p, std::size_t i, double) { return right[p][5 - i]; });
    check_cause(symptoms({7}, {6}, right, reversed), Mistake::flipped, "reversed along axis 0");
    const Matrix moved = with(
        right, [&right](std::size_t p, std::size_t i, double) { return right[p][(i + 5) % 6]; });
    check_cause(symptoms({7}, {6}, right, moved), Mistake::shifted, "for an incoming one moved by");
    const Matrix permuted = with(right, [&right](std::size_t p, std::size_t i, double) {
        return right[p][i % 3 * 2 + i / 3];
    });
    check_cause(symptoms({7}, {3, 2}, right, permuted), Mistake::permuted, "axes in");
}

TEST_CASE("mistakes: a gradient that is not averaged with its transpose") {
    Matrix right = random_matrix(9, 4);
    right = with(right, [&right](std::size_t p, std::size_t i, double value) {
        return value + right[p % 3 * 3 + p / 3][i];
    });
    const Matrix claimed = with(right, [](std::size_t p, std::size_t, double value) {
        return value * (p / 3 > p % 3 ? 1.5 : p / 3 < p % 3 ? 0.5 : 1);
    });
    check_cause(symptoms({3, 3}, {4}, right, claimed), Mistake::symmetry, "is symmetric");
}

TEST_CASE("mistakes: contributions that are dropped, and all but the diagonal") {
    const Matrix right = by_rows();
    const Matrix some = with(right, [](std::size_t p, std::size_t i, double value) {
        return (p + 2 * i) % 3 == 0 ? 0 : value;
    });
    check_cause(symptoms(kSquare, kSquare, right, some), Mistake::dropped, "claimed to be 0");
    const Matrix own =
        with(right, [](std::size_t p, std::size_t i, double value) { return p == i ? value : 0; });
    check_cause(symptoms(kSquare, kSquare, right, own), Mistake::missing_term, "diagonal");
    const Matrix scan = with(random_matrix(8, 8), [](std::size_t p, std::size_t i, double value) {
        return p <= i ? value : 0;
    });
    const Matrix truncated =
        with(scan, [](std::size_t p, std::size_t i, double value) { return p == i ? value : 0; });
    check_cause(symptoms({8}, {8}, scan, truncated), Mistake::dropped, "claimed to be 0");
    const Matrix outputs = with(random_matrix(6, 12), [](std::size_t, std::size_t i, double value) {
        return i % 5 == 1 || i % 5 == 2 ? 0 : value;
    });
    check_cause(symptoms({6}, {12}, random_matrix(6, 12), outputs), Mistake::dropped, "entries");
}

TEST_CASE("mistakes: rows that are mixed") {
    const Matrix right = by_rows();
    const Values by = random_values(kRows * kColumns, 9), of = random_values(kRows * kColumns, 10);
    const Matrix claimed = with(right, [&](std::size_t p, std::size_t i, double value) {
        return p / kColumns == i / kColumns ? value : by[p] * of[i];
    });
    check_cause(symptoms(kSquare, kSquare, right, claimed), Mistake::mixed, "axis 0");
}

TEST_CASE("mistakes: a mask that the rule ignores") {
    const Matrix claimed = random_matrix(8, 6);
    const Matrix right = with(claimed, [](std::size_t p, std::size_t i, double value) {
        return (3 * p + 5 * i) % 4 == 0 ? 0 : value;
    });
    check_cause(symptoms({8}, {6}, right, claimed), Mistake::unmasked, "more are claimed");
}

TEST_CASE("mistakes: a formula of single derivatives, outputs, elements or steps") {
    const Values own = random_values(12, 9), other = random_values(12, 10);
    const auto each = [&own](std::size_t p, std::size_t, double value) { return own[p] * value; };
    check_cause(symptoms({9}, {9}, diagonal(), with(diagonal(), each)), Mistake::formula,
                "each output depends on its own element");
    const Matrix dense = random_matrix(7, 6);
    check_cause(symptoms({7}, {6}, dense, with(dense, each)), Mistake::formula, "each element's");
    const auto by_output = [&own](std::size_t, std::size_t i, double value) {
        return own[i] * value;
    };
    check_cause(symptoms({7}, {6}, dense, with(dense, by_output)), Mistake::formula,
                "each output's");
    const auto both = [&](std::size_t p, std::size_t i, double value) {
        return own[i] * other[p] * value;
    };
    check_cause(symptoms({7}, {6}, dense, with(dense, both)), Mistake::formula,
                "a factor of its output and one of its element");
    const Matrix square = random_matrix(8, 8);
    const auto direct = [&own](std::size_t p, std::size_t i, double value) {
        return value - (p == i ? own[p] : 0);
    };
    check_cause(symptoms({8}, {8}, square, with(square, direct)), Mistake::formula,
                "own incoming gradient");
}

TEST_CASE("mistakes: factors of some elements or outputs are no formula") {
    const Matrix right = random_matrix(9, 12);
    const auto some = [](std::size_t p, std::size_t, double value) {
        return p % 3 == 0 || p == 4 ? 1.25 * value + 0.5 * static_cast<double>(p) * value : value;
    };
    check_cause(symptoms({9}, {12}, right, with(right, some)), Mistake::partial, "of 9 elements");
    const Values own = random_values(12, 9);
    const auto outputs = [&own](std::size_t, std::size_t i, double value) {
        return i % 4 == 3 ? own[i] * value : value;
    };
    check_cause(symptoms({9}, {12}, right, with(right, outputs)), Mistake::rows, "of 12 outputs");
}

TEST_CASE("mistakes: a kernel that is reversed within each window") {
    const Matrix right = with(Matrix(9, Values(6, 0.0)), [](std::size_t p, std::size_t i, double) {
        return p >= i && p < i + 4 ? std::sqrt(1.0 + static_cast<double>(p - i)) : 0;
    });
    const Matrix claimed = with(right, [&right](std::size_t p, std::size_t i, double value) {
        return p >= i && p < i + 4 ? right[2 * i + 3 - p][i] : value;
    });
    check_cause(symptoms({9}, {6}, right, claimed), Mistake::flipped, "within its window of 4");
}

TEST_CASE("mistakes: a scan that runs the wrong way") {
    const Matrix right = with(random_matrix(8, 8), [](std::size_t p, std::size_t i, double value) {
        return p <= i ? value : 0;
    });
    const Matrix claimed = with(
        random_matrix(8, 8),
        [](std::size_t p, std::size_t i, double value) { return p >= i ? 2 * value * value : 0; });
    check_cause(symptoms({8}, {8}, right, claimed), Mistake::flipped, "those before it");
}

TEST_CASE("mistakes: contributions that arrive at another element") {
    const Matrix right = with(random_matrix(10, 6), [](std::size_t p, std::size_t i, double value) {
        return p == 3 * i % 10 ? value : 0;
    });
    const Matrix claimed = with(right, [&right](std::size_t p, std::size_t i, double) {
        return p == (7 * i + 4) % 10 ? right[3 * i % 10][i] : 0;
    });
    check_cause(symptoms({10}, {6}, right, claimed), Mistake::misplaced, "5 of 6 outputs");
}

TEST_CASE("mistakes: the term of one number in each row") {
    const Matrix right = by_rows();
    const Values by = random_values(kRows * kColumns, 9), of = random_values(kRows * kColumns, 10);
    const Matrix claimed = with(right, [&](std::size_t p, std::size_t i, double value) {
        return p / kColumns == i / kColumns ? value + by[p] * of[i] : value;
    });
    check_cause(symptoms(kSquare, kSquare, right, claimed), Mistake::wrong_sum, "axis 0");
}

TEST_CASE("mistakes: what no rule of this kind explains has no name") {
    const Matrix right = random_matrix(8, 6);
    const Matrix claimed = with(right, [](std::size_t p, std::size_t i, double value) {
        return value + std::sin(static_cast<double>(7 * p * p + 3 * i * p + i * i));
    });
    CHECK_EQ(find_cause(symptoms({8}, {6}, right, claimed)).mistake, Mistake::unknown);
    Symptoms silent = symptoms({9}, {9}, diagonal(), random_matrix(9, 9));
    silent.rule = {};  // it cannot be asked again
    CHECK_EQ(find_cause(silent).mistake, Mistake::unknown);
}
