// Shared by the gradient checker's tests: inputs, verdicts as text, and custom wrong rules.
#pragma once

#include <tapestry/tests/autograd/support.h>

#include <fmt/format.h>

#include <array>
#include <string>

namespace tapestry::test {

inline Tensor random(const Shape& shape, std::uint64_t seed = 1) {
    Generator generator(seed);
    return randn(shape, generator, DType::f64);
}

/// sin(x) with a custom rule; the right one is g cos(x).
inline TensorFunction sine_with(const Rule& rule) {
    return [rule](const Tensors& x) {
        return with_rule(
            x[0], [](const Tensor& t) { return sin(t); }, rule);
    };
}

/// tanh(x), whose rule gives `factor` times the right gradient.
inline Tensor tanh_times(const Tensor& x, double factor) {
    return with_rule(
        x, [](const Tensor& t) { return tanh(t); },
        [factor](const Tensor& g, const Tensor& t) {
            return Tensors{g * (1.0 - square(tanh(t))) * factor};
        });
}

/// The same for an op called "pair" of two operands.
using PairFunction = std::function<Tensor(const Tensor& a, const Tensor& b)>;
using PairRule = std::function<Tensors(const Tensor& grad, const Tensor& a, const Tensor& b)>;

inline Tensor with_pair_rule(const Tensor& a, const Tensor& b, const PairFunction& forward,
                             const PairRule& rule);

struct PairOp final : Op {
    PairOp(const Tensor& a, const Tensor& b, const PairFunction& forward, const PairRule& rule)
        : Op("pair", {a, b}), forward_(forward), rule_(rule) {}
    Tensors forward(const Tensors& x) const override {
        return {with_pair_rule(x[0], x[1], forward_, rule_)};
    }
    Tensors backward(const Tensors& grads) override { return rule_(grads[0], saved(0), saved(1)); }

private:
    PairFunction forward_;
    PairRule rule_;
};

inline Tensor with_pair_rule(const Tensor& a, const Tensor& b, const PairFunction& forward,
                             const PairRule& rule) {
    Tensor y = [&] {
        const NoGradGuard no_grad;
        return forward(a, b).clone();
    }();
    return record<PairOp>({a, b}, y, a, b, forward, rule);
}

using Checker = GradcheckReport (*)(const TensorFunction&, const Tensors&, const GradcheckOptions&);
inline constexpr std::array<Checker, 2> kBothOrders{gradcheck, gradgradcheck};

/// "PASS", "FAIL", "INCONCLUSIVE (kink)".
inline std::string verdict_of(const GradcheckReport& report) {
    std::string text(to_string(report.verdict));
    if (report.reason != Reason::none) text += fmt::format(" ({})", to_string(report.reason));
    return text;
}

/// All complaints about the whole check, one per line.
inline std::string complaints_of(const GradcheckReport& report) {
    return fmt::format("{}", fmt::join(report.complaints, "\n"));
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Expects a right function: it passes without complaints.
inline void check_passes(const GradcheckReport& report) {
    INFO(to_string(report));
    CHECK_EQ(verdict_of(report), "PASS");
    CHECK(report.complaints.empty());
    CHECK_FALSE(report.first_wrong);
    CHECK_FALSE(report.cause);
    for (const InputReport& input : report.inputs) {
        if (input.compared == 0 || input.worst.judgement.subgradient) continue;
        CHECK_LE(std::abs(input.worst.claimed - input.worst.judgement.numeric),
                 input.worst.judgement.tolerance);
    }
}

/// Expects a wrong function: fails for the gradient of `which`, whose worst slope is returned.
inline SlopeReport check_fails(const GradcheckReport& report, std::size_t which = 0) {
    INFO(to_string(report));
    CHECK_EQ(verdict_of(report), "FAIL");
    CHECK_FALSE(static_cast<bool>(report));
    REQUIRE_LT(which, report.inputs.size());
    for (std::size_t i = 0; i < report.inputs.size(); ++i) {
        CHECK_EQ(report.inputs[i].verdict == Verdict::fail, i == which);
    }
    const SlopeReport& worst = report.inputs[which].worst;
    const double difference = std::abs(worst.claimed - worst.judgement.numeric);
    CHECK_FALSE(difference <= worst.judgement.tolerance);
    return worst;
}

}  // namespace tapestry::test
