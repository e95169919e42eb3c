// Rules that are right for contiguous gradients that are all needed, and wrong in a training run:
// each convention of a call is broken once, and named.
#include <tapestry/autograd/check/layouts.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/judge/support.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

using namespace tapestry;
using checker::laid_out;
using checker::Layout;
using test::complaints_of;
using test::contains;
using test::random;
using test::verdict_of;
using test::with_pair_rule;
using test::with_rule;

namespace {

// The numbers of x as they lie in memory, as a kernel reads them that takes its pointer.
Tensor by_pointer(const Tensor& x) {
    const double* from = x.data<double>();
    test::Values values;
    for (std::int64_t i = 0; i < x.numel(); ++i) values.push_back(from[i]);
    return tensor(values, x.shape());
}

// From the beginning of its storage
Tensor without_offset(const Tensor& x) {
    return Tensor(x.storage(), x.shape(), x.strides(), 0, x.dtype()).clone();
}

bool has_repeats(const Tensor& x) {
    return std::any_of(x.strides().begin(), x.strides().end(),
                       [](std::int64_t stride) { return stride == 0; });
}

void check_broken(const TensorFunction& f, const Tensors& inputs, const std::string& how,
                  const std::string& op = "rule", Mistake mistake = Mistake::convention) {
    const GradcheckReport report = gradcheck(f, inputs);
    INFO(to_string(report));
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK(contains(complaints_of(report), how));
    REQUIRE(report.first_wrong);
    CHECK_EQ(report.first_wrong->op, op);
    CHECK_EQ(to_string(report.first_wrong->cause.mistake), to_string(mistake));
}

// sin(x) with a rule, alone and in the middle of a function.
void check_sine(const test::Rule& rule, const std::string& how,
                Mistake mistake = Mistake::convention) {
    const TensorFunction alone = [rule](const Tensors& x) { return test::sine_with(rule)(x); };
    check_broken(alone, {random({3, 4})}, how, "rule", mistake);
    const TensorFunction between = [rule](const Tensors& x) {
        return square(test::sine_with(rule)({exp(x[0])})) + x[0];
    };
    check_broken(between, {random({3, 4})}, how, "rule", mistake);
}

// An op with two outputs, x^2 and x^3.
struct PowersOp final : Op {
    PowersOp(const Tensor& x, bool careful) : Op("powers", {x}), careful_(careful) {}
    Tensors forward(const Tensors& x) const override { return powers(x[0], careful_); }
    Tensors backward(const Tensors& grads) override {
        const Tensor& x = saved(0);
        if (!careful_) return {grads[0] * x * 2.0 + grads[1] * square(x) * 3.0};
        Tensor sum = zeros_like(x);
        if (grads[0].defined()) sum = sum + grads[0] * x * 2.0;
        if (grads[1].defined()) sum = sum + grads[1] * square(x) * 3.0;
        return {sum};
    }
    static Tensors powers(const Tensor& x, bool careful) {
        Tensor a, b;
        {
            const NoGradGuard no_grad;
            a = square(x);
            b = a * x;
        }
        Tensors both{a, b};
        return record<PowersOp>({x}, both, x, careful);
    }

private:
    bool careful_;
};

}  // namespace

TEST_CASE("conventions: layouts hold the same numbers") {
    const Tensor x = random({2, 3, 4});
    for (const Layout layout : checker::kLayouts) {
        const auto view = laid_out(x, layout);
        REQUIRE(view);
        INFO(to_string(layout));
        if (layout == Layout::expanded) {
            const auto values = view->to_vector<double>(), first = x.to_vector<double>();
            for (std::size_t i = 0; i < 24; ++i) CHECK_EQ(values[i], first[i % 12]);
        } else {
            CHECK_EQ(view->to_vector<double>(), x.to_vector<double>());
        }
        CHECK_EQ(view->is_contiguous(), layout == Layout::offset);
    }
    CHECK_FALSE(laid_out(random({5}), Layout::transposed));
    CHECK_FALSE(laid_out(random({1, 1}), Layout::expanded));
    CHECK(laid_out(random({}), Layout::offset));
}

