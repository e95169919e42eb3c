// Each layer: values against plain loops, gradients against differences, errors.
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/transformer/blocks.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>

using namespace tapestry;
using test::check_gradients;
using test::check_throws;
using test::difference;
using test::random;
using test::plain::Numbers;
using test::plain::numbers;

namespace {

constexpr double kExact = 1e-13;  // f64: the same sums in another order

// Moves every parameter away from its initial value, so biases and norm weights matter.
void shake(Module& module) {
    std::uint64_t seed = 100;
    for (Tensor& parameter : module.parameters()) {
        const Tensor noise = random(parameter.shape(), seed++, parameter.dtype());
        const auto values = noise.to_vector<double>();
        visit_floating("shake", parameter.dtype(), [&](auto zero) {
            using T = decltype(zero);
            T* to = parameter.mutable_data<T>();
            for (std::size_t i = 0; i < values.size(); ++i)
                to[i] += static_cast<T>(0.3 * values[i]);
        });
    }
}

template <class M>
M& in_f64(M& module) {
    module.to(DType::f64);
    shake(module);
    return module;
}

std::vector<Tensor*> members_of(Linear& layer) {
    if (!layer.bias.defined()) return {&layer.weight};
    return {&layer.weight, &layer.bias};
}

template <class... Parts>
std::vector<Tensor*> joined(const Parts&... parts) {
    std::vector<Tensor*> all;
    (all.insert(all.end(), parts.begin(), parts.end()), ...);
    return all;
}

std::vector<Tensor*> members_of(MultiHeadAttention& layer) {
    return joined(members_of(*layer.qkv), members_of(layer.output));
}

std::vector<Tensor*> members_of(FeedForward& layer) {
    const auto gate = layer.gate ? members_of(*layer.gate) : std::vector<Tensor*>{};
    return joined(members_of(layer.up), gate, members_of(layer.down));
}

template <class M>
TensorFunction calling(const M& module) {
    return [&module](const Tensors& x) { return module(x[0]); };
}

}  // namespace

TEST_CASE("Linear") {
    for (const bool bias : {true, false}) {
        Generator generator(1);
        Linear layer(3, 4, bias, generator);
        CHECK_EQ(layer.weight.shape(), Shape{4, 3});
        CHECK_EQ(layer.bias.defined(), bias);
        for (const double w : layer.weight.to_vector<double>()) {
            CHECK(std::abs(w) <= 1 / std::sqrt(3.0));
        }
        in_f64(layer);
        const Tensor x = random({2, 5, 3});
        CHECK(difference(layer(x), test::plain::linear(numbers(x), layer)) < kExact);
        check_gradients(layer, members_of(layer), calling(layer), {random({2, 3})});
    }
    check_throws<ValueError>([] { Linear(0, 3); }, "Linear: sizes must be positive, got 0 -> 3");
    check_throws<ValueError>([] { Linear(3, -1); }, "Linear: sizes must be positive, got 3 -> -1");
    const Linear layer(3, 4);
    CHECK_EQ(layer.settings(), "3 -> 4");
    CHECK_THROWS_AS(layer(ones({2, 4})), ShapeError);
    CHECK_THROWS_AS(layer(Tensor()), Error);
}

TEST_CASE("Linear: the same seed gives the same start, no matter what else draws") {
    Generator a(5), b(5), c(6);
    CHECK_EQ(Linear(7, 3, true, a).weight.to_vector<float>(),
             Linear(7, 3, true, b).weight.to_vector<float>());
    CHECK(Linear(7, 3, true, b).weight.to_vector<float>() !=
          Linear(7, 3, true, c).weight.to_vector<float>());
}

TEST_CASE("Embedding") {
    Embedding layer(5, 3);
    in_f64(layer);
    const Tensor ids = tensor<std::int64_t>({{4, 0}, {4, 2}});
    const Tensor y = layer(ids);
    CHECK_EQ(y.shape(), Shape{2, 2, 3});
    for (std::int64_t d = 0; d < 3; ++d) {
        CHECK_EQ(y.at({1, 0, d}), layer.weight.at({4, d}));
        CHECK_EQ(y.at({0, 1, d}), layer.weight.at({0, d}));
    }
    check_gradients(layer, {&layer.weight}, [&](const Tensors&) { return layer(ids); }, {});
    CHECK_EQ(layer.settings(), "5 x 3");
    CHECK_THROWS_AS(layer(tensor<std::int64_t>({5})), IndexError);
    CHECK_THROWS_AS(layer(tensor<std::int64_t>({-1})), IndexError);
    CHECK_THROWS_AS(layer(ones({2})), DTypeError);
    check_throws<ValueError>([] { Embedding(0, 3); },
                             "Embedding: sizes must be positive, got 0 x 3");
}

