// Does the checker tell right from wrong? Right functions must pass, and each kind of wrong rule
// must fail with a report that points to it.
#include <tapestry/ops/activation.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/judge/support.h>

#include <cmath>
#include <cstdlib>

using namespace tapestry;
using doctest::Approx;
using test::check_fails;
using test::check_passes;
using test::check_throws;
using test::contains;
using test::random;
using test::sine_with;
using test::verdict_of;
using test::with_rule;

TEST_CASE("gradcheck: right functions pass") {
    const auto pass = [](const TensorFunction& f, const Tensors& inputs) {
        check_passes(gradcheck(f, inputs));
        check_passes(gradgradcheck(f, inputs));
    };
    pass([](const Tensors& x) { return sin(x[0]) * exp(x[1]); }, {random({2, 3}), random({3}, 2)});
    pass([](const Tensors& x) { return matmul(x[0], x[1]); }, {random({2, 3}), random({3, 2}, 2)});
    pass([](const Tensors& x) { return softmax(x[0]); }, {random({2, 4})});
    pass([](const Tensors& x) { return pow(x[0], 3.0) * 1e4; }, {random({5})});
    pass([](const Tensors& x) { return tanh(x[0]); }, {random({})});
    pass([](const Tensors& x) { return exp(x[0]); }, {random({0, 3})});
    pass([](const Tensors& x) { return x[0]; }, {random({2})});  // a leaf itself
    pass([](const Tensors& x) { return sin(x[0]); }, {random({2}), random({3}, 2)});  // one unused
    pass([](const Tensors&) { return random({2}); }, {random({2})});                  // a constant
    pass([](const Tensors& x) { return tanh(transpose(x[0], 0, 1)); },
         {transpose(random({2, 3}), 0, 1)});
    const Tensor ids = tensor<std::int64_t>({3, 1, 3});
    pass([ids](const Tensors& x) { return embedding(x[0], ids); }, {random({4, 2})});
    // Two views of one storage that do not overlap.
    const Tensor whole = random({4, 3});
    pass([](const Tensors& x) { return x[0] * x[1]; },
         {views::slice(whole, 0, 0, 2), views::slice(whole, 0, 2, 4)});
}

TEST_CASE("gradcheck: of numbers far from 1") {
    for (const double scale : {1e-8, 1e-3, 1e3, 1e8}) {
        const Tensor x = random({3}) * scale;
        const TensorFunction f = [scale](const Tensors& t) { return sin(t[0] / scale); };
        check_passes(gradcheck(f, {x}));
        check_passes(gradgradcheck(f, {x}));
        const TensorFunction wrong = [scale](const Tensors& t) {
            return test::tanh_times(t[0] / scale, 1 + 1e-5);
        };
        check_fails(gradcheck(wrong, {x}));
    }
}

TEST_CASE("gradcheck: a function of leaves that it knows") {
    const NamedTensors leaves{{"weight", random({2, 3}).set_requires_grad()},
                              {"bias", random({3}, 2).set_requires_grad()}};
    const Tensor x = random({4, 2}, 3);
    const auto f = [&] { return tanh(matmul(x, leaves[0].second) + leaves[1].second); };
    check_passes(gradcheck(f, leaves));
    check_passes(gradgradcheck(f, leaves));
    const auto wrong = [&] { return f() * test::tanh_times(leaves[1].second, 0.5); };
    const GradcheckReport report = gradcheck(wrong, leaves);
    check_fails(report, 1);
    CHECK_EQ(report.inputs[0].name, "weight");
    CHECK_EQ(report.inputs[1].name, "bias");
    CHECK_EQ(report.inputs[1].shape, Shape{3});
    for (const auto& leaf : leaves) CHECK_FALSE(leaf.second.grad().defined());
    check_throws<DTypeError>(
        [&] {
            gradcheck(f, {{"weight", random({2})}});
        },
        "gradcheck: weight is not a contiguous f64 tensor that requires a "
        "gradient");
}

