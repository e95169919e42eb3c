#include <tapestry/nn/catalog/checked_modules.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/layers/activation.h>
#include <tapestry/nn/layers/convolution.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/feed_forward.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/layers/norm.h>
#include <tapestry/nn/layers/sequential.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/llama/llama.h>
#include <tapestry/nn/models/masked_language_model.h>
#include <tapestry/nn/models/seq2seq.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/nn/models/vision_transformer.h>
#include <tapestry/nn/recurrent/recurrent.h>
#include <tapestry/ops/activation.h>

#include <fmt/ranges.h>

#include <map>

namespace tapestry::catalog {
namespace {

Tensor random(const Shape& shape, std::uint64_t seed) {
    Generator generator(seed);
    return randn(shape, generator, DType::f64);
}

// Modules with dropout keep drawing from the generator they were made with: it must outlive them.
// Each thread checks its own modules.
Generator& fresh_generator() {
    static thread_local Generator generator(5);
    generator.set_state(5, 0);
    return generator;
}

Tensor ids(const Shape& shape, std::int64_t limit, std::uint64_t seed) {
    Generator generator(seed);
    return randint(0, limit, shape, generator);
}

// Converts the parameters to f64 and adds noise to them; makes the inputs leaves.
template <class M, class F>
CheckedModule checked(std::shared_ptr<M> module, Tensors inputs, F f) {
    module->to(DType::f64);
    std::uint64_t seed = 900;
    for (auto& [name, parameter] : module->named_parameters()) {
        const auto noise = random(parameter.shape(), seed++).template to_vector<double>();
        Tensor p = parameter;
        double* values = p.mutable_data<double>();
        for (std::size_t i = 0; i < noise.size(); ++i) values[i] += 0.2 * noise[i];
    }
    for (Tensor& input : inputs) input.set_requires_grad();
    const auto given = std::make_shared<Tensors>(std::move(inputs));
    CheckedModule result;
    result.value = [module, given, f] { return f(*module, *given); };
    result.leaves = [module, given](DType dtype) {
        module->to(dtype);
        NamedTensors leaves = module->named_parameters();
        for (std::size_t i = 0; i < given->size(); ++i) {
            Tensor& input = (*given)[i];
            if (input.dtype() != dtype) input = cast(input, dtype).set_requires_grad();
            leaves.emplace_back(fmt::format("input {}", i), input);
        }
        return leaves;
    };
    result.module = std::move(module);
    return result;
}

// Modules of one tensor.
template <class M>
CheckedModule of_input(std::shared_ptr<M> module, const Shape& shape) {
    return checked(std::move(module), {random(shape, 1)},
                   [](const M& m, const Tensors& x) { return m(x[0]); });
}

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
    return checked(
        std::make_shared<M>(config, options..., g), {random({2, 4, 3}, 1)},
        [lengths](const M& m, const Tensors& x) { return m(x[0], {.lengths = lengths}).output; });
}

TransformerLayerConfig small_layer() {
    return {.dim = 8, .heads = 2, .hidden = 12, .activation = Activation::gelu_tanh};
}

CheckedModule gpt(bool recompute, Positions positions) {
    Generator& g = fresh_generator();
    GPTConfig config{.vocab = 11, .context = 6, .layers = 2, .heads = 2, .dim = 8};
    config.recompute = recompute;
    config.positions = positions;
    config.earlier = positions == Positions::rotary ? 2 : 0;
    config.pairs = 20 * config.earlier;
    config.softcap = static_cast<double>(config.earlier);
    const Tensor x = ids({2, 5}, 11, 1), y = ids({2, 5}, 11, 2);
    return checked(std::make_shared<GPT>(config, g), {},
                   [x, y](const GPT& m, const Tensors&) { return m.loss(x, y); });
}

CheckedModule seq2seq(Alignment alignment) {
    Generator& g = fresh_generator();
    Seq2SeqConfig config{.source_vocab = 7, .target_vocab = 6, .dim = 4, .hidden = 6};
    config.alignment = alignment;
    const Tensor source = ids({2, 4}, 7, 1), target = ids({2, 3}, 6, 2);
    return checked(std::make_shared<Seq2Seq>(config, g), {}, [=](const Seq2Seq& m, const Tensors&) {
        return m(source, tensor<std::int64_t>({4, 2}), target);
    });
}

using Makers = std::vector<std::pair<std::string, std::function<CheckedModule()>>>;

// A Llama, or a relative.
CheckedModule llama(const char* kind) {
    Generator& g = fresh_generator();
    auto config = std::get<LlamaConfig>(model_row(kind).defaults);
    config.vocab = 11;
    config.context = 6;
    config.layers = 2;
    config.heads = 2;
    config.kv_heads = 1;
    config.dim = 8;
    if (config.rotary_share < 1) config.rotary_share = 0.5;  // of 4 elements
    if (config.window > 0) config.window = 2;
    const Tensor x = ids({2, 5}, 11, 1), y = ids({2, 5}, 11, 2);
    return checked(std::make_shared<Llama>(config, g), {},
                   [x, y](const Llama& m, const Tensors&) { return m.loss(x, y); });
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
             const Tensor chosen = ids({2, 4}, 6, 1);
             return checked(std::make_shared<Embedding>(6, 3, g), {},
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
             return checked(std::make_shared<MultiHeadAttention>(config, g),
                            {random({2, 3, 8}, 1), random({2, 4, 5}, 2)},
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
             return checked(std::make_shared<DecoderLayer>(small_layer(), g),
                            {random({2, 3, 8}, 1), random({2, 4, 8}, 2)},
                            [](const DecoderLayer& m, const Tensors& x) { return m(x[0], x[1]); });
         }},
    };
}

