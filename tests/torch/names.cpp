#include <tapestry/tests/torch/check.h>

#include <string_view>
#include <utility>

namespace tapestry::torch {
namespace {

struct Rule {
    std::string_view theirs;  // part of the name
    std::string_view ours;
};
using Rules = std::vector<Rule>;

// Applies only the first rule whose left side occurs in a name.
const Rules kAttention{
    {"in_proj_", "qkv."},  // W_Q, W_K and W_V are in one matrix in both libraries
    {"out_proj.", "output."},
};

const Rules kAttentionSizes{
    {"q_proj_", "query."},
    {"k_proj_", "key."},
    {"v_proj_", "value."},
    {"in_proj_bias", "query.bias key.bias value.bias"},  // in PyTorch it is one vector even so
    {"out_proj.", "output."},
};

const Rules kEncoder{
    {"self_attn.in_proj_", "attention.qkv."},
    {"self_attn.out_proj.", "attention.output."},
    {"linear1.", "feed_forward.up."},
    {"linear2.", "feed_forward.down."},
    {"norm1.", "attention_norm."},
    {"norm2.", "feed_forward_norm."},
};

const Rules kDecoder{
    {"self_attn.in_proj_", "attention.qkv."},
    {"self_attn.out_proj.", "attention.output."},
    {"multihead_attn.in_proj_", "cross_attention.qkv."},
    {"multihead_attn.out_proj.", "cross_attention.output."},
    {"linear1.", "feed_forward.up."},
    {"linear2.", "feed_forward.down."},
    {"norm1.", "attention_norm."},
    {"norm2.", "cross_attention_norm."},
    {"norm3.", "feed_forward_norm."},
};

const Rules kGpt2{
    {"wte.", "token_embedding."},
    {"wpe.", "position_embedding."},
    {"ln_1.", "attention_norm."},
    {"ln_2.", "feed_forward_norm."},
    {"ln_f.", "final_norm."},
    {"attn.c_attn.", "attention.qkv."},
    {"attn.c_proj.", "attention.output."},
    {"mlp.c_fc.", "feed_forward.up."},
    {"mlp.c_proj.", "feed_forward.down."},
};

std::string replaced(std::string name, std::string_view from, std::string_view to) {
    const auto at = name.find(from);
    return at == std::string::npos ? name : name.replace(at, from.size(), to);
}

std::string applied(const Rules& rules, const std::string& name) {
    for (const Rule& rule : rules) {
        if (name.find(rule.theirs) != std::string::npos) {
            return replaced(name, rule.theirs, rule.ours);
        }
    }
    return name;
}

// Our stacks number their layers directly: "0.attention" for "layers.0.self_attn".
std::string stack(const Rules& rules, const std::string& name) {
    return replaced(applied(rules, name), "layers.", "");
}

std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> result(1);
    for (const char c : text) {
        if (c == ' ') {
            result.emplace_back();
        } else {
            result.back() += c;
        }
    }
    return result;
}

}  // namespace

Place place_of(Names names, const std::string& theirs) {
    switch (names) {
        case Names::same: return {{theirs}};
        case Names::attention: return {{applied(kAttention, theirs)}};
        case Names::attention_sizes: return {words(applied(kAttentionSizes, theirs))};
        case Names::encoder: return {{stack(kEncoder, theirs)}};
        case Names::decoder: return {{stack(kDecoder, theirs)}};
        case Names::transformer: {
            const bool decoder = theirs.find("decoder.") != std::string::npos;
            // "core.": the fixtures' wrapper around nn.Transformer
            return {{replaced(stack(decoder ? kDecoder : kEncoder, theirs), "core.", "")}};
        }
        case Names::gpt2: break;
    }
    const bool block = theirs.starts_with("h.");
    const bool linear = theirs.find("c_") != std::string::npos && theirs.ends_with("weight");
    const std::string name = applied(kGpt2, theirs);
    return {{block ? "blocks." + name.substr(2) : name}, linear};
}

}  // namespace tapestry::torch
