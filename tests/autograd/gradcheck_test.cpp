// Does the checker tell right from wrong? Right functions must pass and each kind of wrong rule
// must fail, with a message that leads to it.
#include <tapestry/core/random.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/dropout.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/autograd/support.h>

#include <cmath>
#include <cstdio>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;
using test::with_rule;

namespace {

Tensor random(const Shape& shape, std::uint64_t seed = 1) {
    Generator generator(seed);
    return randn(shape, generator, DType::f64);
}

// sin(x) with a rule of the test's; the right one is g cos(x).
TensorFunction sine_with(const test::Rule& rule) {
    return [rule](const Tensors& x) {
        return with_rule(
            x[0], [](const Tensor& t) { return sin(t); }, rule);
    };
}

// The message of a failed check, taken apart.
struct Verdict {
    std::string place;
    double tape = 0, differences = 0;
};

Verdict failed(const GradcheckResult& result) {
    Verdict verdict;
    CHECK_FALSE(result.ok);
    CHECK_FALSE(static_cast<bool>(result));
    const auto says = result.message.find(": the tape says ");
    REQUIRE_MESSAGE(says != std::string::npos, result.message);
    verdict.place = result.message.substr(0, says);
    double allowed = 0;
    CHECK_EQ(std::sscanf(result.message.c_str() + says,
                         ": the tape says %lf, central differences %lf (allowed difference %lf)",
                         &verdict.tape, &verdict.differences, &allowed),
             3);
    CHECK(allowed < 1e-4);
    CHECK(result.worst > allowed);
    return verdict;
}

}  // namespace

