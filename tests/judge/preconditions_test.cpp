// Preconditions of a gradient check: inputs that can be changed one number at a time, and a
// function that is deterministic in any context.
#include <tapestry/autograd/check/plain.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/core/parallel.h>
#include <tapestry/tests/judge/support.h>
#include <tapestry/tests/settings.h>

#include <atomic>
#include <cmath>
#include <thread>

using namespace tapestry;
using test::check_passes;
using test::check_throws;
using test::random;
using test::verdict_of;

namespace {

Tensor sum_of_all(const Tensors& x) {
    Tensor total = sum(x[0]);
    for (std::size_t i = 1; i < x.size(); ++i) total = total + sum(x[i]);
    return total;
}

}  // namespace

TEST_CASE("preconditions: an input that overlaps itself or another is refused") {
    for (const test::Checker check : test::kBothOrders) {
        const auto refused = [check](const Tensors& inputs, const std::string& message) {
            check_throws<ValueError>([&] { check(sum_of_all, inputs, {}); }, message);
        };
        const Tensor row = random({3});
        refused({views::expand(row, {2, 3})},
                "gradcheck: input 0 [2, 3] overlaps itself in memory (strides [0, 1]); pass a "
                "clone()");
        refused({random({1}), views::expand(random({2, 1}), {2, 4})},
                "gradcheck: input 1 [2, 4] overlaps itself in memory (strides [1, 0]); pass a "
                "clone()");
        refused({row, row}, "gradcheck: inputs 0 and 1 overlap in memory; pass clones");
        const Tensor whole = random({4, 3});
        refused({views::slice(whole, 0, 0, 2), views::slice(whole, 0, -1, 0, -1)},
                "gradcheck: inputs 0 and 1 overlap in memory; pass clones");
        refused({views::slice(whole, 0, 0, 3), random({2}), views::slice(whole, 0, 2, 4)},
                "gradcheck: inputs 0 and 2 overlap in memory; pass clones");
    }
}

TEST_CASE("preconditions: views that do not overlap are welcome") {
    const Tensor whole = random({4, 3});
    for (const test::Checker check : test::kBothOrders) {
        check_passes(check(sum_of_all, {views::transpose(whole, 0, 1)}, {}));
        check_passes(check(sum_of_all, {views::slice(whole, 1, 0, 3, 2)}, {}));
        check_passes(
            check(sum_of_all, {views::slice(whole, 0, 0, 2), views::slice(whole, 0, 2, 4)}, {}));
        check_passes(check(sum_of_all, {views::slice(whole, 0, -1, -5, -1)}, {}));
        check_passes(check(sum_of_all,
                           {views::slice(whole, 0, 0, 2), views::slice(whole, 0, 3, 1, -1)}, {}));
        check_passes(check(sum_of_all, {views::expand(random({1}), {1})}, {}));
        check_passes(check(sum_of_all, {views::expand(random({0, 1}), {0, 5})}, {}));
        check_passes(check(sum_of_all, {whole, whole.clone()}, {}));
    }
}

TEST_CASE("preconditions: results that depend on the number of threads") {
    const test::SettingsGuard restored;
    set_num_threads(2);
    const std::string bits =
        "2 and 1 threads give different bits: a race, or sums in an order that depends on the "
        "threads";
    // In the value, and in the gradient only.
    const TensorFunction value = [](const Tensors& x) {
        return x[0] * static_cast<double>(num_threads());
    };
    const TensorFunction gradient = test::sine_with([](const Tensor& g, const Tensor& x) {
        return Tensors{g * cos(x) * (num_threads() == 1 ? 1 + 1e-15 : 1.0)};
    });
    for (const TensorFunction& f : {value, gradient}) {
        for (const test::Checker check : test::kBothOrders) {
            const GradcheckReport report = check(f, {random({3})}, {});
            CHECK_EQ(verdict_of(report), "FAIL");
            CHECK_EQ(test::complaints_of(report), bits);
            CHECK_EQ(num_threads(), 2);
        }
        check_passes(gradcheck(f, {random({3})}, {.preconditions = false}));
    }
    set_num_threads(1);
    const GradcheckReport report = gradcheck(value, {random({3})});
    CHECK_EQ(test::complaints_of(report),
             "1 and 2 threads give different bits: a race, or sums in an "
             "order that depends on the threads");
    CHECK_EQ(num_threads(), 1);
}

