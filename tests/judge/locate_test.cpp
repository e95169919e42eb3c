// Which tape entry is to blame: the one whose rule is wrong, not those before it that received its
// wrong gradient.
#include <tapestry/autograd/op.h>
#include <tapestry/autograd/recompute.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/tests/judge/support.h>

using namespace tapestry;
using test::random;
using test::tanh_times;
using test::verdict_of;

namespace {

// exp and sin, a tanh whose rule may be wrong, two more ops.
Tensor chain(const Tensor& x, const Tensor& w, double factor) {
    const ModuleScope outer("blocks");
    Tensor y = exp(sin(x));
    {
        const ModuleScope inner("norm");
        y = tanh_times(y, factor);
    }
    return sum(square(y) * w, {0});
}

}  // namespace

TEST_CASE("locate: in a chain, the wrong op alone, with its place and its operands") {
    const GradcheckReport report = gradcheck(
        [](const Tensors& x) { return chain(x[0], x[1], 0.9); }, {random({2, 3}), random({3}, 2)});
    INFO(to_string(report));
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK_EQ(report.inputs[0].verdict, Verdict::fail);
    CHECK_EQ(report.inputs[1].verdict, Verdict::pass);
    REQUIRE(report.first_wrong);
    const WrongOp& wrong = *report.first_wrong;
    CHECK_EQ(wrong.op, "rule");
    CHECK_EQ(wrong.number, 2);
    CHECK_EQ(wrong.module_path, "blocks.norm");
    CHECK_EQ(wrong.operand, 0);
    CHECK_EQ(wrong.shapes, "[2, 3] -> [2, 3]");
    CHECK_EQ(wrong.form, "");
    CHECK_EQ(wrong.others, 0);
    CHECK_EQ(wrong.slope.judgement.verdict, Verdict::fail);
    CHECK_EQ(wrong.slope.claimed, doctest::Approx(0.9 * wrong.slope.judgement.numeric));
    CHECK_EQ(to_string(wrong.cause.mistake), to_string(Mistake::factor));
}

TEST_CASE("locate: of several wrong entries the first, and how many more") {
    const auto f = [](const Tensors& x) {
        Tensor y = x[0];
        for (int i = 0; i < 3; ++i) {
            y = tanh_times(exp(y), i == 0 ? 1 : 0.5);
        }
        return y;
    };
    const GradcheckReport report = gradcheck(f, {random({3})});
    REQUIRE(report.first_wrong);
    CHECK_EQ(report.first_wrong->number, 3);
    CHECK_EQ(report.first_wrong->others, 1);
}

TEST_CASE("locate: the operand of an op that takes several, by its number") {
    const auto f = [](const Tensors& x) {
        return softmax(test::with_pair_rule(
            x[1], matmul(x[0], x[1]), [](const Tensor& a, const Tensor& b) { return matmul(b, a); },
            [](const Tensor& g, const Tensor& a, const Tensor& b) {
                return Tensors{matmul(views::transpose(b, 0, 1).clone(), g),
                               matmul(g, views::transpose(a, 0, 1).clone()) * 2.0};
            }));
    };
    const GradcheckReport report = gradcheck(f, {random({2, 3}), random({3, 3}, 2)});
    REQUIRE(report.first_wrong);
    CHECK_EQ(report.first_wrong->op, "pair");
    CHECK_EQ(report.first_wrong->number, 1);
    CHECK_EQ(report.first_wrong->operand, 1);
    CHECK_EQ(report.first_wrong->shapes, "[3, 3], [2, 3] -> [2, 3]");
}

TEST_CASE("locate: operands too large to look at every element") {
    const GradcheckReport report =
        gradcheck([](const Tensors& x) { return exp(tanh_times(x[0], 2)); }, {random({20, 30})});
    CHECK_EQ(verdict_of(report), "FAIL");
    REQUIRE(report.first_wrong);
    CHECK_EQ(report.first_wrong->op, "rule");
    CHECK_EQ(report.first_wrong->slope.where, "at [0, 0]");
    CHECK_EQ(report.first_wrong->wrong.substr(0, 9), "at least ");
    CHECK_EQ(to_string(report.first_wrong->cause.mistake), to_string(Mistake::factor));
}

TEST_CASE("locate: inside recompute()") {
    const Tensor w = random({3}, 2);
    const auto f = [&](const Tensors& x) {
        const Tensor y = recompute([&](const Tensor& t) { return chain(t, w, -1); }, exp(x[0]));
        return square(y);
    };
    const GradcheckReport report = gradcheck(f, {random({2, 3})});
    INFO(to_string(report));
    REQUIRE(report.first_wrong);
    CHECK_EQ(report.first_wrong->op, "rule");
    CHECK_EQ(report.first_wrong->module_path, "blocks.norm");
    CHECK_EQ(report.first_wrong->others, 0);
    CHECK_EQ(to_string(report.first_wrong->cause.mistake), to_string(Mistake::sign));
    test::check_passes(gradcheck(
        [&](const Tensors& x) {
            return recompute([&](const Tensor& t) { return chain(t, w, 1); }, x[0]);
        },
        {random({2, 3})}));
}

TEST_CASE("locate: a rule that is wrong only when it is recorded") {
    const auto two_forms = test::sine_with([](const Tensor& g, const Tensor& x) {
        return Tensors{is_recording() ? g * cos(x) * 1.5 : g * cos(x)};
    });
    const auto f = [&](const Tensors& x) { return exp(two_forms({square(x[0])})); };
    test::check_passes(gradcheck(f, {random({3})}));
    const GradcheckReport report = gradgradcheck(f, {random({3})});
    INFO(to_string(report));
    CHECK_EQ(verdict_of(report), "FAIL");
    REQUIRE(report.first_wrong);
    CHECK_EQ(report.first_wrong->op, "rule");
    CHECK_EQ(report.first_wrong->number, 1);
    CHECK_EQ(report.first_wrong->form, "as recorded for gradients of gradients");
    CHECK_EQ(report.first_wrong->cause.evidence.substr(0, 23), "claimed = 1.5 * numeric");
}

TEST_CASE("locate: a rule that goes round the tape is found at order 2") {
    const auto cut_off = test::sine_with(
        [](const Tensor& g, const Tensor& x) { return Tensors{g * cos(x.detach())}; });
    const GradcheckReport report =
        gradgradcheck([&](const Tensors& x) { return cut_off({x[0]}); }, {random({3})});
    INFO(to_string(report));
    CHECK_EQ(verdict_of(report), "FAIL");
    REQUIRE(report.cause);
    CHECK_EQ(to_string(report.cause->mistake), to_string(Mistake::detached));
}

TEST_CASE("locate: not requested") {
    const GradcheckReport report = gradcheck([](const Tensors& x) { return tanh_times(x[0], 2); },
                                             {random({3})}, {.explain = false});
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK_FALSE(report.first_wrong);
    CHECK_FALSE(report.cause);
}