TEST_CASE("LayerNorm and RMSNorm") {
    for (const bool bias : {true, false}) {
        LayerNorm layer(5, 1e-5, bias);
        CHECK_EQ(layer.weight.to_vector<double>(), std::vector<double>(5, 1));
        CHECK_EQ(layer.bias.defined(), bias);
        in_f64(layer);
        const Tensor x = random({2, 3, 5});
        CHECK(difference(layer(x), test::plain::layer_norm(numbers(x), layer)) < kExact);
        auto members = std::vector<Tensor*>{&layer.weight};
        if (bias) members.push_back(&layer.bias);
        check_gradients(layer, members, calling(layer), {random({2, 5})});
    }
    RMSNorm layer(5);
    in_f64(layer);
    const Tensor x = random({2, 3, 5});
    CHECK(difference(layer(x),
                     reference::norm(numbers(x), numbers(layer.weight), {}, 1e-6, false)) < kExact);
    check_gradients(layer, {&layer.weight}, calling(layer), {random({2, 5})});
    for (const NormKind kind : {NormKind::layer, NormKind::rms}) {  // the same, by a value
        VectorNorm norm(kind, 5, 1e-6);
        LayerNorm of_layer(5, 1e-6);
        CHECK_EQ(norm.bias.defined(), kind == NormKind::layer);
        CHECK_EQ(norm.kind(), kind == NormKind::layer ? "LayerNorm" : "RMSNorm");
        in_f64(norm);
        in_f64(of_layer);
        of_layer.weight.copy_(norm.weight);
        layer.weight.copy_(norm.weight);
        if (norm.bias.defined()) of_layer.bias.copy_(norm.bias);
        CHECK(norm(x).to_vector<double>() ==
              (kind == NormKind::layer ? of_layer(x) : layer(x)).to_vector<double>());
        auto members = std::vector<Tensor*>{&norm.weight};
        if (norm.bias.defined()) members.push_back(&norm.bias);
        check_gradients(norm, members, calling(norm), {random({2, 5})});
    }
    CHECK_EQ(LayerNorm(5).settings(), "5");
    CHECK_THROWS_AS(LayerNorm(5)(ones({2, 4})), ShapeError);
    CHECK_THROWS_AS(RMSNorm(5)(ones({2, 4})), ShapeError);
    check_throws<ValueError>([] { LayerNorm(0); }, "LayerNorm: size must be positive, got 0");
    check_throws<ValueError>([] { RMSNorm(-2); }, "RMSNorm: size must be positive, got -2");
    check_throws<ValueError>([] { VectorNorm(NormKind::rms, 0, 0); },
                             "RMSNorm: size must be positive, got 0");
}

TEST_CASE("Dropout") {
    Generator generator(1);
    Dropout layer(0.25, generator);
    const Tensor x = ones({10000}, DType::f64);
    const Tensor y = layer(x);
    double kept = 0;
    for (const double value : y.to_vector<double>()) {
        CHECK((value == 0 || value == 1 / 0.75));
        kept += value == 0 ? 0 : 1;
    }
    CHECK(std::abs(kept / 10000 - 0.75) < 0.02);
    CHECK(layer(x).to_vector<double>() != y.to_vector<double>());
    generator.set_state(1, 0);
    CHECK_EQ(layer(x).to_vector<double>(), y.to_vector<double>());
    layer.eval();
    CHECK_EQ(layer(x).storage(), x.storage());
    CHECK_EQ(layer.settings(), "p = 0.25");
    check_throws<ValueError>([] { Dropout(1.5); }, "Dropout: p must be in [0, 1], got 1.5");
    CHECK_THROWS_AS(Dropout(NAN), ValueError);
    CHECK_EQ(sum(Dropout(1)(x)).item(), 0);
    check_gradients(layer, {},
                    [&](const Tensors& t) {
                        Generator same(3);
                        return Dropout(0.5, same)(t[0]);
                    },
                    {random({20})});
}

