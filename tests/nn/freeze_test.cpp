// Freezing: its cost, the names it accepts, and its interaction with optimisers, conversions and
// ties.
#include <tapestry/nn/layers/activation.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/sequential.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/module/freeze.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/clip.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/support.h>

#include <algorithm>

using namespace tapestry;
using test::check_throws;
using Names = std::vector<std::string>;

namespace {

// Three matrices between inputs and loss.
struct Network : Sequential {
    explicit Network() {
        Generator generator(1);
        add<Linear>(4, 5, generator);
        add<Tanh>();
        add<Linear>(5, 6, generator);
        add<Tanh>();
        add<Linear>(6, 1, generator);
    }
};

struct Cost {
    std::size_t entries;   // recorded in forward
    std::size_t products;  // matrix products in backward
    bool operator==(const Cost&) const = default;
};

// Records backward, so its ops can be counted.
Cost cost_of(const Module& network, const Tensor& x) {
    Tape tape;
    const Tensor loss = sum(square(dynamic_cast<const Sequential&>(network)(x)));
    const std::size_t forward = tape.entries().size();
    if (tape.follows(loss)) tape.backward(loss, {.create_graph = true});
    const auto products =
        std::count_if(tape.entries().begin() + static_cast<std::ptrdiff_t>(forward),
                      tape.entries().end(), [](const auto& op) { return op->name() == "matmul"; });
    return {forward, static_cast<std::size_t>(products)};
}

GPT small_gpt(bool tied) {
    return GPT({.vocab = 5, .context = 4, .layers = 2, .heads = 1, .dim = 4, .tied_head = tied});
}

}  // namespace

TEST_CASE("freeze: a frozen parameter costs no gradient") {
    Network network;
    const Tensor x = ones({3, 4});
    CHECK(cost_of(network, x) == Cost{7, 5});  // two products per matrix; x has no gradient
    network.freeze("4.weight");
    CHECK(cost_of(network, x) == Cost{7, 4});
    network.freeze("4");
    network.unfreeze("4.weight");
    CHECK(cost_of(network, x) == Cost{7, 5});
    network.unfreeze();
    network.freeze("0");
    CHECK(cost_of(network, x) == Cost{5, 3});  // the tape starts after it
    network.freeze("2");
    CHECK(cost_of(network, x) == Cost{3, 1});
    network.freeze();
    CHECK(cost_of(network, x) == Cost{0, 0});
    network.unfreeze();
    CHECK(cost_of(network, x) == Cost{7, 5});
}

TEST_CASE("freeze: it forgets the gradient, and moves nothing") {
    Network network;
    AdamW optimizer(network, {.lr = 0.1});
    cost_of(network, ones({3, 4}));
    optimizer.step();
    network.freeze("2");
    const Tensors parameters = network.parameters();
    const auto frozen = parameters[2].to_vector<float>();
    const auto moving = parameters[0].to_vector<float>();
    CHECK_FALSE(parameters[2].grad().defined());
    CHECK(grad_norm(parameters) > 0);
    optimizer.step();
    CHECK_EQ(parameters[2].to_vector<float>(), frozen);
    CHECK(parameters[0].to_vector<float>() != moving);
    network.unfreeze("2");  // continues with its old moments
    cost_of(network, ones({3, 4}));
    optimizer.step();
    CHECK(parameters[2].to_vector<float>() != frozen);
}

TEST_CASE("freeze: between a forward pass and its walk back") {
    Network network;
    Tape tape;
    const Tensor loss = sum(network(ones({3, 4})));
    network.freeze("2");
    tape.backward(loss);
    CHECK_FALSE(network.parameters()[2].grad().defined());
    CHECK(network.parameters()[0].grad().defined());
}

TEST_CASE("freeze: no optimiser takes what is frozen") {
    Network network;
    network.freeze("2");
    AdamW whole(network, {}), listed({{.parameters = network.parameters()}}, {});
    AdamW grouped(decay_groups(network, 0.1), {});
    CHECK_EQ(whole.parameters().size(), 4);
    CHECK_EQ(listed.parameters().size(), 4);
    CHECK_EQ(grouped.parameters().size(), 4);
    CHECK_EQ(listed.state().groups[0].parameters, Names{"0", "1", "4", "5"});
}

