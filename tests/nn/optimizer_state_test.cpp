// The state of an optimiser: exported under the parameters' names, restored, and errors.
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/ops/loss.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;
using test::check_throws;
using Names = std::vector<std::string>;

namespace {

// Two layers and an optimiser for them, made by `Make`.
struct Small {
    Generator generator{3};
    FeedForward model{{.dim = 3, .hidden = 4}, generator};

    void step(Optimizer& optimizer, std::uint64_t seed) const {
        Tape tape;
        const Tensor x = test::random({5, 3}, seed, DType::f32);
        const Tensor loss = mse_loss(model(x), test::random({5, 3}, seed + 1, DType::f32));
        optimizer.zero_grad();
        tape.backward(loss);
        optimizer.step(0.5);
    }
    std::vector<std::vector<float>> numbers() const { return test::numbers_of<float>(model); }
};

Names names_of(const NamedTensors& tensors) {
    Names names;
    for (const auto& [name, tensor] : tensors) names.push_back(name);
    return names;
}

Tensor& tensor_of(OptimizerState& state, const std::string& name) {
    for (auto& [key, tensor] : state.tensors) {
        if (key == name) return tensor;
    }
    throw Error("no tensor " + name);
}

// Three steps, the state, three more; a second optimiser with other settings resumes from there.
template <class O, class Config>
void check_goes_on(const Config& config, const Config& other) {
    Small first, second;
    O optimizer(first.model, config);
    for (std::uint64_t step = 0; step < 3; ++step) first.step(optimizer, step);
    const OptimizerState state = optimizer.state();
    const Tensors now = first.model.parameters();
    Tensors copies = second.model.parameters();
    for (std::size_t i = 0; i < now.size(); ++i) copies[i].copy_(now[i]);
    for (std::uint64_t step = 3; step < 6; ++step) first.step(optimizer, step);

    O fresh(second.model, other);
    fresh.load_state(state);
    CHECK_EQ(fresh.steps(), 3);
    CHECK_EQ(fresh.lr(), config.lr);
    for (std::uint64_t step = 3; step < 6; ++step) second.step(fresh, step);
    CHECK_EQ(first.numbers(), second.numbers());
    CHECK_EQ(names_of(fresh.state().tensors), names_of(optimizer.state().tensors));
}

}  // namespace

TEST_CASE("optimizer state: another optimizer continues from it, to the last bit") {
    check_goes_on<AdamW>(AdamConfig{.lr = 0.1, .beta1 = 0.7, .weight_decay = 0.3}, AdamConfig{});
    check_goes_on<Adam>(AdamConfig{.lr = 0.1, .eps = 1e-5}, AdamConfig{.lr = 0});
    check_goes_on<SGD>(SGDConfig{.lr = 0.1, .momentum = 0.9, .nesterov = true}, SGDConfig{});
    check_goes_on<SGD>(SGDConfig{.lr = 0.1}, SGDConfig{.lr = 1, .momentum = 0.5});
    check_goes_on<RMSprop>(RMSpropConfig{.lr = 0.1, .momentum = 0.9, .centered = true},
                           RMSpropConfig{});
    check_goes_on<RMSprop>(RMSpropConfig{.lr = 0.1, .alpha = 0.8},
                           RMSpropConfig{.momentum = 0.5, .centered = true});
    check_goes_on<Lion>(LionConfig{.lr = 0.01, .beta1 = 0.7, .weight_decay = 0.3}, LionConfig{});
}

