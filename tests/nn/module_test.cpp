// Names, ties, modes and conversions of modules and their parts; their state as a value; hooks.
#include <tapestry/nn/catalog/checked_modules.h>
#include <tapestry/nn/layers/dropout.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/sequential.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/support.h>

#include <map>

using namespace tapestry;
using test::check_throws;
using Names = std::vector<std::string>;

namespace {

class Pair : public Module {
public:
    Linear first, second;
    Dropout dropout;
    Tensor scale, none, running, count;

    explicit Pair(bool tied) : Module("Pair"), first(3, 3), second(3, 3, false), dropout(0.5) {
        scale = ones({2});
        running = full({3}, 0.25);
        count = zeros({}, DType::i64);
        register_parameter("scale", scale);
        register_parameter("none", none);
        register_buffer("running", running);
        register_buffer("count", count);
        register_module("first", first);
        register_module("second", second);
        register_module("dropout", dropout);
        if (tied) second.weight = first.weight;
    }
    std::string settings() const override { return "a, b"; }
};

Names names_of(const NamedTensors& tensors) {
    Names names;
    for (const auto& [name, tensor] : tensors) names.push_back(name);
    return names;
}

}  // namespace

TEST_CASE("module: names in order of registration, depth first") {
    const Pair pair(false);
    CHECK_EQ(names_of(pair.named_parameters()),
             Names{"scale", "first.weight", "first.bias", "second.weight"});
    CHECK_EQ(names_of(pair.named_buffers()), Names{"running", "count"});
    CHECK_EQ(pair.parameter_count(), 2 + 9 + 3 + 9);
    CHECK_EQ(pair.kind(), "Pair");
    CHECK_EQ(pair.name(), "");
    CHECK_EQ(pair.first.name(), "first");
    CHECK(pair.scale.requires_grad());
    CHECK_FALSE(pair.running.requires_grad());
    CHECK_EQ(pair.parameters().at(1).leaf(), pair.first.weight.leaf());
}

TEST_CASE("module: a tensor shared by two modules is listed once, and stays shared") {
    Pair pair(true);
    CHECK_EQ(names_of(pair.named_parameters()), Names{"scale", "first.weight", "first.bias"});
    CHECK_EQ(pair.parameter_count(), 2 + 9 + 3);
    {
        Tape tape;
        tape.backward(sum(pair.second(ones({1, 3}))));
    }
    CHECK(pair.first.weight.grad().defined());
    for (const DType dtype : {DType::f64, DType::f64, DType::f32}) {
        const auto before = pair.first.weight.to_vector<double>();
        pair.to(dtype);
        CHECK_EQ(pair.first.weight.leaf(), pair.second.weight.leaf());
        CHECK_EQ(pair.first.weight.storage(), pair.second.weight.storage());
        CHECK_EQ(pair.first.weight.to_vector<double>(), before);
        CHECK_FALSE(pair.first.weight.grad().defined());
        for (const Tensor& parameter : pair.parameters()) {
            CHECK_EQ(parameter.dtype(), dtype);
            CHECK(parameter.requires_grad());
        }
        CHECK_EQ(pair.parameters().size(), 3);
        CHECK_EQ(pair.running.dtype(), dtype);
        CHECK_FALSE(pair.running.requires_grad());
        CHECK_EQ(pair.count.dtype(), DType::i64);
    }
    check_throws<DTypeError>([&] { pair.to(DType::i64); },
                             "Module::to: needs floating-point numbers, got i64");
    CHECK_EQ(pair.scale.dtype(), DType::f32);
}

TEST_CASE("module: a module registered twice is converted once") {
    class Twice : public Module {
    public:
        Linear inner, other;
        Twice() : Module("Twice"), inner(2, 2), other(2, 2) {
            register_module("a", inner);
            register_module("b", inner);
            register_module("c", other);
            other.weight = inner.weight;
        }
    };
    Twice twice;
    CHECK_EQ(names_of(twice.named_parameters()), Names{"b.weight", "b.bias", "c.bias"});
    const auto weight = twice.inner.weight.to_vector<double>();
    const auto bias = twice.other.bias.to_vector<double>();
    twice.to(DType::f64);
    CHECK_EQ(twice.inner.weight.leaf(), twice.other.weight.leaf());
    CHECK_EQ(twice.parameters().size(), 3);
    CHECK_EQ(twice.inner.weight.to_vector<double>(), weight);
    CHECK_EQ(twice.other.bias.to_vector<double>(), bias);
}