TEST_CASE("gradcheck: the inputs are left alone") {
    const Tensor x = random({3}).set_requires_grad();
    const auto before = x.to_vector<double>();
    Tape tape;
    for (const bool wrong : {false, true}) {
        const TensorFunction f = sine_with(
            [wrong](const Tensor& g, const Tensor& t) { return Tensors{wrong ? g : g * cos(t)}; });
        CHECK_EQ(verdict_of(gradcheck(f, {x})), wrong ? "FAIL" : "PASS");
        CHECK_EQ(verdict_of(gradgradcheck(f, {x})), wrong ? "FAIL" : "PASS");
        CHECK_FALSE(x.grad().defined());
        CHECK_EQ(x.to_vector<double>(), before);
        CHECK(tape.entries().empty());
        CHECK_EQ(Tape::current(), &tape);
    }
    // Leaves captured by f are perturbed and restored.
    check_passes(gradcheck([&] { return sin(x); }, {{"x", x}}));
    CHECK_FALSE(x.grad().defined());
    CHECK_EQ(x.to_vector<double>(), before);
    CHECK(tape.entries().empty());
}

TEST_CASE("gradcheck: wrong rules are found") {
    const Tensor x = random({2, 3});
    SUBCASE("sign") {
        const auto worst = check_fails(gradcheck(
            sine_with([](const Tensor& g, const Tensor& t) { return Tensors{-(g * cos(t))}; }),
            {x}));
        CHECK_EQ(worst.where.substr(0, 4), "at [");
        CHECK_EQ(worst.claimed, Approx(-worst.judgement.numeric));
    }
    SUBCASE("factor") {
        const auto worst = check_fails(gradcheck(
            sine_with([](const Tensor& g, const Tensor& t) { return Tensors{g * cos(t) * 2.0}; }),
            {x}));
        CHECK_EQ(worst.claimed, Approx(2 * worst.judgement.numeric));
    }
    SUBCASE("one element, by a little") {
        for (const double little : {1e-3, 1e-6}) {
            const auto worst =
                check_fails(gradcheck(sine_with([little](const Tensor& g, const Tensor& t) {
                                          Tensor wrong = g * cos(t);
                                          wrong.mutable_data<double>()[4] += little;
                                          return Tensors{wrong};
                                      }),
                                      {x}, {.method = GradcheckMethod::entries}));
            CHECK_EQ(worst.where, "at [1, 1]");
            CHECK_EQ(worst.claimed - worst.judgement.numeric, Approx(little).epsilon(1e-4));
        }
    }
    SUBCASE("transposed") {
        check_fails(gradcheck(sine_with([](const Tensor& g, const Tensor& t) {
                                  return Tensors{transpose(g * cos(t), 0, 1)};
                              }),
                              {random({3, 3})}));
    }
    SUBCASE("missing, NaN, infinite") {
        CHECK_EQ(check_fails(gradcheck(sine_with([](const Tensor&, const Tensor&) {
                                           return Tensors{Tensor()};
                                       }),
                                       {x}))
                     .claimed,
                 0);
        for (const double bad : {NAN, INFINITY}) {
            CHECK_FALSE(std::isfinite(
                check_fails(gradcheck(sine_with([bad](const Tensor& g, const Tensor&) {
                                          return Tensors{g * bad};
                                      }),
                                      {x}))
                    .claimed));
        }
    }
    SUBCASE("in the second input") {
        const auto wrong = [](const Tensors& t) { return t[0] * test::tanh_times(t[1], 1.5); };
        const GradcheckReport report = gradcheck(wrong, {x, random({2, 3}, 2)});
        check_fails(report, 1);
        CHECK_EQ(report.inputs[1].name, "input 1");
    }
}

TEST_CASE("gradcheck: softmax under a sum is blind, under random weights it is not") {
    const auto no_gradient = [](const Tensors& x) {
        return with_rule(
            x[0], [](const Tensor& t) { return softmax(t); },
            [](const Tensor& g, const Tensor&) { return Tensors{g * 0.0}; });
    };
    check_passes(
        gradcheck([&](const Tensors& x) { return sum(no_gradient(x)); }, {random({2, 4})}));
    check_fails(gradcheck(no_gradient, {random({2, 4})}));
}