TEST_CASE("conventions: a right rule keeps all of them") {
    const auto right = [](const Tensor& g, const Tensor& x) { return Tensors{g * cos(x)}; };
    test::check_passes(gradcheck(test::sine_with(right), {random({3, 4})}));
    test::check_passes(gradcheck(
        [](const Tensors& x) {
            const Tensors both = PowersOp::powers(x[0], true);
            return both[0] * both[1];
        },
        {random({3, 4})}));
}

TEST_CASE("conventions: an overwritten gradient that a second call leaves as it is") {
    check_sine(
        [](const Tensor& g, const Tensor& x) {
            Tensor mine = g;  // the same memory
            double* const numbers = mine.mutable_data<double>();
            for (std::int64_t i = 0; i < mine.numel(); ++i) numbers[i] = std::max(numbers[i], -0.5);
            return Tensors{g * cos(x)};
        },
        "incoming gradient", Mistake::overwrites);
}

TEST_CASE("conventions: how the incoming gradient lies in memory") {
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{by_pointer(g) * cos(x)}; },
               "if the incoming gradient is a transposed view");
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{without_offset(g) * cos(x)}; },
               "if the incoming gradient is a view with a storage offset");
    check_sine(  // right for any permutation, but not for a stride of 0
        [](const Tensor& g, const Tensor& x) {
            return Tensors{g * cos(x) * (has_repeats(g) ? 2.0 : 1.0)};
        },
        "if the incoming gradient is an expanded view (stride 0)");
    check_sine(
        [](const Tensor& g, const Tensor& x) {
            require(g.is_contiguous(), "sine: needs a contiguous gradient");
            return Tensors{g * cos(x)};
        },
        "the rule fails if the incoming gradient is a transposed view: sine: needs");
}

TEST_CASE("conventions: how an operand lies in memory") {
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{g * cos(by_pointer(x))}; },
               "if an operand is a transposed view");
    check_broken(
        [](const Tensors& in) {
            return with_rule(
                in[0], [](const Tensor& x) { return sin(by_pointer(x)); },
                [](const Tensor& g, const Tensor& x) { return Tensors{g * cos(x)}; });
        },
        {random({3, 4})}, "the value is another one if an operand is");
    check_sine([](const Tensor& g, const Tensor& x) { return Tensors{g * cos(without_offset(x))}; },
               "if an operand is a view with a storage offset");
    check_sine([](const Tensor& g,
                  const Tensor& x) { return Tensors{g * cos(x) * (has_repeats(x) ? 2.0 : 1.0)}; },
               "if an operand is an expanded view (stride 0)");
}

TEST_CASE("conventions: an output that nothing uses") {
    check_broken(
        [](const Tensors& x) {
            const Tensors both = PowersOp::powers(x[0], false);
            return both[0] * both[1];
        },
        {random({3, 4})}, "no gradient arrives at output 0", "powers");
}

TEST_CASE("conventions: only one of three outputs is used") {
    struct Three final : Op {
        explicit Three(const Tensor& x) : Op("three", {x}) {}
        Tensors forward(const Tensors& x) const override { return of(x[0]); }
        Tensors backward(const Tensors& grads) override {  // right if at most one is missing
            const Tensor& x = saved(0);
            Tensor sum = zeros_like(x);
            int missing = 0;
            for (int k = 0; k < 3; ++k) {
                const Tensor& g = grads[static_cast<std::size_t>(k)];
                if (g.defined()) sum = sum + g * double(k + 1);
                missing += g.defined() ? 0 : 1;
            }
            return {missing > 1 ? zeros_like(x) : sum};
        }
        static Tensors of(const Tensor& x) {
            Tensors all;
            {
                const NoGradGuard no_grad;
                for (int k = 0; k < 3; ++k) all.push_back(x * double(k + 1));
            }
            return record<Three>({x}, all, x);
        }
    };
    check_broken(
        [](const Tensors& x) {
            const Tensors all = Three::of(x[0]);
            return all[0] * all[1] + all[2];
        },
        {random({3, 4})}, "a gradient arrives only at output 0", "three");
}