Makers models() {
    return {
        {"gpt", [] { return gpt(false, Positions::learned); }},
        {"gpt_rotary_checkpoint", [] { return gpt(true, Positions::rotary); }},
        {"llama", [] { return llama("llama"); }},
        {"qwen3", [] { return llama("qwen3"); }},
        {"gpt_neox", [] { return llama("gpt_neox"); }},
        {"gpt_neo", [] { return llama("gpt_neo"); }},
        {"transformer",
         [] {
             Generator& g = fresh_generator();
             const TransformerConfig config{.source_vocab = 7,
                                            .target_vocab = 6,
                                            .dim = 8,
                                            .heads = 2,
                                            .layers = 1,
                                            .padding_id = 0};
             const Tensor source = ids({2, 4}, 7, 1), target = ids({2, 3}, 6, 2);
             const Tensor next = ids({2, 3}, 6, 3);
             return checked(std::make_shared<Transformer>(config, g), {},
                            [=](const Transformer& m, const Tensors&) {
                                return m.loss(source, target, next);
                            });
         }},
        {"masked_language_model",
         [] {
             Generator& g = fresh_generator();
             const MaskedLanguageModelConfig config{
                 .vocab = 9, .max_length = 6, .dim = 8, .heads = 2, .layers = 1};
             const Tensor x = ids({2, 5}, 9, 1);
             return checked(std::make_shared<MaskedLanguageModel>(config, g), {},
                            [x](const MaskedLanguageModel& m, const Tensors&) { return m(x); });
         }},
        {"vision_transformer",
         [] {
             Generator& g = fresh_generator();
             const VisionTransformerConfig config{.height = 4,
                                                  .width = 6,
                                                  .patch = 2,
                                                  .classes = 3,
                                                  .dim = 8,
                                                  .heads = 2,
                                                  .layers = 1};
             return of_input(std::make_shared<VisionTransformer>(config, g), {2, 1, 4, 6});
         }},
        {"seq2seq", [] { return seq2seq(Alignment::none); }},
        {"seq2seq_bahdanau", [] { return seq2seq(Alignment::bahdanau); }},
        {"seq2seq_luong", [] { return seq2seq(Alignment::luong); }},
    };
}

const Makers& makers() {
    static const Makers all = [] {
        Makers some = layers();
        for (auto& more : {image_layers(), sequence_layers(), models()}) {
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