TEST_CASE("module: conversion is exact, independent of what was, and may be used for gradcheck") {
    Pair pair(false);
    const Tensor before = pair.first.weight;
    pair.to(DType::f64);
    pair.first.weight.fill_(7);
    CHECK(before.at({0, 0}) != 7);
    CHECK_EQ(before.dtype(), DType::f32);
    CHECK_EQ(pair.first(ones({1, 3}, DType::f64)).dtype(), DType::f64);
    CHECK_THROWS_AS(pair.first(ones({1, 3})), DTypeError);
}

TEST_CASE("module: modes, apply, forgetting gradients") {
    Pair pair(false);
    Names order;
    pair.apply([&](Module& module) { order.push_back(module.kind() + " " + module.name()); });
    CHECK_EQ(order, Names{"Linear first", "Linear second", "Dropout dropout", "Pair "});
    CHECK(pair.is_training());
    CHECK(pair.dropout.is_training());
    pair.eval();
    CHECK_FALSE(pair.is_training());
    CHECK_FALSE(pair.dropout.is_training());
    const Tensor x = ones({1000});
    CHECK_EQ(pair.dropout(x).to_vector<double>(), x.to_vector<double>());
    pair.train();
    CHECK(pair.dropout.is_training());
    CHECK(pair.dropout(x).to_vector<double>() != x.to_vector<double>());
    {
        Tape tape;
        tape.backward(sum(pair.first(ones({2, 3}))));
    }
    CHECK(pair.first.bias.grad().defined());
    pair.zero_grad();
    CHECK_FALSE(pair.first.bias.grad().defined());
    CHECK_FALSE(pair.first.weight.grad().defined());
}

TEST_CASE("module: the summary") {
    const Pair pair(true);
    const auto line = [](const std::string& left, int count) {
        return fmt::format("{:<62}{:>12}\n", left, count);
    };
    const std::string wanted = line("Pair(a, b)", 14) + line("  first: Linear(3 -> 3)", 12) +
                               line("  second: Linear(3 -> 3, no bias)", 9) +
                               line("  dropout: Dropout(p = 0.5)", 0);
    CHECK_EQ(pair.summary(), wanted);
    CHECK_EQ(fmt::format("{}", static_cast<const Module&>(pair)), wanted);
}

TEST_CASE("module: the tape carries the names") {
    Pair pair(false);
    Tape tape;
    pair.second(pair.first(ones({1, 3})));
    REQUIRE_EQ(tape.entries().size(), 2);
    CHECK_EQ(tape.entries()[0]->module_path(), "first");
    CHECK_EQ(tape.entries()[1]->module_path(), "second");
}

TEST_CASE("module: its state as a value, taken back where the tensors stand") {
    Pair pair(true), other(true);
    pair.running.fill_(3);
    pair.freeze("first.bias");
    const NamedTensors state = pair.state_dict();
    CHECK_EQ(names_of(state), Names{"scale", "first.weight", "first.bias", "running", "count"});
    CHECK_FALSE(state[0].second.requires_grad());
    const auto weight = pair.first.weight.to_vector<float>();
    pair.first.weight.fill_(0);  // the state is an independent copy

    const Tensor handle = other.second.weight;  // tied to first.weight
    const Unmatched unmatched = other.load_state_dict(state);
    CHECK(unmatched.missing.empty());
    CHECK(unmatched.unknown.empty());
    CHECK_EQ(handle.to_vector<float>(), weight);
    CHECK_EQ(other.running.at({2}), 3);
    CHECK(other.first.bias.requires_grad());
}