TEST_CASE("preconditions: checks on several threads leave their number as it was") {
    const test::SettingsGuard restored;
    set_num_threads(3);
    std::atomic<int> phase{0}, passed{0};
    // In the fourth call of f, which is after those that look for randomness, says that it has
    // begun, and waits.
    const auto check_on_a_thread = [&](int begun, int until) {
        while (phase < begun - 1) std::this_thread::yield();
        int calls = 0;
        const TensorFunction f = [&](const Tensors& x) {
            if (++calls == 4) {
                phase = begun;
                while (phase < until) std::this_thread::yield();
            }
            return sin(x[0]);
        };
        if (gradcheck(f, {random({3})}, {.preconditions = false})) ++passed;
    };
    std::thread first(check_on_a_thread, 1, 2), second(check_on_a_thread, 2, 3);
    first.join();
    phase = 3;
    second.join();
    CHECK_EQ(passed, 2);
    CHECK_EQ(num_threads(), 3);
}

TEST_CASE("preconditions: a function that does something else when it is computed again") {
    // Inside recompute() the first run's recording is discarded; the second one's stays.
    const TensorFunction f = test::sine_with([](const Tensor& g, const Tensor& x) {
        const bool again = Tape::current() != nullptr && Tape::current()->entries().empty();
        return Tensors{g * cos(x) * (again ? 2.0 : 1.0)};
    });
    check_passes(gradcheck(f, {random({3})}));
    const TensorFunction counts = [](const Tensors& x) {
        const Tape* tape = Tape::current();
        const bool second = tape != nullptr && !tape->entries().empty();
        return sin(x[0]) * (second ? 1 + 1e-15 : 1.0);
    };
    const GradcheckReport report = gradcheck(counts, {random({3})});
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK_EQ(test::complaints_of(report),
             "inside recompute() the gradient has different bits: the function does something else "
             "when it is computed again");
    check_passes(gradcheck(counts, {random({3})}, {.preconditions = false}));
}

TEST_CASE("preconditions: NaN is the same result twice") {
    int calls = 0;
    const auto f = [&calls](const std::vector<double>& x) {
        return std::vector{std::nan(""), std::sin(x[0]) * (1 + 1e-13 * (calls++ % 2))};
    };
    const auto back = [](const std::vector<double>& x, const std::vector<double>& g) {
        return std::vector{std::cos(x[0]) * g[1]};
    };
    CHECK_EQ(verdict_of(check_pullback(f, back, {0.7})), "INCONCLUSIVE (not finite)");
}

TEST_CASE("preconditions: a backward that writes into what it was given") {
    // Writes into its incoming gradient, which other entries may share, and into x.
    const auto writing = [](bool into_x) {
        return test::sine_with([into_x](const Tensor& g, const Tensor& x) {
            const Tensor grad = g * cos(x);
            // Unnoticed by the tape, which checks saved tensors.
            const_cast<double*>((into_x ? x : g).data<double>())[0] += 1;
            return Tensors{grad};
        });
    };
    const Tensor x = random({3});
    const GradcheckReport gradient = gradcheck(writing(false), {x});
    CHECK_EQ(verdict_of(gradient), "FAIL");
    CHECK_EQ(test::complaints_of(gradient), "a backward rule writes into its incoming gradient");
    const Tensor leaf = x.clone().set_requires_grad();
    const GradcheckReport input = gradcheck([&] { return writing(true)({leaf}); },
                                            NamedTensors{{"x", leaf}}, {.preconditions = false});
    CHECK_EQ(verdict_of(input), "FAIL");
    CHECK_EQ(test::complaints_of(input), "a backward rule writes into x");
    CHECK_EQ(test::values(leaf), test::values(x));
}

TEST_CASE("preconditions: a rule in f32 may lose digits where its incoming gradient is huge") {
    const auto f = [](const std::vector<double>& x) {
        std::vector<double> y = x;
        for (double& value : y) value *= value;
        return y;
    };
    // As the exponential of a matrix that holds both x and g
    const auto pullback = [](const std::vector<double>& x, const std::vector<double>& g) {
        std::vector<double> dx;
        for (std::size_t i = 0; i < x.size(); ++i) {
            dx.push_back(2 * x[i] * g[i] * (1 + 1e-7 * std::abs(g[i])));
        }
        return dx;
    };
    const std::vector<double> x{0.5, 1.25, -2};
    CHECK_EQ(check_pullback(f, pullback, x, {.format = Format::f32}).verdict, Verdict::pass);
    CHECK_EQ(check_pullback(f, pullback, x).verdict, Verdict::fail);
}
