// What docs/nan_and_limits.md says of where, nan_to_num, infinite scores and the limits of
// activations, statement by statement. (Clipping and AdamW: tests/nn/optim_test.cpp.)
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/fusion.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/softmax.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace tapestry;

namespace {

using Numbers = std::vector<double>;
using Function = std::function<Tensor(const Tensor&)>;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor slope(const Tensor& x, const Function& f) {
    const Tensor leaf = x.clone().set_requires_grad();
    Tape tape;
    return tape.gradient(sum(f(leaf)), {leaf})[0];
}

}  // namespace

TEST_CASE("nan and limits: where's other side, and the way round") {
    struct Form {
        const char* name;
        Function f;
        double outside;  // of f's domain
    };
    const Form forms[] = {
        {"sqrt", [](const Tensor& x) { return sqrt(x); }, -1},
        {"sqrt at 0", [](const Tensor& x) { return sqrt(x); }, 0},
        {"log", [](const Tensor& x) { return log(x); }, 0},
        {"rsqrt", [](const Tensor& x) { return rsqrt(x); }, -1},
        {"reciprocal", [](const Tensor& x) { return reciprocal(x); }, 0},
        {"pow", [](const Tensor& x) { return pow(x, 0.5); }, -1},
        {"exp", [](const Tensor& x) { return exp(mul(x, -1000)); }, -1},
        {"asin", [](const Tensor& x) { return asin(sub(x, 1)); }, -1},
        {"log1p", [](const Tensor& x) { return log1p(sub(x, 1)); }, 0},
        {"atan2", [](const Tensor& x) { return atan2(x, x); }, 0},
    };
    for (const Form& form : forms) {
        INFO(std::string(form.name));
        const Tensor x = tensor<double>({form.outside, 0.5});
        const auto plain = [&](const Tensor& v) { return where(gt(v, 0), form.f(v), v); };
        const auto safe = [&](const Tensor& v) {
            const Tensor positive = gt(v, 0);
            return where(positive, form.f(where(positive, v, 1)), v);
        };
        CHECK_EQ(plain(x).to_vector<double>(), safe(x).to_vector<double>());
        const auto of_plain = slope(x, plain).to_vector<double>();
        const auto of_safe = slope(x, safe).to_vector<double>();
        CHECK(std::isnan(of_plain[0]));
        CHECK_EQ(of_safe[0], 1);
        CHECK_EQ(of_safe[1], of_plain[1]);
        CHECK(std::isfinite(of_safe[1]));
    }
    const Tensor x = tensor<double>({0, 1});
    const auto masked = [](const Tensor& v) { return masked_fill(log(v), eq(v, 0), 0); };
    CHECK_EQ(masked(x).to_vector<double>(), Numbers{0, 0});
    CHECK(std::isnan(slope(x, masked).to_vector<double>()[0]));
    const auto clamped = [](const Tensor& v) { return log(clamp(v, 1e-9, 10)); };
    CHECK_EQ(slope(x, clamped).to_vector<double>(), Numbers{0, 1});
}

TEST_CASE("nan and limits: functions with gradient 0 where others have none") {
    CHECK_EQ(slope(zeros({3}), [](const Tensor& x) { return norm(x); }).to_vector<double>(),
             Numbers(3, 0));
    CHECK_EQ(slope(zeros({3}), [](const Tensor& x) { return stddev(x); }).to_vector<double>(),
             Numbers(3, 0));
    const Tensor masked = full({1, 3}, -kInf);
    for (const auto& f : {softmax(masked), slope(masked, [](const Tensor& x) {
                              return mul(softmax(x), tensor<float>({1, 2, 3}));
                          })}) {
        CHECK_EQ(f.to_vector<double>(), Numbers(3, 0));
    }
}

TEST_CASE("nan and limits: nan_to_num does not mend the gradient of what made the NaN") {
    const Tensor x = tensor<float>({NAN, 2, -INFINITY, INFINITY});
    constexpr double kMost = std::numeric_limits<float>::max();
    CHECK_EQ(nan_to_num(x).to_vector<double>(), Numbers{0, 2, -kMost, kMost});
    CHECK_EQ(slope(x, [](const Tensor& v) { return nan_to_num(v); }).to_vector<double>(),
             Numbers{0, 1, 0, 0});
    const auto through_log = slope(tensor<double>({0, 1}), [](const Tensor& v) {
                                 return nan_to_num(log(v));
                             }).to_vector<double>();
    CHECK(std::isnan(through_log[0]));
    CHECK_EQ(through_log[1], 1);
}

TEST_CASE("nan and limits: -inf among scores and logits") {
    const Tensor some = tensor<double>({0, -kInf, 0});
    CHECK_EQ(softmax(some).to_vector<double>(), Numbers{0.5, 0, 0.5});
    CHECK_EQ(slope(some,
                   [](const Tensor& x) {
                       return mul(softmax(x), tensor<double>({1, 5, -1}));
                   })
                 .to_vector<double>(),
             Numbers{0.5, 0, -0.5});
    const Tensor none = tensor<double>({-kInf, -kInf});
    const auto lse = [](const Tensor& x) { return logsumexp(x); };
    CHECK_EQ(lse(none).item(), -kInf);
    CHECK_EQ(slope(none, lse).to_vector<double>(), Numbers{0, 0});

    const Tensor q = ones({1, 1, 2, 4}), v = ones({1, 1, 2, 4});
    const Tensor nothing = full({2, 2}, false, DType::boolean);
    CHECK_EQ(scaled_dot_product_attention(q, q, v, {.mask = nothing}).to_vector<double>(),
             Numbers(8, 0));

    const Tensor logits = tensor<double>({{0, -kInf, 0}}), first = tensor<std::int64_t>({0}),
                 forbidden = tensor<std::int64_t>({1});
    const auto loss = [&](const Tensor& target, double smoothing) {
        return [=](const Tensor& x) {
            return cross_entropy(x, target, {.label_smoothing = smoothing});
        };
    };
    CHECK_EQ(loss(first, 0)(logits).item(), doctest::Approx(std::log(2)));
    CHECK_EQ(slope(logits, loss(first, 0)).to_vector<double>(), Numbers{-0.5, 0, 0.5});
    CHECK_EQ(loss(forbidden, 0)(logits).item(), kInf);
    CHECK_EQ(slope(logits, loss(forbidden, 0)).to_vector<double>(), Numbers{0.5, -1, 0.5});
    CHECK_EQ(loss(first, 0.1)(logits).item(), kInf);
}

TEST_CASE("nan and limits: activations at infinity, and composed ones") {
    const Tensor ends = tensor<double>({kInf, -kInf});
    const Function functions[] = {[](const Tensor& x) { return silu(x); },
                                  [](const Tensor& x) { return gelu(x, Gelu::tanh); },
                                  [](const Tensor& x) { return gelu(x, Gelu::erf); },
                                  [](const Tensor& x) { return mish(x); }};
    for (const Function& f : functions) {
        CHECK_EQ(f(ends).to_vector<double>(), Numbers{kInf, 0});
        CHECK_EQ(slope(ends, f).to_vector<double>(), Numbers{1, 0});
    }
    CHECK_EQ(softsign(ends).to_vector<double>(), Numbers{1, -1});
    CHECK_EQ(slope(ends, [](const Tensor& x) { return softsign(x); }).to_vector<double>(),
             Numbers{0, 0});
    const FusionGuard off(false);
    for (const Function& f : {functions[0], functions[1], functions[2]}) {
        CHECK(std::isnan(f(ends).to_vector<double>()[1]));
    }
}
