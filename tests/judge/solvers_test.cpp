// Gradients of a function's limit, next to the function itself: never FAIL if they are within the
// solver's undeclared error, PASS if the error is declared; wrong ones FAIL.
#include <tapestry/tests/judge/solver_cases.h>

using namespace tapestry;
using namespace tapestry::test;

namespace {

using Make = std::function<Case(std::uint64_t seed)>;

void never_fails(const std::string& what, const Make& make) {
    const auto counts = verdicts(make);
    INFO(what << ": " << described(counts));
    CHECK_EQ(count_of(counts, "FAIL"), 0);
}

void always_fails(const std::string& what, const Make& make,
                  const std::function<void(Plain&)>& spoil) {
    const auto counts = verdicts([&](std::uint64_t seed) {
        Case one = make(seed);
        one.gradient = [right = one.gradient, spoil](const Plain& x) {
            Plain g = right(x);
            spoil(g);
            return g;
        };
        return one;
    });
    INFO(what << ": " << described(counts));
    CHECK_EQ(count_of(counts, "FAIL"), kSeeds);
}

const Make kJacobi = [](std::uint64_t seed) { return jacobi(6, 14, seed); };
const Make kCosine = [](std::uint64_t seed) { return rounds_of_cosine(20, seed); };

}  // namespace

TEST_CASE("solvers: a fixed number of rounds never makes a right gradient fail") {
    for (const int rounds : {8, 14, 22}) {
        never_fails("Jacobi", [rounds](std::uint64_t seed) { return jacobi(6, rounds, seed); });
    }
    never_fails("Newton", [](std::uint64_t seed) { return newton(6, seed); });
    never_fails("fixed point", kCosine);
    never_fails("conjugate gradients, all rounds",
                [](std::uint64_t seed) { return conjugate_gradients(7, 7, seed); });
    never_fails("conjugate gradients, early",
                [](std::uint64_t seed) { return conjugate_gradients(30, 50, seed); });
    never_fails("power method", [](std::uint64_t seed) { return power_method(6, 300, seed); });
    never_fails("Simpson's rule", [](std::uint64_t seed) { return quadrature(20, seed); });
}

TEST_CASE("solvers: badly conditioned systems never make a right gradient fail") {
    // Beyond that, Hilbert matrices are singular in f64 (condition 5e14) and prolate ones nearly
    // so: a right gradient may FAIL there (docs/gradient-checking.md).
    for (std::size_t n = 6; n <= 10; ++n) {
        CAPTURE(n);
        never_fails("Vandermonde",
                    [n](std::uint64_t seed) { return system_of(vandermonde(n), seed); });
        never_fails("Toeplitz", [n](std::uint64_t seed) { return system_of(prolate(n), seed); });
        never_fails("Hilbert", [n](std::uint64_t seed) { return system_of(hilbert(n), seed); });
    }
}

TEST_CASE("solvers: numbers at the ends of the scale") {
    for (const double size : {1e-320, 1e-312, 1e-308, 1e-300, 1e300, 1e307, 3e307}) {
        CAPTURE(size);
        never_fails("ends", [size](std::uint64_t seed) { return of_size(size, seed); });
    }
}

TEST_CASE("solvers: what is off by more than a solver's error fails, and what is off in places") {
    const auto by = [](double factor) {
        return [factor](Plain& g) {
            for (double& slope : g) slope *= factor;
        };
    };
    const auto one_by = [](double factor) { return [factor](Plain& g) { g[1] *= factor; }; };
    for (const Make& make : {kJacobi, kCosine}) {
        always_fails("a factor", make, by(1.0003));
        always_fails("a sign", make, by(-1));
        always_fails("one element", make, one_by(1.0003));
        always_fails("one element dropped", make, one_by(0));
    }
    const Make exact = [](std::uint64_t seed) {
        return Case{sum_of_sines, slopes_of_sines, drawn(seed, 8, 0.5, 1.5)};
    };
    always_fails("one element, by little", exact, one_by(1 + 1e-6));
    always_fails("a factor, by little", exact, by(1 + 3e-5));
    // Nonzero slopes that are claimed to be 0 are wrong, however small.
    for (const std::size_t back : {std::size_t{4}, std::size_t{28}}) {
        always_fails(
            "truncated backward",
            [back](std::uint64_t seed) { return truncated_backward(back, seed); }, by(1));
    }
}

TEST_CASE("solvers: errors everywhere, as small as a solver's, never pass") {
    for (const double size : {1e-7, 1e-6, 1e-5}) {
        CAPTURE(size);
        const auto counts = verdicts([size](std::uint64_t seed) {
            const Plain errors = drawn(seed + 200, 8, -size, size);
            const auto garbled = [errors](const Plain& x) {
                Plain g = slopes_of_sines(x);
                for (std::size_t i = 0; i < g.size(); ++i) g[i] *= 1 + errors[i];
                return g;
            };
            return Case{sum_of_sines, garbled, drawn(seed, 8, 0.5, 1.5)};
        });
        INFO(described(counts));
        CHECK_EQ(count_of(counts, "PASS"), 0);
        CHECK_EQ(count_of(counts, "INCONCLUSIVE (undeclared error)"), kSeeds);
    }
}

TEST_CASE("solvers: both explanations are named, and a declared error tells") {
    const Case one = jacobi(6, 8, 1);
    const auto report = check_gradient(one.f, one.gradient, one.x);
    CHECK_EQ(verdict_of(report), "INCONCLUSIVE (undeclared error)");
    REQUIRE_EQ(report.inputs.size(), 1);
    const std::string& note = report.inputs[0].note;
    INFO(note);
    CHECK(note.find("wrong") != std::string::npos);
    CHECK(note.find("stops") != std::string::npos);
    CHECK(note.find("noise") != std::string::npos);
    const auto passes =
        verdicts([](std::uint64_t seed) { return jacobi(6, 14, seed); }, {.noise = 1e-6});
    INFO(described(passes));
    CHECK_EQ(count_of(passes, "PASS"), kSeeds);
}