TEST_CASE("gradcheck: right functions pass") {
    const auto pass = [](const TensorFunction& f, const Tensors& inputs) {
        for (const GradcheckResult& result : {gradcheck(f, inputs), gradgradcheck(f, inputs)}) {
            CHECK_MESSAGE(result.ok, result.message);
            CHECK(result.message.empty());
            CHECK(result.worst < 1e-6);
        }
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
    pass([](const Tensors& x) { return embedding(x[0], x[1]); },
         {random({4, 2}), tensor<std::int64_t>({3, 1, 3})});
}

TEST_CASE("gradcheck: the inputs are left alone") {
    const Tensor x = random({3}).set_requires_grad();
    const auto before = x.to_vector<double>();
    Tape tape;
    CHECK(gradcheck([](const Tensors& t) { return sin(t[0]); }, {x}).ok);
    CHECK_FALSE(x.grad().defined());
    CHECK_EQ(x.to_vector<double>(), before);
    CHECK(tape.entries().empty());
    CHECK_EQ(Tape::current(), &tape);
}

TEST_CASE("gradcheck: wrong rules are found") {
    const Tensor x = random({2, 3});
    SUBCASE("sign") {
        const auto v = failed(gradcheck(
            sine_with([](const Tensor& g, const Tensor& t) { return Tensors{-(g * cos(t))}; }),
            {x}));
        CHECK_EQ(v.place.substr(0, 19), "input 0 [2, 3] at [");
        CHECK_EQ(v.tape, Approx(-v.differences));
    }
    SUBCASE("factor") {
        const auto v = failed(gradcheck(
            sine_with([](const Tensor& g, const Tensor& t) { return Tensors{g * cos(t) * 2.0}; }),
            {x}));
        CHECK_EQ(v.tape, Approx(2 * v.differences));
    }
    SUBCASE("one element, by a little") {
        const auto v = failed(gradcheck(sine_with([](const Tensor& g, const Tensor& t) {
                                            Tensor wrong = g * cos(t);
                                            wrong.mutable_data<double>()[4] += 1e-3;
                                            return Tensors{wrong};
                                        }),
                                        {x}));
        CHECK_EQ(v.place, "input 0 [2, 3] at [1, 1]");
        CHECK_EQ(v.tape - v.differences, Approx(1e-3).epsilon(1e-4));
    }
    SUBCASE("transposed") {
        failed(gradcheck(sine_with([](const Tensor& g, const Tensor& t) {
                             return Tensors{transpose(g * cos(t), 0, 1)};
                         }),
                         {random({3, 3})}));
    }
    SUBCASE("missing, NaN") {
        CHECK_EQ(failed(gradcheck(sine_with([](const Tensor&, const Tensor&) {
                                      return Tensors{Tensor()};
                                  }),
                                  {x}))
                     .tape,
                 0);
        CHECK(std::isnan(failed(gradcheck(sine_with([](const Tensor& g, const Tensor&) {
                                              return Tensors{g * NAN};
                                          }),
                                          {x}))
                             .tape));
    }
    SUBCASE("in the second input") {
        const auto wrong = [](const Tensors& t) {
            return t[0] * with_rule(
                              t[1], [](const Tensor& u) { return sin(u); },
                              [](const Tensor& g, const Tensor&) { return Tensors{g}; });
        };
        CHECK_EQ(failed(gradcheck(wrong, {x, random({2, 3}, 2)})).place.substr(0, 9), "input 1 [");
    }
}

TEST_CASE("gradcheck: softmax under a sum is blind, under random weights it is not") {
    const auto no_gradient = [](const Tensors& x) {
        return with_rule(
            x[0], [](const Tensor& t) { return softmax(t); },
            [](const Tensor& g, const Tensor&) { return Tensors{g * 0.0}; });
    };
    CHECK(gradcheck([&](const Tensors& x) { return sum(no_gradient(x)); }, {random({2, 4})}).ok);
    failed(gradcheck(no_gradient, {random({2, 4})}));
}

TEST_CASE("gradgradcheck: a rule that is right once and not twice") {
    const auto cut_off =
        sine_with([](const Tensor& g, const Tensor& x) { return Tensors{g * cos(x.detach())}; });
    CHECK(gradcheck(cut_off, {random({3})}).ok);
    failed(gradgradcheck(cut_off, {random({3})}));
    // Right where nobody records, wrong in the form that can be recorded.
    const auto two_forms = sine_with([](const Tensor& g, const Tensor& x) {
        return Tensors{is_recording() ? g * cos(x) * 1.5 : g * cos(x)};
    });
    CHECK(gradcheck(two_forms, {random({3})}).ok);
    const GradcheckResult twice = gradgradcheck(two_forms, {random({3})});
    CHECK_FALSE(twice.ok);
    CHECK(twice.message.find(", walking back without recording ") != std::string::npos);
}

TEST_CASE("gradcheck: what it refuses") {
    const auto sine = [](const Tensors& x) { return sin(x[0]); };
    const std::string not_f64 =
        "gradcheck: inputs must be f64 (or i64 and bool, which are held fixed); in f32 the "
        "differences are mostly roundoff";
    check_throws<DTypeError>([&] { gradcheck(sine, {ones({2})}); }, not_f64);
    check_throws<DTypeError>([&] { gradgradcheck(sine, {ones({2})}); }, not_f64);
    check_throws<DTypeError>([&] { gradcheck(sine, {Tensor()}); }, not_f64);
    check_throws<DTypeError>(
        [&] { gradcheck([](const Tensors& x) { return to(x[0], DType::f32); }, {random({2})}); },
        "gradcheck: the function gave f32, not f64");
    Generator generator(1);
    const auto drop = [&](const Tensors& x) { return dropout(x[0], 0.5, true, generator); };
    for (const bool twice : {false, true}) {
        try {
            (twice ? gradgradcheck : gradcheck)(drop, {random({20})}, {});
            FAIL_CHECK("nothing thrown");
        } catch (const ValueError& error) {
            const std::string message = error.what();
            CHECK_EQ(message.substr(0, 29), "gradcheck: the function gives");
            CHECK(message.find("it is random") != std::string::npos);
        }
    }
    // The same generator from the same state each time: deterministic.
    const auto fixed = [](const Tensors& x) {
        Generator same(1);
        return dropout(sin(x[0]), 0.5, true, same);
    };
    CHECK(gradcheck(fixed, {random({20})}).ok);
    CHECK(gradgradcheck(fixed, {random({20})}).ok);
}

TEST_CASE("gradcheck: a kink within the step is reported") {
    const Tensor x = tensor<double>({1e-7, 1, -1});
    CHECK_EQ(failed(gradcheck([](const Tensors& t) { return relu(t[0]); }, {x})).place,
             "input 0 [3] at [0]");
}
