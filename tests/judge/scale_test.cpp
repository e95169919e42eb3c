// Functions with numbers near the limits of f64: their right gradients never fail.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/tests/judge/solver_cases.h>

#include <cmath>

using namespace tapestry;
using namespace tapestry::test;

TEST_CASE("scale: a right gradient at the ends of it never fails") {
    for (const double size : {1e-320, 1e-312, 1e-310, 1e-308, 1e-300, 1e300, 1e307, 3e307}) {
        CAPTURE(size);
        const auto make = [size](std::uint64_t seed) { return of_size(size, seed); };
        const auto counts = verdicts(make, {}, size == 1e-310 ? 200 : 20);
        INFO(described(counts));
        CHECK_EQ(count_of(counts, "FAIL"), 0);
    }
}

namespace {

// sin(x_0) + sin(x_2) + ..., plus terms with slopes `ratio` times smaller
double two_sizes(double ratio, const std::vector<double>& x) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::sin(x[i]) / (i % 2 == 0 ? 1 : ratio);
    return sum;
}

GradcheckReport check_two_sizes(double ratio, const std::vector<double>& x, double last_factor) {
    return check_gradient([ratio](const std::vector<double>& at) { return two_sizes(ratio, at); },
                          [ratio, last_factor](const std::vector<double>& at) {
                              std::vector<double> g(at.size());
                              for (std::size_t i = 0; i < g.size(); ++i) {
                                  g[i] = std::cos(at[i]) / (i % 2 == 0 ? 1 : ratio);
                              }
                              g.back() *= last_factor;
                              return g;
                          },
                          x);
}

}  // namespace

// Decided by what differences can see of it, not by its size relative to the others.
TEST_CASE(
    "scale: a slope far below the others is wrong, right or not seen, and never passes for 0") {
    for (const double turn : {0.1, 0.4, 0.7, 1.2, 1.53, 1.9, 2.6}) {
        CAPTURE(turn);
        const std::vector<double> x{0.8 - turn, turn};
        CHECK_EQ(check_two_sizes(9e10, x, 0).verdict, Verdict::fail);
        CHECK_NE(check_two_sizes(9e10, x, 1).verdict, Verdict::fail);
        CHECK_EQ(check_two_sizes(9e8, x, 1).verdict, Verdict::pass);
        // a thousandth of 1e-12 is lost in the last bit of a sum of 1
        const std::vector<double> more{turn, 0.3, 1 - turn, turn};
        CHECK_NE(check_two_sizes(6e11, more, 1.0025).verdict, Verdict::pass);
        CHECK_NE(check_two_sizes(1e13, more, 1.5).verdict, Verdict::pass);
        CHECK_NE(check_two_sizes(1e13, more, 1).verdict, Verdict::fail);
    }
}
