#include <tapestry/nn/catalog/checked_modules.h>

#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/nn/catalog/checked_parts.h>
#include <tapestry/nn/layers/activation.h>
#include <tapestry/nn/layers/convolution.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/norm.h>
#include <tapestry/nn/layers/sequential.h>
#include <tapestry/nn/recurrent/recurrent.h>
#include <tapestry/nn/transformer/blocks.h>
#include <tapestry/ops/activation.h>

#include <fmt/ranges.h>

namespace tapestry::catalog {
namespace {

struct MLP final : Module {
    Linear first, second;
    explicit MLP(Generator& g) : Module("MLP"), first(3, 7, true, g), second(7, 2, true, g) {
        register_module("first", first);
        register_module("second", second);
    }
    Tensor operator()(const Tensor& x) const { return hooked(second(relu(first(x))), x); }
};

template <class M, class... Options>
CheckedModule recurrent(bool bidirectional, const Options&... options) {
    Generator& g = fresh_generator();
    const RecurrentConfig config{
        .input = 3, .hidden = 4, .layers = bidirectional ? 2 : 1, .bidirectional = bidirectional};
    const Tensor lengths = tensor<std::int64_t>({4, 2});
    return checked_example(
        std::make_shared<M>(config, options..., g), {random_tensor({2, 4, 3}, 1)},
        [lengths](const M& m, const Tensors& x) { return m(x[0], {.lengths = lengths}).output; });
}

TransformerLayerConfig small_layer() {
    return {.dim = 8, .heads = 2, .hidden = 12, .activation = Activation::gelu_tanh};
}

Makers layers() {
    return {
        {"linear",
         [] {
             Generator& g = fresh_generator();
             return of_input(std::make_shared<Linear>(3, 4, true, g), {2, 3});
         }},
        {"layer_norm",
         [] {
             return of_input(std::make_shared<LayerNorm>(5), {3, 5});
         }},
        {"rms_norm",
         [] {
             return of_input(std::make_shared<RMSNorm>(5), {3, 5});
         }},
        {"embedding",
         [] {
             Generator& g = fresh_generator();
             const Tensor chosen = random_ids({2, 4}, 6, 1);
             return checked_example(
                 std::make_shared<Embedding>(6, 3, g), {},
                 [chosen](const Embedding& m, const Tensors&) { return m(chosen); });
         }},
        {"mlp",
         [] {
             Generator& g = fresh_generator();
             return of_input(std::make_shared<MLP>(g), {4, 3});
         }},
        {"feed_forward",
         [] {
             Generator& g = fresh_generator();
             const FeedForwardConfig config{.dim = 4, .hidden = 6};
             return of_input(std::make_shared<FeedForward>(config, g), {2, 3, 4});
         }},
        {"sequential",
         [] {
             Generator& g = fresh_generator();
             const auto network = std::make_shared<Sequential>();
             network->add<Linear>(3, 4, g);
             network->add<Tanh>();
             network->add<Linear>(4, 4, g);
             network->add<GELU>();
             network->add<Sigmoid>();
             network->add<SiLU>();
             return of_input(network, {2, 3});
         }},
    };
}

Makers image_layers() {
    return {
        {"conv1d",
         [] {
             Generator& g = fresh_generator();
             const Conv1dOptions options{.stride = 2, .padding = 1};
             return of_input(std::make_shared<Conv1d>(2, 3, 3, options, g), {2, 2, 5});
         }},
        {"conv2d",
         [] {
             Generator& g = fresh_generator();
             const Conv2dOptions options{.stride = {1, 2}, .padding = 1, .groups = 2};
             return of_input(std::make_shared<Conv2d>(2, 4, 3, options, g), {2, 2, 4, 4});
         }},
        {"batch_norm",
         [] {
             return of_input(std::make_shared<BatchNorm2d>(3), {2, 3, 2, 3});
         }},
        {"batch_norm_evaluation",
         [] {
             const auto norm = std::make_shared<BatchNorm1d>(3);
             norm->eval();
             return of_input(norm, {4, 3});
         }},
        {"group_norm",
         [] {
             return of_input(std::make_shared<GroupNorm>(2, 4), {2, 4, 2, 3});
         }},
        {"convolutional",
         [] {
             Generator& g = fresh_generator();
             const auto network = std::make_shared<Sequential>();
             network->add<Conv2d>(1, 2, 3, Conv2dOptions{.padding = 1}, g);
             network->add<BatchNorm2d>(2);
             network->add<Tanh>();
             network->add<MaxPool2d>(2);
             network->add<Conv2d>(2, 2, 2, Conv2dOptions{}, g);
             network->add<AvgPool2d>(2, Pool2dOptions{.stride = 1, .padding = 1});
             network->add<Flatten>();
             network->add<Linear>(8, 3, g);
             return of_input(network, {2, 1, 4, 4});
         }},
    };
}

Makers sequence_layers() {
    return {
        {"attention",
         [] {
             Generator& g = fresh_generator();
             const MultiHeadAttentionConfig config{.dim = 8,
                                                   .heads = 2,
                                                   .causal = true,
                                                   .dropout = 0.1,
                                                   .positions = Positions::rotary};
             return of_input(std::make_shared<MultiHeadAttention>(config, g), {2, 4, 8});
         }},
        {"grouped_attention",
         [] {
             Generator& g = fresh_generator();
             const MultiHeadAttentionConfig config{.dim = 8,
                                                   .heads = 2,
                                                   .kv_heads = 1,
                                                   .causal = true,
                                                   .positions = Positions::alibi,
                                                   .qk_norm = QKNorm::layer};
             return of_input(std::make_shared<MultiHeadAttention>(config, g), {2, 4, 8});
         }},
        {"relative_attention",
         [] {
             Generator& g = fresh_generator();
             const MultiHeadAttentionConfig config{
                 .dim = 8, .heads = 2, .positions = Positions::relative, .qk_norm = QKNorm::rms};
             return of_input(std::make_shared<MultiHeadAttention>(config, g), {2, 4, 8});
         }},
        {"cross_attention",
         [] {
             Generator& g = fresh_generator();
             const MultiHeadAttentionConfig config{
                 .dim = 8, .heads = 2, .key_dim = 5, .value_dim = 5};
             return checked_example(std::make_shared<MultiHeadAttention>(config, g),
                                    {random_tensor({2, 3, 8}, 1), random_tensor({2, 4, 5}, 2)},
                                    [](const MultiHeadAttention& m, const Tensors& x) {
                                        return m(x[0], {.keys = x[1]});
                                    });
         }},
        {"rnn", [] { return recurrent<RNN>(false, RNNActivation::tanh); }},
        {"gru", [] { return recurrent<GRU>(false); }},
        {"lstm", [] { return recurrent<LSTM>(false); }},
        {"bidirectional_lstm", [] { return recurrent<LSTM>(true); }},
        {"encoder_layer",
         [] {
             Generator& g = fresh_generator();
             return of_input(std::make_shared<EncoderLayer>(small_layer(), g), {2, 3, 8});
         }},
        {"decoder_layer",
         [] {
             Generator& g = fresh_generator();
             return checked_example(
                 std::make_shared<DecoderLayer>(small_layer(), g),
                 {random_tensor({2, 3, 8}, 1), random_tensor({2, 4, 8}, 2)},
                 [](const DecoderLayer& m, const Tensors& x) { return m(x[0], x[1]); });
         }},
    };
}

const Makers& makers() {
    static const Makers all = [] {
        Makers some = layers();
        for (auto& more : {image_layers(), sequence_layers(), checked_models()}) {
            some.insert(some.end(), more.begin(), more.end());
        }
        return some;
    }();
    return all;
}

}  // namespace

const std::vector<std::string>& checked_module_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const auto& [name, make] : makers()) all.push_back(name);
        return all;
    }();
    return names;
}

CheckedModule checked_module(const std::string& name) {
    for (const auto& [known, make] : makers()) {
        if (known != name) continue;
        CheckedModule made = make();
        made.name = name;
        return made;
    }
    fail<ValueError>("gradcheck: unknown module \"{}\"; must be one of {}", name,
                     fmt::join(checked_module_names(), ", "));
}

}  // namespace tapestry::catalog
