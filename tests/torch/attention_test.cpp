// Attention against its formula in PyTorch and against nn.MultiheadAttention.
//
// PyTorch's boolean masks mark what a query may NOT attend to (attn_mask) or what is padding
// (key_padding_mask); ours mark what it may. Fully masked rows are excluded: PyTorch returns NaN
// for them, and we return zeros.
#include <tapestry/nn/attention/multi_head_attention.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/torch/check.h>
#include <tapestry/tests/torch/masks.h>

using namespace tapestry;
using torch::Named;
using torch::Names;

namespace {

constexpr std::int64_t kDim = 8, kHeads = 2;

void dot_product(const std::string& name, AttentionOptions options = {}) {
    torch::check_against("attention", "dot_product/" + name, [&](const Named& in) -> Named {
        if (in.count("mask") != 0) options.mask = in.at("mask");
        return {{"y", scaled_dot_product_attention(in.at("q"), in.at("k"), in.at("v"), options)}};
    });
}

// Uses the case's keys and values, if any.
void multi_head(const std::string& name, MultiHeadAttentionConfig config = {}) {
    config.dim = kDim;
    config.heads = kHeads;
    MultiHeadAttention attention(config);
    torch::check_against(
        "attention", "multi_head/" + name, attention,
        attention.qkv ? Names::attention : Names::attention_sizes, [&](const Named& in) -> Named {
            AttentionRecord record;
            const Tensor y = attention(in.at("x"), {.keys = torch::optional(in, "keys"),
                                                    .values = torch::optional(in, "values"),
                                                    .mask = torch::mask_of(in),
                                                    .record = &record});
            return {
                {"y", y}, {"weights", record.weights}, {"mean_weights", mean(record.weights, {1})}};
        });
}

}  // namespace

TEST_CASE("torch: scaled_dot_product_attention") {
    dot_product("plain");
    dot_product("broadcast");
    dot_product("scale", {.scale = 0.3});
    dot_product("causal", {.causal = true});
    dot_product("boolean");
    dot_product("boolean_per_head");
    dot_product("additive");
    dot_product("additive_with_infinities");
    dot_product("long");
}

TEST_CASE("torch: grouped queries, by copies for each head") {
    for (const char* name : {"two_of_six", "one_of_four", "causal"}) {
        torch::check_against(
            "attention", std::string("grouped/") + name, [&](const Named& in) -> Named {
                return {
                    {"y", scaled_dot_product_attention(
                              in.at("q"), in.at("k"), in.at("v"),
                              {.causal = name == std::string_view("causal"), .grouped = true})}};
            });
    }
}

TEST_CASE("torch: MultiheadAttention") {
    for (const char* where : {"self", "cross"}) {
        multi_head(fmt::format("{}/no_bias", where), {.bias = false});
        for (const char* mask :
             {"plain", "boolean", "additive", "key_padding", "per_head", "additive_per_head",
              "boolean_and_padding", "additive_and_padding"}) {
            multi_head(fmt::format("{}/{}", where, mask));
        }
    }
}

TEST_CASE("torch: MultiheadAttention, causal") {
    multi_head("self/causal");  // with PyTorch's mask
    multi_head("self/causal", {.causal = true});
    multi_head("self/causal_and_padding");
}

TEST_CASE("torch: MultiheadAttention, separate keys and values") {
    multi_head("cross/values");
    multi_head("cross/sizes", {.key_dim = 5, .value_dim = 9});
    multi_head("cross/sizes_no_bias", {.key_dim = 5, .value_dim = 9, .bias = false});
    multi_head("cross/sizes_and_padding", {.key_dim = 5, .value_dim = 9});
    multi_head("cross/key_size", {.key_dim = 5});
}
