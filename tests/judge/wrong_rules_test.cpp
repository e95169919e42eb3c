// Rules with one mistake each, in a function around them: gradcheck names the op and the mistake.
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/judge/support.h>

#include <algorithm>
#include <cmath>
#include <memory>

using namespace tapestry;
using test::contains;
using test::random;
using test::verdict_of;
using test::with_pair_rule;
using test::with_rule;

namespace {

// Expects f to go wrong in op `name` with this `mistake`.
WrongOp check_found(const TensorFunction& f, const Tensors& inputs, Mistake mistake,
                    const std::string& evidence, const std::string& name = "rule") {
    const GradcheckReport report = gradcheck(f, inputs);
    INFO(to_string(report));
    CHECK_EQ(verdict_of(report), "FAIL");
    REQUIRE(report.first_wrong);
    CHECK_EQ(report.first_wrong->op, name);
    CHECK_EQ(report.first_wrong->others, 0);
    CHECK_EQ(to_string(report.first_wrong->cause.mistake), to_string(mistake));
    CHECK(contains(report.first_wrong->cause.evidence, evidence));
    CHECK_EQ(report.first_wrong->form, "");
    CHECK_FALSE(report.cause);
    return *report.first_wrong;
}

// A wrong rule for sin(x) between right ops.
void check_sine(const test::Rule& rule, Mistake mistake, const std::string& evidence,
                const Shape& shape = {2, 3}) {
    const TensorFunction f = [rule](const Tensors& x) {
        return square(test::sine_with(rule)({exp(x[0])})) + x[0];
    };
    check_found(f, {random(shape)}, mistake, evidence);
}

void check_pair(const test::PairFunction& forward, const test::PairRule& rule,
                const Tensors& inputs, std::size_t operand, Mistake mistake,
                const std::string& evidence) {
    const TensorFunction f = [&](const Tensors& x) {
        return tanh(with_pair_rule(sin(x[0]), x[1], forward, rule));
    };
    const WrongOp wrong = check_found(f, inputs, mistake, evidence, "pair");
    CHECK_EQ(wrong.operand, operand);
}

Tensor with_added(Tensor x, std::int64_t at, double by) {
    x = x.clone();
    x.mutable_data<double>()[at] += by;
    return x;
}

// x shifted by one element in memory, the last element first.
Tensor rolled(const Tensor& x) {
    auto values = x.to_vector<double>();
    std::rotate(values.begin(), values.end() - 1, values.end());
    return tensor(values, x.shape());
}

}  // namespace

TEST_CASE("wrong rules: of one operand") {
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{-(g * cos(x))}; },
               Mistake::sign, "claimed = -numeric");
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{g * cos(x) * 0.5}; },
               Mistake::factor, "claimed = 1/2 * numeric (fitted 0.5");
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{g * cos(x) * 1.7}; },
               Mistake::factor, "claimed = 1.7 * numeric");
    check_sine([](const Tensor&, const Tensor&) { return Tensors{Tensor()}; }, Mistake::zero,
               "claimed is 0 everywhere");
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{g * cos(x) * NAN}; },
               Mistake::not_finite, "element 0 is");
    check_sine([](const Tensor& g, const Tensor&) { return Tensors{g}; }, Mistake::chain,
               "claimed = the incoming gradient");
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{g * square(cos(x))}; },
               Mistake::chain, "claimed = incoming * derivative^2");
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{rolled(g * cos(x))}; },
               Mistake::shifted, "moved by +1 in memory order");
    check_sine(
        [](const Tensor& g, const Tensor& x) { return Tensors{transpose(g * cos(x), 0, 1)}; },
        Mistake::permuted, "in the order [1, 0]", {3, 3});
    check_sine(
        [](const Tensor& g, const Tensor& x) { return Tensors{with_added(g * cos(x), 5, 1e-3)}; },
        Mistake::partial, "1 of 6 elements are wrong, the first is number 5");
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{g * sin(x + 0.4)}; },
               Mistake::formula, "each output depends on its own element, and so does the claim");
}

TEST_CASE("wrong rules: one that keeps what it once said") {
    const auto kept = std::make_shared<Tensor>();
    check_sine(
        [kept](const Tensor& g, const Tensor& x) {
            if (!kept->defined()) *kept = (g * cos(x)).detach().clone();
            return Tensors{*kept};
        },
        Mistake::stale, "claimed = what the rule claimed for another incoming gradient");
    const auto buffer = std::make_shared<Tensor>();
    check_sine(
        [buffer](const Tensor& g, const Tensor& x) {  // returns the buffer of the last call
            const Tensor last = buffer->defined() ? *buffer : zeros_like(x);
            *buffer = (g * cos(x)).detach().clone();
            return Tensors{last};
        },
        Mistake::stale, "the same incoming gradient gave two results");
}

