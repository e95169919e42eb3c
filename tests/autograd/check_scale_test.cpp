// Functions of numbers next to the ends of f64's scale: their right gradients never fail.
#include <tapestry/tests/autograd/solver_cases.h>

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
