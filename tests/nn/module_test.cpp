// Names, ties, modes and conversions of what modules are made of.
#include <tapestry/nn/dropout.h>
#include <tapestry/nn/linear.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/support.h>

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
    check_throws<DTypeError>([&] { pair.to(DType::i64); }, "Module::to: needs f32 or f64, got i64");
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
