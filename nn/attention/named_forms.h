// The forms of attention in this folder by name, as configurations and the command have them:
//
//     softmax        the default
//     window:64      SlidingWindowAttention, 64 positions
//     strided:8      StridedAttention, every 8th position and the 8 nearest
//     linear         LinearAttention
//     performer:128  PerformerAttention, 128 random features
//     linformer:32   LinformerAttention, 32 summaries of the sequence
//
// Read next: attention_form.h; nn/models/gpt_config.h, a configuration with such a name.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/attention/attention_form.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/linear.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tapestry {

/// The requirements of a model on its form of attention.
struct AttentionFormUse {
    std::string_view model;                  ///< for messages: "GPT"
    std::int64_t head_dim = 0;               ///< D, width of a head
    std::int64_t length = 0;                 ///< longest sequence
    bool causal = false;                     ///< whether positions see only earlier ones
    double dropout = 0;                      ///< on attention weights
    Positions positions = Positions::none;   ///< alibi and relative ones add to scores
    ComputeType compute = ComputeType::f32;  ///< type of queries, keys and values
};

/// The form of this name: one of the above or a registered one (register_attention_form); empty for
/// "softmax". Numbers that a form draws come from the generator, which must outlive the factory.
/// Throws ValueError, in the model's name, for another name, with those there are; for a number
/// that is missing or out of range; and for a form of the above that cannot do what the model
/// asks: linformer in a causal model; dropout without weights; alibi or relative positions, which
/// need scores of pairs; computing in bf16.
AttentionFormFactory attention_form(const std::string& name, const AttentionFormUse& use,
                                    Generator& generator);

/// Numbers that a form keeps in one attention module, parameters and buffers; 0 for any other
/// text.
double attention_form_numbers(std::string_view name, double length, double head_dim);

}  // namespace tapestry