TEST_CASE("FeedForward") {
    for (const Activation activation :
         {Activation::relu, Activation::relu_squared, Activation::gelu_tanh, Activation::gelu_erf,
          Activation::silu, Activation::swiglu}) {
        FeedForward layer({.dim = 3, .hidden = 5, .activation = activation});
        in_f64(layer);
        const Tensor x = random({2, 3});
        const auto wanted = [&](auto f) {
            return test::plain::linear(reference::map(test::plain::linear(numbers(x), layer.up), f),
                                       layer.down);
        };
        const Tensor y = layer(x);
        switch (activation) {
            case Activation::relu:
                CHECK(difference(y, wanted(reference::relu<double>)) < kExact);
                break;
            case Activation::relu_squared:
                CHECK(difference(y, wanted(reference::relu_squared<double>)) < kExact);
                break;
            case Activation::gelu_tanh:
                CHECK(difference(y, wanted(reference::gelu_tanh<double>)) < kExact);
                break;
            case Activation::gelu_erf:
                CHECK(difference(y, wanted(reference::gelu_erf<double>)) < kExact);
                break;
            case Activation::silu:
                CHECK(difference(y, wanted(reference::silu<double>)) < kExact);
                break;
            case Activation::swiglu: {
                Numbers gated = reference::map(test::plain::linear(numbers(x), *layer.gate),
                                               reference::silu<double>);
                const Numbers up = test::plain::linear(numbers(x), layer.up);
                for (std::int64_t i = 0; i < up.size(); ++i) gated[i] *= up[i];
                CHECK(difference(y, test::plain::linear(gated, layer.down)) < kExact);
                break;
            }
        }
        check_gradients(layer, members_of(layer), calling(layer), {x});
    }
    const FeedForward layer({.dim = 3, .bias = false});
    CHECK_EQ(layer.up.weight.shape(), Shape{12, 3});
    CHECK_EQ(layer.parameter_count(), 2 * 3 * 12);
    CHECK_THROWS_AS(FeedForward({.dim = 0}), ValueError);
    CHECK_THROWS_AS(FeedForward({.dim = 3, .hidden = -1}), ValueError);
}

TEST_CASE("MultiHeadAttention") {
    for (const bool causal : {false, true}) {
        for (const std::int64_t heads : {1, 2}) {
            MultiHeadAttention layer({.dim = 4, .heads = heads, .causal = causal, .bias = causal});
            in_f64(layer);
            const Tensor x = random({2, 5, 4});
            CHECK(difference(layer(x), test::plain::attention(numbers(x), layer, heads, causal)) <
                  kExact);
            check_gradients(layer, members_of(layer), calling(layer), {random({1, 3, 4})},
                            heads == 2);
        }
    }
    check_throws<ValueError>([] { MultiHeadAttention({.dim = 10, .heads = 4}); },
                             "MultiHeadAttention: 4 heads do not divide dim 10 (remainder 2)");
    check_throws<ValueError>([] { MultiHeadAttention({.dim = 10, .heads = 0}); },
                             "MultiHeadAttention: dim 10 and heads 0 must be positive");
    check_throws<ValueError>([] { MultiHeadAttention({.dim = 4, .dropout = 2}); },
                             "MultiHeadAttention: dropout must be in [0, 1], got 2");
    const MultiHeadAttention layer({.dim = 4, .heads = 2, .causal = true});
    CHECK_EQ(layer.settings(), "2 heads, causal");
    check_throws<ShapeError>(
        [&] {
            layer(ones({5, 4}));
        },
        "MultiHeadAttention: needs [B, T, 4], got [5, 4]");
    CHECK_THROWS_AS(layer(Tensor()), Error);
    CHECK_EQ(layer(ones({0, 5, 4})).shape(), Shape{0, 5, 4});
}

TEST_CASE("EncoderLayer") {
    for (const bool causal : {true, false}) {
        EncoderLayer layer({.dim = 4,
                            .heads = 2,
                            .activation = Activation::gelu_tanh,
                            .norm_first = true,
                            .causal = causal,
                            .bias = causal});
        in_f64(layer);
        const Tensor x = random({2, 5, 4});
        CHECK(difference(layer(x), test::plain::block(numbers(x), layer, 2, causal)) < kExact);
        auto members = joined(members_of(layer.attention), members_of(layer.feed_forward));
        for (LayerNorm* norm : {&layer.attention_norm, &layer.feed_forward_norm}) {
            members.push_back(&norm->weight);
            if (causal) members.push_back(&norm->bias);
        }
        check_gradients(layer, members, calling(layer), {random({1, 3, 4})}, false);
    }
}

TEST_CASE("EncoderLayer: dropout acts only in training, at each of its places") {
    Generator generator(1);
    EncoderLayer layer({.dim = 8,
                        .heads = 2,
                        .dropout = 0.5,
                        .activation = Activation::gelu_tanh,
                        .norm_first = true,
                        .causal = true},
                       generator);
    const Tensor x = random({2, 6, 8}, 1, DType::f32);
    CHECK(layer(x).to_vector<float>() != layer(x).to_vector<float>());
    const std::uint64_t before = generator.offset();
    layer.eval();
    CHECK_EQ(layer(x).to_vector<float>(), layer(x).to_vector<float>());
    CHECK_EQ(generator.offset(), before);
    CHECK(difference(layer(x), test::plain::block(numbers(x), layer, 2, true)) < 1e-5);
}
