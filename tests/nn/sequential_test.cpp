// Sequential and ModuleList, and activation functions inside them.
#include <tapestry/nn/layers/activation.h>
#include <tapestry/nn/layers/dropout.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/sequential.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;
using test::check_throws;

TEST_CASE("sequential: one after the other, named by their numbers") {
    Generator generator(1), same(1);
    Sequential network;
    const Linear& first = network.add<Linear>(3, 4, generator);
    network.add<SiLU>();
    network.add<Linear>(4, 2, false, generator);
    const Linear a(3, 4, true, same), b(4, 2, false, same);
    const Tensor x = test::random({5, 3}, 1, DType::f32);
    CHECK_EQ(network(x).to_vector<float>(), b(silu(a(x))).to_vector<float>());
    CHECK_EQ(network.size(), 3);
    CHECK_EQ(&network[0], &first);
    CHECK_EQ(network[1].kind(), "SiLU");
    check_throws<IndexError>([&] { network[3]; }, "Sequential: module 3 of 3");

    std::vector<std::string> names;
    for (const auto& [name, parameter] : network.named_parameters()) names.push_back(name);
    CHECK_EQ(names, std::vector<std::string>{"0.weight", "0.bias", "2.weight"});
    Tape tape;
    network(x);
    REQUIRE_EQ(tape.entries().size(), 3);
    CHECK_EQ(tape.entries()[1]->module_path(), "1");
}

TEST_CASE("sequential: modes reach what is inside; one within another; none at all") {
    Sequential network;
    auto& inner = network.add<Sequential>();
    inner.add<Dropout>(0.5);
    network.eval();
    CHECK_FALSE(inner[0].is_training());
    CHECK_EQ(inner[0].name(), "0");
    const Tensor x = ones({100});
    CHECK_EQ(network(x).to_vector<float>(), x.to_vector<float>());
    CHECK_EQ(Sequential()(x).storage(), x.storage());
}

TEST_CASE("sequential: activation functions are those of the ops") {
    const Tensor x = test::random({50});
    const auto same = [&](const Tensor& got, const Tensor& wanted) {
        CHECK_EQ(got.to_vector<double>(), wanted.to_vector<double>());
    };
    same(ReLU()(x), relu(x));
    same(GELU()(x), gelu(x, Gelu::erf));
    same(GELU(Gelu::tanh)(x), gelu(x, Gelu::tanh));
    same(SiLU()(x), silu(x));
    same(Tanh()(x), tanh(x));
    same(Sigmoid()(x), sigmoid(x));
    same(LeakyReLU(0.2)(x), leaky_relu(x, 0.2));
    same(ELU(0.7)(x), elu(x, 0.7));
    CHECK_EQ(GELU().settings(), "erf");
    CHECK_EQ(LeakyReLU().settings(), "slope 0.01");
    CHECK_EQ(ELU().settings(), "alpha 1");
}

TEST_CASE("module list: named by numbers, walked through, of one kind or of any") {
    Generator generator(1);
    struct Deep : Module {
        ModuleList<Linear> layers;
        Deep() : Module("Deep") { register_module("layers", layers); }
    } deep;
    CHECK(deep.layers.empty());
    for (int i = 0; i < 3; ++i) deep.layers.add(4, 4, false, generator);
    CHECK_EQ(deep.layers.size(), 3);
    CHECK_EQ(deep.named_parameters()[1].first, "layers.1.weight");
    const ModuleList<Linear>& layers = deep.layers;
    std::size_t i = 0;
    for (const Linear& layer : layers) CHECK_EQ(&layer, &layers[i++]);
    for (Linear& layer : deep.layers) layer.weight.fill_(0);
    CHECK_EQ(deep.layers[2].weight.at({3, 3}), 0);
    check_throws<IndexError>([&] { layers[3]; }, "ModuleList: module 3 of 3");

    ModuleList<> mixed;
    const Linear& linear = mixed.add<Linear>(2, 3, generator);
    mixed.add<Dropout>(0.5);
    CHECK_EQ(&mixed[0], &linear);
    mixed.eval();
    CHECK_FALSE(mixed[1].is_training());
}