TEST_CASE("module: a state that does not fit changes nothing, unless it need not fit") {
    Linear layer(2, 3);
    const auto before = layer.weight.to_vector<float>();
    const NamedTensors state{{"weight", zeros({3, 2})}, {"scale", zeros({1})}};
    check_throws<ValueError>([&] { layer.load_state_dict(state); },
                             "load_state_dict: the tensors do not fit the Linear: missing: bias; "
                             "unknown: scale");
    check_throws<ValueError>(
        [&] {
            layer.load_state_dict({{"weight", zeros({2, 2})}}, false);
        },
        "load_state_dict: the tensors do not fit the Linear: different: weight (f32 [2, 2] in the "
        "state, f32 [3, 2] in the module)");
    CHECK_EQ(layer.weight.to_vector<float>(), before);
    const Unmatched unmatched = layer.load_state_dict(state, false);
    CHECK_EQ(unmatched.missing, Names{"bias"});
    CHECK_EQ(unmatched.unknown, Names{"scale"});
    CHECK_EQ(layer.weight.at({1, 1}), 0);
}

TEST_CASE("module: requires_grad_ freezes all, and asks again") {
    Pair pair(false);
    pair.requires_grad_(false);
    for (const Tensor& parameter : pair.parameters()) CHECK_FALSE(parameter.requires_grad());
    pair.requires_grad_();
    for (const Tensor& parameter : pair.parameters()) CHECK(parameter.requires_grad());
}

TEST_CASE("forward hooks: see inputs and output, may replace it, end with their owner") {
    Linear layer(2, 2, false);
    layer.weight.copy_(eye(2));
    const Tensor x = tensor<float>({{1, 2}});
    std::vector<std::string> order;
    auto twice = layer.register_forward_hook(
        [&](const Module& module, const Tensors& inputs, const Tensor& output) {
            order.push_back(module.kind());
            CHECK_EQ(inputs.at(0).storage(), x.storage());
            return output * 2.0;
        });
    auto seen = layer.register_forward_hook([&](const Module&, const Tensors&, const Tensor& y) {
        order.push_back(fmt::format("{}", y.at({0, 1})));  // what the first hook returned
        return Tensor();
    });
    CHECK_EQ(layer(x).to_vector<float>(), std::vector<float>{2, 4});
    CHECK_EQ(order, Names{"Linear", "4"});
    twice.reset();
    CHECK_EQ(layer(x).to_vector<float>(), std::vector<float>{1, 2});
    CHECK_EQ(order.back(), "2");
    seen.reset();
    layer(x);
    CHECK_EQ(order.size(), 3);

    auto owned = std::make_unique<Linear>(2, 2);
    auto survivor = owned->register_forward_hook({[](auto&&...) { return Tensor(); }});
    owned.reset();  // the hook's owner need not outlive the module
    check_throws<ValueError>([&] { auto none = layer.register_forward_hook(nullptr); },
                             "register_forward_hook: no function is given");
}

TEST_CASE("forward hooks: what they compute is recorded where the module stands") {
    Sequential network;
    Linear& first = network.add<Linear>(2, 3);
    network.add<Linear>(3, 1);
    const auto hook = first.register_forward_hook(
        [](const Module&, const Tensors&, const Tensor& y) { return y * 3.0; });
    Tape tape;
    const Tensor loss = sum(network(ones({4, 2})));
    REQUIRE_EQ(tape.entries().size(), 4);
    CHECK_EQ(tape.entries()[1]->module_path(), "0");
    tape.backward(loss);
    const Tensor wanted = network[1].parameters()[0];
    CHECK_EQ(first.bias.grad().at({0}), doctest::Approx(4 * 3 * wanted.at({0, 0})));
}

TEST_CASE("forward hooks: every module of the catalogue calls them, and those inside it") {
    for (const std::string& name : catalog::checked_module_names()) {
        CAPTURE(name);
        const catalog::CheckedModule checked = catalog::checked_module(name);
        std::map<const Module*, int> calls;
        std::vector<std::shared_ptr<const void>> hooks;
        checked.module->apply([&](Module& module) {
            hooks.push_back(module.register_forward_hook(
                [&calls](const Module& called, const Tensors& inputs, const Tensor& output) {
                    CHECK(output.defined());
                    CHECK_FALSE(inputs.empty());
                    ++calls[&called];
                    return Tensor();
                }));
        });
        const auto with = checked.value().to_vector<double>();
        checked.module->apply([&](Module& module) {
            // Some are not called at probability 0; for qkv see register_forward_hook.
            if (module.kind() == "Dropout" || module.name() == "qkv") return;
            CAPTURE(module.name());
            CHECK(calls[&module] > 0);
        });
        hooks.clear();
        CHECK_EQ(with.size(), static_cast<std::size_t>(checked.value().numel()));
    }
}