TEST_CASE("wrong rules: of two operands") {
    const auto product = [](const Tensor& a, const Tensor& b) { return a * b; };
    const Tensors two{random({2, 3}), random({2, 3}, 2)};
    check_pair(
        product,
        [](const Tensor& g, const Tensor& a, const Tensor& b) {
            return Tensors{g * a, g * b};
        },
        two, 0, Mistake::stale, "claimed = the right gradient of operand 1");
    check_pair(
        product,
        [](const Tensor& g, const Tensor& a, const Tensor& b) {
            return Tensors{g * b, -(g * a)};
        },
        two, 1, Mistake::sign, "claimed = -numeric");
    check_pair([](const Tensor& a, const Tensor& b) { return a - b; },
               [](const Tensor& g, const Tensor&, const Tensor&) {
                   return Tensors{g, g};
               },
               two, 1, Mistake::sign, "claimed = -numeric");
    const auto added = [](const Tensor& a, const Tensor& b) { return a + b; };
    const Tensors broadcast{random({4, 3}), random({3}, 2)};
    check_pair(
        added,
        [](const Tensor& g, const Tensor&, const Tensor&) {
            return Tensors{g, reshape(slice(g, 0, 0, 1), {3})};
        },
        broadcast, 1, Mistake::missing_sum, "the first of 4 places along axis 0");
    check_pair(
        added,
        [](const Tensor& g, const Tensor&, const Tensor&) {
            return Tensors{g, sum(g, {0}) * 4.0};
        },
        broadcast, 1, Mistake::doubled_sum, "claimed = numeric * 4");
    check_pair(
        added,
        [](const Tensor& g, const Tensor&, const Tensor&) {
            return Tensors{g, mean(g, {0})};
        },
        broadcast, 1, Mistake::factor, "claimed = numeric / 4");
    check_pair([](const Tensor& a, const Tensor& b) { return matmul(a, b); },
               [](const Tensor& g, const Tensor& a, const Tensor& b) {
                   return Tensors{matmul(b, transpose(g, 0, 1)), matmul(transpose(a, 0, 1), g)};
               },
               {random({3, 3}), random({3, 3}, 2)}, 0, Mistake::permuted, "in the order [1, 0]");
}

TEST_CASE("wrong rules: a value used twice, one of its uses giving nothing") {
    const auto f = [](const Tensors& x) {
        const Tensor y = exp(x[0]);
        return with_pair_rule(
            y, y, [](const Tensor& a, const Tensor& b) { return a * b; },
            [](const Tensor& g, const Tensor&, const Tensor& b) {
                return Tensors{g * b, Tensor()};
            });
    };
    const WrongOp wrong =
        check_found(f, {random({3})}, Mistake::dropped, "this use of the value claims 0", "pair");
    CHECK_EQ(wrong.operand, 1);
}

TEST_CASE("wrong rules: a way round the tape is named, where no rule is wrong") {
    const auto check_detached = [](const TensorFunction& f, const std::string& where) {
        const GradcheckReport report = gradcheck(f, {random({3})});
        INFO(to_string(report));
        CHECK_EQ(verdict_of(report), "FAIL");
        CHECK_FALSE(report.first_wrong);
        REQUIRE(report.cause);
        CHECK_EQ(to_string(report.cause->mistake), to_string(Mistake::detached));
        CHECK_EQ(report.cause->evidence,
                 where + " changes with this input, but is a constant to the tape");
    };
    check_detached([](const Tensors& x) { return x[0] * sin(x[0].detach()); },
                   "operand 1 of mul (#0)");
    check_detached([](const Tensors& x) { return x[0] * sum(x[0]).item(); },
                   "operand 1 of mul (#1)");
    check_detached(
        [](const Tensors& x) {
            const Tensor y = exp(x[0]);
            return y / sum(y).detach();
        },
        "operand 1 of div (#2)");
    check_detached(
        [](const Tensors& x) {
            const Tensor scale = [&] {
                const NoGradGuard no_grad;
                return sqrt(mean(square(x[0])));
            }();
            return tanh(x[0] / scale);
        },
        "operand 1 of div (#0)");
}