TEST_CASE("freeze: requires_grad switched off through named_parameters(), as in PyTorch") {
    Network network;
    for (auto& [name, parameter] : network.named_parameters()) {
        if (name.starts_with("0.")) parameter.set_requires_grad(false);
    }
    CHECK_EQ(frozen_parameters(network), Names{"0.weight", "0.bias"});
    CHECK(cost_of(network, ones({3, 4})) == Cost{5, 3});
    for (Tensor& parameter : network.parameters()) parameter.set_requires_grad(true);
    CHECK(frozen_parameters(network).empty());
}

TEST_CASE("freeze: conversion keeps it, and a new tensor may be unfrozen") {
    Network network;
    network.freeze("0");
    network.to(DType::f64);
    CHECK_EQ(frozen_parameters(network), Names{"0.weight", "0.bias"});
    network.unfreeze();
    CHECK(frozen_parameters(network).empty());
    Linear linear(2, 2);
    linear.weight = ones({2, 2});  // a constant
    CHECK_EQ(frozen_parameters(linear), Names{"weight"});
    linear.unfreeze();
    CHECK(linear.weight.requires_grad());
}

TEST_CASE("freeze: a tied weight is frozen under all its names") {
    GPT model = small_gpt(true);
    model.freeze("head");
    CHECK_FALSE(model.token_embedding.weight.requires_grad());
    CHECK_EQ(frozen_parameters(model), Names{"token_embedding.weight"});
    model.unfreeze("token_embedding");
    CHECK(model.head.weight.requires_grad());
}

TEST_CASE("freeze: names of nothing, and what there is") {
    GPT model = small_gpt(true);
    check_throws<ValueError>([&] { model.freeze("block"); },
                             "freeze: no parameter has the prefix \"block\"; the module has "
                             "token_embedding, position_embedding, blocks, final_norm, head");
    check_throws<ValueError>([&] { model.unfreeze("blocks.0.attention.query"); },
                             "unfreeze: no parameter has the prefix \"blocks.0.attention.query\"; "
                             "\"blocks.0.attention\" has qkv, output");
    check_throws<ValueError>([&] { model.freeze("head.weight.0"); },
                             "freeze: no parameter has the prefix \"head.weight.0\"; "
                             "\"head.weight\" is one parameter");
    Sequential many;
    for (int i = 0; i < 14; ++i) many.add<Linear>(1, 1);
    check_throws<ValueError>(
        [&] { many.freeze("14"); },
        "freeze: no parameter has the prefix \"14\"; the module has 0, 1, 2, 3, "
        "4, 5, 6, 7, 8, 9, 10, 11, ...");
    check_throws<ValueError>([] { Tanh().freeze("weight"); },
                             "freeze: no parameter has the prefix \"weight\"; the module has none");
    Tanh().freeze();
    CHECK(frozen_parameters(model).empty());
}

TEST_CASE("train_only: everything else is frozen, regardless of its state before") {
    GPT model = small_gpt(false);
    model.freeze("head");
    const Names frozen = train_only(model, {"blocks.1.attention", "head.weight"});
    CHECK_EQ(frozen, frozen_parameters(model));
    CHECK(model.head.weight.requires_grad());
    const NamedTensors all = model.named_parameters();
    for (const auto& [name, parameter] : all) {
        CHECK_EQ(parameter.requires_grad(),
                 name.starts_with("blocks.1.attention.") || name == "head.weight");
    }
    CHECK_EQ(train_only(model, {""}), Names{});
}

TEST_CASE("train_only: one side of a tied weight, part of a fused one, and nothing are refused") {
    GPT model = small_gpt(true);
    model.freeze("final_norm");
    check_throws<ValueError>([&] { train_only(model, {"head"}); },
                             "train_only: \"head.weight\" and \"token_embedding.weight\" share one "
                             "tensor: train both or neither");
    check_throws<ValueError>(
        [&] {
            train_only(model, {"blocks", "token_embedding"});
        },
        "train_only: \"token_embedding.weight\" and \"head.weight\" share one tensor: train both "
        "or neither");
    check_throws<ValueError>(
        [&] {
            train_only(model, {"blocks.1", "blocks.0.attention.value"});
        },
        "train_only: no parameter has the prefix \"blocks.0.attention.value\"; "
        "\"blocks.0.attention\" has qkv, output");
    check_throws<ValueError>([&] { train_only(model, {}); },
                             "train_only: no prefix is given, nothing would be trained");
    CHECK_EQ(frozen_parameters(model), Names{"final_norm.weight", "final_norm.bias"});
    CHECK_EQ(train_only(model, {"head", "token_embedding"}).front(), "position_embedding.weight");
}
