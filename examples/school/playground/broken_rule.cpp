#include <tapestry/examples/school/playground/broken_rule.h>

#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/view.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tapestry::examples {
namespace {

constexpr std::int64_t kTokens = 4;

Tensor spoilt(const Tensor& g, Flaw flaw) {
    const std::int64_t n = g.numel();
    switch (flaw) {
        case Flaw::sign: return g * -1;
        case Flaw::twice: return g * 2;
        case Flaw::zero: return zeros(g.shape(), g.dtype());
        case Flaw::shifted: {
            const Tensor row = reshape(g, {n});
            return reshape(concat({slice(row, 0, n - 1, n), slice(row, 0, 0, n - 1)}), g.shape());
        }
        case Flaw::transposed: return g.rank() < 2 ? g : reshape(transpose(g, -1, -2), g.shape());
    }
    return g;
}

GPTConfig small(GPTConfig config) {
    config.vocab = 5;
    config.context = kTokens;
    config.dim = 4 * config.heads;
    config.hidden = 0;
    config.dropout = 0;
    config.deviation = 0.3;  // so rounding does not swamp any gradient
    config.zero_outputs = false;
    config.recompute = false;
    config.compute = ComputeType::f32;
    return config;
}

Tensor loss_of(const GPT& model) {
    return model.loss(tensor<std::int64_t>({{3, 1, 4, 1}}), tensor<std::int64_t>({{1, 4, 1, 2}}));
}

// Records which rules yield which gradients.
class Listing final : public TapeObserver {
public:
    explicit Listing(const Module& model) {
        for (const auto& [name, parameter] : model.named_parameters()) {
            names_.emplace(parameter.leaf().get(), name.substr(name.rfind('.') + 1));
        }
    }

    void recorded(const Op& op, const Tensors& inputs, const Tensors&) override {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (find(op, i) != all_.end()) continue;
            const auto name = names_.find(inputs[i].leaf().get());
            all_.push_back(
                {{op.name(), i, name != names_.end() ? name->second : fmt::format("operand {}", i)},
                 false});
        }
    }

    void walked(Op& op, const Tensors&, Tensors& outgoing) override {
        for (std::size_t i = 0; i < outgoing.size(); ++i) {
            if (outgoing[i].defined()) find(op, i)->second = true;
        }
    }

    std::vector<Breakable> walked_rules() const {
        std::vector<Breakable> rules;
        for (const auto& [rule, was_walked] : all_) {
            if (was_walked) rules.push_back(rule);
        }
        return rules;
    }

private:
    using All = std::vector<std::pair<Breakable, bool>>;

    All::iterator find(const Op& op, std::size_t operand) {
        return std::find_if(all_.begin(), all_.end(), [&](const auto& each) {
            return each.first.op == op.name() && each.first.operand == operand;
        });
    }

    std::map<const Leaf*, std::string> names_;
    All all_;  // in tape order; true if the rule was run
};

}  // namespace

void RuleBreaker::walked(Op& op, const Tensors&, Tensors& outgoing) {
    if (!rule_ || op.name() != rule_->op || rule_->operand >= outgoing.size()) return;
    Tensor& gradient = outgoing[rule_->operand];
    if (!gradient.defined()) return;
    const NoGradGuard no_grad;
    gradient = spoilt(gradient, rule_->flaw);
}

std::vector<Breakable> breakable_rules(const GPTConfig& config) {
    Generator generator(1);
    const GPT model(small(config), generator);
    Listing listing(model);
    Tape tape;
    tape.backward(loss_of(model));
    return listing.walked_rules();
}

GradcheckReport check_build(const GPTConfig& config) {
    Generator generator(1);
    GPT model(small(config), generator);
    model.to(DType::f64);
    return gradcheck([&model] { return loss_of(model); }, model.named_parameters());
}

}  // namespace tapestry::examples