TEST_CASE("gradgradcheck: a rule that is right once and not twice") {
    const auto cut_off =
        sine_with([](const Tensor& g, const Tensor& x) { return Tensors{g * cos(x.detach())}; });
    check_passes(gradcheck(cut_off, {random({3})}));
    const GradcheckReport detached = gradgradcheck(cut_off, {random({3})});
    CHECK_EQ(verdict_of(detached), "FAIL");
    CHECK_EQ(detached.subject, "order 2");
    // Right without recording, wrong in the recorded form.
    const auto two_forms = sine_with([](const Tensor& g, const Tensor& x) {
        return Tensors{is_recording() ? g * cos(x) * 1.5 : g * cos(x)};
    });
    check_passes(gradcheck(two_forms, {random({3})}));
    const GradcheckReport twice = gradgradcheck(two_forms, {random({3})});
    CHECK_EQ(verdict_of(twice), "FAIL");
    CHECK_EQ(twice.subject, "order 1, as recorded for order 2");
}

TEST_CASE("gradcheck: what it refuses") {
    const auto sine = [](const Tensors& x) { return sin(x[0]); };
    for (const test::Checker check : test::kBothOrders) {
        check_throws<DTypeError>([&] { check(sine, {ones({2})}, {}); },
                                 "gradcheck: input 0 is f32, whose rounding hides the differences; "
                                 "pass f64, and see compare_precisions()");
        check_throws<DTypeError>([&] { check(sine, {to(ones({2}), DType::bf16)}, {}); },
                                 "gradcheck: input 0 is bf16, whose rounding hides the "
                                 "differences; pass f64, and see compare_precisions()");
        check_throws<DTypeError>([&] { check(sine, {Tensor()}, {}); },
                                 "gradcheck: input 0 is undefined");
        check_throws<DTypeError>(
            [&] {
                check(sine, {random({2}), ones({2}, DType::i64)}, {});
            },
            "gradcheck: input 1 is i64, which has no gradient; let the function capture it");
        check_throws<DTypeError>(
            [&] {
                check([](const Tensors& x) { return to(x[0], DType::f32); }, {random({2})}, {});
            },
            "gradcheck: the function gave f32, not f64");
        check_throws<DTypeError>(
            [&] { check([](const Tensors&) { return Tensor(); }, {random({2})}, {}); },
            "gradcheck: the function gave an undefined tensor, not f64");
        check_throws<ValueError>([&] { check(sine, {random({2})}, {.certainty = 1}); },
                                 "gradcheck: certainty must be between 0 and 1, got 1");
        check_throws<ValueError>(
            [&] { check([](const Tensors&) { return random({2}); }, Tensors{}, {}); },
            "gradcheck: there are no inputs");
    }
}

TEST_CASE("gradcheck: what is drawn from generators is frozen, and drawn again afterwards") {
    Generator generator(1);
    const auto drop = [&](const Tensors& x) { return dropout(sin(x[0]), 0.5, true, generator); };
    const Generator untouched(1);
    check_passes(gradcheck(drop, {random({20})}));
    check_passes(gradgradcheck(drop, {random({20})}));
    CHECK_EQ(generator.seed(), untouched.seed());
    CHECK_EQ(generator.offset(), untouched.offset());
    // The same generator with the same state each time.
    const auto fixed = [](const Tensors& x) {
        Generator same(1);
        return dropout(sin(x[0]), 0.5, true, same);
    };
    check_passes(gradcheck(fixed, {random({20})}));
    check_passes(gradgradcheck(fixed, {random({20})}));
}

TEST_CASE("gradcheck: what is really random is named, and nothing else is said") {
    int calls = 0;
    const auto counts = [&](const Tensors& x) {
        return exp(sin(x[0]) * static_cast<double>(++calls));
    };
    const auto draws = [](const Tensors& x) {
        return exp(x[0] * 0.1) + static_cast<double>(std::rand());  // NOLINT: bad on purpose
    };
    const auto says = [](const GradcheckReport& report, const std::string& op) {
        CHECK_EQ(verdict_of(report), "INCONCLUSIVE (not deterministic)");
        CHECK_FALSE(static_cast<bool>(report));
        CHECK_EQ(test::complaints_of(report),
                 op + " is the first to give different results for the same inputs: it, or "
                      "something off the tape that it reads, is random or has a race");
        CHECK(report.inputs.empty());
    };
    says(gradcheck(counts, {random({3})}), "mul (#1)");
    says(gradcheck(draws, {random({3})}), "add (#2)");
    says(gradgradcheck(counts, {random({3})}), "mul (#1)");
}