TEST_CASE("optimizer state: names, counts and settings; it is a copy") {
    const Small small;
    AdamW optimizer(decay_groups(small.model, 0.1), {.lr = 0.01, .beta2 = 0.99});
    CHECK_EQ(names_of(optimizer.state().tensors),
             Names{"steps.up.weight", "steps.down.weight", "steps.up.bias", "steps.down.bias"});
    small.step(optimizer, 1);
    small.step(optimizer, 2);
    OptimizerState state = optimizer.state();
    CHECK_EQ(state.kind, "AdamW");
    CHECK_EQ(state.steps, 2);
    CHECK_EQ(state.lr, 0.01);
    CHECK_EQ(state.settings,
             OptimizerState::Settings{{"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}});
    REQUIRE_EQ(state.groups.size(), 2);
    CHECK_EQ(state.groups[0].parameters, Names{"up.weight", "down.weight"});
    CHECK_EQ(state.groups[0].weight_decay, 0.1);
    CHECK_EQ(state.groups[1].parameters, Names{"up.bias", "down.bias"});
    CHECK_EQ(state.groups[1].weight_decay, 0);
    CHECK_EQ(state.groups[1].lr_factor, 1);
    CHECK_EQ(state.tensors.size(), 12);
    CHECK_EQ(tensor_of(state, "steps.up.bias").item<std::int64_t>(), 2);
    CHECK_EQ(tensor_of(state, "m.up.weight").shape(), Shape{4, 3});

    const auto before = tensor_of(state, "v.down.weight").to_vector<float>();
    small.step(optimizer, 3);
    CHECK_EQ(tensor_of(state, "v.down.weight").to_vector<float>(), before);
    optimizer.load_state(state);
    small.step(optimizer, 3);
    CHECK_EQ(tensor_of(state, "v.down.weight").to_vector<float>(), before);
}

TEST_CASE("optimizer state: parameters that came without names are numbered over all groups") {
    const Tensor a = ones({2}).set_requires_grad(), b = ones({3}).set_requires_grad();
    const Tensor c = ones({4}).set_requires_grad();
    SGD optimizer({{.parameters = {a}}, {.parameters = {{"b", b}, {"", c}}}}, {.momentum = 0.5});
    const OptimizerState state = optimizer.state();
    CHECK_EQ(state.groups[0].parameters, Names{"0"});
    CHECK_EQ(state.groups[1].parameters, Names{"b", "2"});
}

TEST_CASE("optimizer state: a parameter that joins late") {
    Small first, second;
    AdamW a(first.model, {}), b(second.model, {});
    first.model.down.bias.set_grad(ones({3}));
    second.model.down.bias.set_grad(ones({3}));
    a.step();
    b.step();
    OptimizerState state = a.state();
    CHECK_EQ(tensor_of(state, "steps.up.weight").item<std::int64_t>(), 0);
    CHECK_EQ(state.tensors.size(), 6);
    b.load_state(state);
    for (std::uint64_t step = 0; step < 2; ++step) {
        first.step(a, step);
        second.step(b, step);
    }
    CHECK_EQ(first.numbers(), second.numbers());
}

TEST_CASE("optimizer state: what is refused changes nothing") {
    const Small small;
    AdamW optimizer(small.model, {.lr = 0.01});
    small.step(optimizer, 1);
    const OptimizerState good = optimizer.state();
    const auto refused = [&](const std::string& words, auto&& spoil) {
        OptimizerState state = good;
        state.lr = 0.5;
        state.steps = 7;
        spoil(state);
        check_throws<ValueError>([&] { optimizer.load_state(state); }, words);
        CHECK_EQ(optimizer.lr(), 0.01);
        CHECK_EQ(optimizer.steps(), 1);
    };
    using State = OptimizerState;
    refused("load_state: the state is of SGD, this optimizer is AdamW",
            [](State& s) { s.kind = "SGD"; });
    refused("load_state: 2 groups of parameters in the state, 1 in this AdamW",
            [](State& s) { s.groups.emplace_back(); });
    refused("load_state: parameter \"down.bias\" is missing from the state",
            [](State& s) { s.groups[0].parameters.pop_back(); });
    refused("load_state: parameter \"head\" of the state is unknown to this AdamW",
            [](State& s) { s.groups[0].parameters.push_back("head"); });
    refused("load_state: parameter \"up.bias\" appears twice in the state",
            [](State& s) { s.groups[0].parameters.push_back("up.bias"); });
    refused("load_state: tensor \"v.up.bias\" is missing from the state", [](State& s) {
        std::erase_if(s.tensors, [](const auto& t) { return t.first == "v.up.bias"; });
    });
    refused("load_state: tensor \"q.up.bias\" of the state is not used by this optimizer",
            [](State& s) { s.tensors.emplace_back("q.up.bias", ones({4})); });
    refused("load_state: tensor \"m.up.bias\" appears twice in the state",
            [](State& s) { s.tensors.emplace_back("m.up.bias", ones({4})); });
    refused("load_state: tensor \"m.up.bias\" is f32 [5] in the state, expected f32 [4]",
            [](State& s) { tensor_of(s, "m.up.bias") = ones({5}); });
    refused("load_state: tensor \"m.up.bias\" is f64 [4] in the state, expected f32 [4]",
            [](State& s) { tensor_of(s, "m.up.bias") = ones({4}, DType::f64); });
    refused("load_state: parameter \"up.bias\" has taken 9 of 7 steps",
            [](State& s) { tensor_of(s, "steps.up.bias") = full({}, 9, DType::i64); });
    refused("load_state: setting \"eps\" is missing from the state",
            [](State& s) { s.settings.erase("eps"); });
    refused("load_state: setting \"rho\" of the state is unknown",
            [](State& s) { s.settings["rho"] = 1; });
    refused("AdamW: beta1 must be in [0, 1), got 2", [](State& s) { s.settings["beta1"] = 2; });
    refused("load_state: the state's learning rate must be finite and >= 0, got -1",
            [](State& s) { s.lr = -1; });
    refused("load_state: the state's weight decay must be finite and >= 0, got nan",
            [](State& s) { s.groups[0].weight_decay = NAN; });

    AdamW split(decay_groups(small.model, 0.1), {});
    State state = split.state();
    std::swap(state.groups[0].parameters.back(), state.groups[1].parameters.back());
    check_throws<ValueError>([&] { split.load_state(state); },
                             "load_state: parameter \"down.weight\" is in group 1 of the state and "
                             "in group 0 of this AdamW");
}
