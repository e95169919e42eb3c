// Functions of numbers next to the ends of f64's scale: their right gradients never fail.
#include <tapestry/tests/autograd/plain_cases.h>

using namespace tapestry;
using namespace tapestry::test;

namespace {

// a^T x + sqrt(x_0 x_1), x of this size.
Case of_size(double size, std::uint64_t seed) {
    const Plain a = drawn(seed, 3);
    Plain x = drawn(seed + 10'000, 3, 1, 2);
    for (double& value : x) value *= size;
    return {[a](const Plain& at) {
                return std::inner_product(a.begin(), a.end(), at.begin(), 0.0) +
                       std::sqrt(at[0]) * std::sqrt(at[1]);
            },
            [a](const Plain& at) {
                Plain g = a;
                g[0] += 0.5 * std::sqrt(at[1] / at[0]);
                g[1] += 0.5 * std::sqrt(at[0] / at[1]);
                return g;
            },
            x};
}

}  // namespace

TEST_CASE("scale: a right gradient at the ends of it never fails") {
    for (const double size : {1e-320, 1e-312, 1e-310, 1e-308, 1e-300, 1e300, 1e307, 3e307}) {
        CAPTURE(size);
        const auto make = [size](std::uint64_t seed) { return of_size(size, seed); };
        const auto counts = verdicts(make, {}, size == 1e-310 ? 200 : 20);
        INFO(described(counts));
        CHECK_EQ(count_of(counts, "FAIL"), 0);
    }
}
