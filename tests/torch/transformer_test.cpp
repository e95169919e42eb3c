// The encoder, the decoder and the whole Transformer against PyTorch's, norm last (the paper's) and
// norm first.
//
// Ours are always batch first, and a decoder is always causal: PyTorch's was given the causal mask.
// nn.Transformer has no embeddings, and a final norm after either stack in both orders; ours has
// embeddings, and final norms only if the layers are norm-first. So nn.Transformer is compared with
// our two stacks, and our Transformer with a model that adds the rest around PyTorch's.
#include <tapestry/nn/models/transformer.h>
#include <tapestry/tests/torch/check.h>
#include <tapestry/tests/torch/masks.h>

using namespace tapestry;
using torch::Named;
using torch::Names;

namespace {

TransformerLayerConfig layer(bool norm_first, Activation activation = Activation::relu) {
    return {.dim = 8, .heads = 2, .hidden = 11, .activation = activation, .norm_first = norm_first};
}

std::string case_name(const std::string& name, bool norm_first) {
    return name + (norm_first ? "/pre_norm" : "/post_norm");
}

// The masks have PyTorch's names.
Tensor padding_of(const Named& in, const char* whose) {
    return torch::keys_to_see(torch::optional(in, std::string(whose) + "_key_padding_mask"));
}

template <class E>
void encoder(const std::string& name, E&& module) {
    torch::check_against("transformer", name, module, Names::encoder,
                         [&](const Named& in) -> Named {
                             return {{"y", module(in.at("x"), {.mask = padding_of(in, "src")})}};
                         });
}

template <class D>
void decoder(const std::string& name, D&& module) {
    torch::check_against("transformer", name, module, Names::decoder,
                         [&](const Named& in) -> Named {
                             return {{"y", module(in.at("x"), in.at("memory"),
                                                  {.mask = padding_of(in, "tgt"),
                                                   .memory_mask = padding_of(in, "memory")})}};
                         });
}

// nn.Transformer
class Stacks : public Module {
public:
    Encoder encoder;
    Decoder decoder;

    explicit Stacks(bool norm_first)
        : Module("Stacks"),
          encoder({.layers = 2, .layer = layer(norm_first), .final_norm = true}),
          decoder({.layers = 2, .layer = layer(norm_first), .final_norm = true}) {
        register_module("encoder", encoder);
        register_module("decoder", decoder);
    }
};

}  // namespace

TEST_CASE("torch: TransformerEncoderLayer") {
    for (const bool first : {false, true}) {
        const auto check = [&](const char* name, const TransformerLayerConfig& config) {
            encoder(case_name(fmt::format("encoder_layer/{}", name), first), EncoderLayer(config));
        };
        check("relu", layer(first, Activation::relu));
        check("gelu", layer(first, Activation::gelu_erf));
        check("gelu_tanh", layer(first, Activation::gelu_tanh));
        check("padding", layer(first));
        TransformerLayerConfig causal = layer(first);
        causal.causal = true;
        check("causal", causal);
    }
}

TEST_CASE("torch: TransformerDecoderLayer") {
    for (const bool first : {false, true}) {
        const auto check = [&](const char* name, const TransformerLayerConfig& config) {
            decoder(case_name(fmt::format("decoder_layer/{}", name), first), DecoderLayer(config));
        };
        check("relu", layer(first, Activation::relu));
        check("gelu", layer(first, Activation::gelu_erf));
        check("padding", layer(first));
    }
}

TEST_CASE("torch: TransformerEncoder, TransformerDecoder") {
    for (const bool first : {false, true}) {
        encoder(case_name("encoder", first), Encoder({.layers = 2, .layer = layer(first)}));
        encoder(case_name("encoder/final_norm", first),
                Encoder({.layers = 2, .layer = layer(first), .final_norm = true}));
        decoder(case_name("decoder/final_norm", first),
                Decoder({.layers = 2, .layer = layer(first), .final_norm = true}));
    }
}

TEST_CASE("torch: Transformer without embeddings") {
    for (const bool first : {false, true}) {
        Stacks stacks(first);
        torch::check_against(
            "transformer", case_name("transformer", first), stacks, Names::transformer,
            [&](const Named& in) -> Named {
                const Tensor seen = torch::keys_to_see(in.at("padding"));
                const Tensor memory = stacks.encoder(in.at("source"), {.mask = seen});
                return {{"y", stacks.decoder(in.at("target"), memory, {.memory_mask = seen})}};
            });
    }
}

TEST_CASE("torch: the paper's Transformer") {
    for (const bool first : {false, true}) {
        Transformer model({.source_vocab = 11,
                           .target_vocab = 13,
                           .dim = 8,
                           .heads = 2,
                           .layers = 2,
                           .hidden = 11,
                           .dropout = 0,
                           .norm_first = first,
                           .padding_id = 0,
                           .label_smoothing = 0.1});
        torch::check_against(
            "transformer", case_name("translator", first), model, Names::transformer,
            [&](const Named& in) -> Named {
                return {{"logits", model(in.at("source"), in.at("target"))},
                        {"loss", model.loss(in.at("source"), in.at("target"), in.at("next"))}};
            });
    }
}