TEST_CASE("conventions: a rule that is called again") {
    const auto calls = std::make_shared<int>(0);
    const GradcheckReport report =
        gradcheck(test::sine_with([calls](const Tensor& g, const Tensor& x) {
                      return Tensors{g * cos(x) * (1 + 0.01 * ++*calls)};
                  }),
                  {random({3, 4})});
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK(contains(complaints_of(report), "keeps something between calls"));
}

TEST_CASE("conventions: gradients that are not needed") {
    struct Lazy final : Op {
        Lazy(const Tensor& a, const Tensor& b) : Op("lazy", {a, b}) {}
        Tensors forward(const Tensors& x) const override { return {times(x[0], x[1])}; }
        Tensors backward(const Tensors& grads) override {
            // The second is computed into the first one's buffer.
            const Tensor first = grads[0] * saved(1);
            return {first, needs(0) ? grads[0] * saved(0) : first};
        }
        static Tensor times(const Tensor& a, const Tensor& b) {
            Tensor y = [&] {
                const NoGradGuard no_grad;
                return a * b;
            }();
            return record<Lazy>({a, b}, y, a, b);
        }
    };
    check_broken([](const Tensors& x) { return Lazy::times(x[0], x[1]); },
                 {random({3, 4}), random({3, 4}, 2)}, "if only those of 1 are needed", "lazy");
}

TEST_CASE("conventions: one tensor as two operands") {
    const auto product = [](const Tensors& x) {
        return with_pair_rule(
            x[0], x[1], [](const Tensor& a, const Tensor& b) { return a * b; },
            [](const Tensor& g, const Tensor& a, const Tensor& b) {
                const bool same = a.storage() == b.storage();
                return Tensors{g * b, same ? zeros_like(a) : g * a};
            });
    };
    check_broken(product, {random({3, 4}), random({3, 4}, 2)}, "if operands 0 and 1 are one tensor",
                 "pair");
}

TEST_CASE("conventions: an op may not be defined where two operands are one tensor") {
    const auto reciprocal = [](const Tensors& x) {
        return with_pair_rule(
            x[0], x[1],
            [](const Tensor& a, const Tensor& b) {
                if (a.to_vector<double>() == b.to_vector<double>()) {
                    throw std::domain_error("a = b");
                }
                return 1.0 / (a - b);
            },
            [](const Tensor& g, const Tensor& a, const Tensor& b) {
                const Tensor slope = g / square(a - b);
                return Tensors{-slope, slope};
            });
    };
    test::check_passes(gradcheck(reciprocal, {random({3}), random({3}, 2)}));
}

TEST_CASE("conventions: memory that is its caller's") {
    const auto in_place = [](const Tensor& g, const Tensor& x) {
        Tensor mine = g;
        double* to = mine.mutable_data<double>();
        const auto slopes = cos(x).to_vector<double>();
        for (std::size_t i = 0; i < slopes.size() && mine.is_contiguous(); ++i) to[i] *= slopes[i];
        return Tensors{mine.clone()};
    };
    check_broken([=](const Tensors& x) { return square(test::sine_with(in_place)({exp(x[0])})); },
                 {random({3, 4})}, "the incoming gradient's element 0 was", "rule",
                 Mistake::overwrites);
    const auto of_saved = [](const Tensor& g, const Tensor& x) {
        Tensor slopes = g * cos(x);
        *const_cast<double*>(x.data<double>()) += 0.5;
        return Tensors{slopes};
    };
    check_broken([=](const Tensors& x) { return square(test::sine_with(of_saved)({exp(x[0])})); },
                 {random({3, 4})}, "an operand's element 0 was", "rule", Mistake::overwrites);
}
