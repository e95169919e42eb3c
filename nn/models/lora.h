// LoRA: a model whose parameters are frozen learns the low-rank updates of some of its matrices
// (nn/layers/low_rank.h), of which there are few numbers.
//
//     add_lora(*loaded.model, {.update = {.rank = 8}});
//     ... train: an optimiser made from now on sees only the updates
//     save_model("out", *merged(*loaded.model), *loaded.tokenizer,
//                loaded.conventions);
//
// Read next: nn/io/peft.h, files of updates.
#pragma once

#include <tapestry/nn/layers/low_rank.h>
#include <tapestry/nn/models/language_model.h>
#include <tapestry/nn/module/deferred_tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace tapestry {

/// What add_lora() adds.
struct LoraConfig {
    LowRankConfig update = {};  ///< of each matrix
    /// Names of lora_sites(), or those of Hugging Face's models (q_proj, c_attn); "all-linear"
    /// alone, as in PEFT: all but the head; empty: queries and values, or the qkv of a GPT or
    /// GPT-NeoX.
    std::vector<std::string> targets = {};
};

/// A matrix, or rows of one, that can have an update.
struct LoraSite {
    Linear* layer = nullptr;     ///< the layer, shared by a packed matrix's parts
    std::string target = {};     ///< "query"
    std::string path = {};       ///< "blocks.3.attention.qkv"
    std::int64_t first_row = 0;  ///< of the layer's output
    std::int64_t rows = 0;       ///< of it
    LowRank* update = nullptr;   ///< null if there is none
};

/// Name of its update in the model: "blocks.3.attention.qkv.lora_query", or "....lora" for a whole
/// matrix.
std::string update_path(const LoraSite& site);

/// Adds an update, whose parameters train, to a site that has none.
void add_update(LoraSite& site, const LowRankConfig& config, Generator& generator);

/// All of them in a model, in the order of its blocks: query, key and value of a Llama, which are
/// separate matrices in its files, or qkv of a GPT or GPT-NeoX; output; up, gate and down; head,
/// unless its weight is the token embedding's. Throws ValueError for a model without attention.
std::vector<LoraSite> lora_sites(LanguageModel& model);

/// Freezes all parameters, and adds updates, whose parameters train, to the targets. Throws
/// ValueError for a target that matches nothing, with a list of those there are; for the head if it
/// is tied: files store its weight once, as the embedding, which would then change with it; for a
/// model that has updates; and as LowRank does.
void add_lora(LanguageModel& model, const LoraConfig& config,
              Generator& generator = default_generator());

/// Keeps the frozen weights of a model with updates as int8 rows (ops/int8_rows.h): those of all
/// linear layers but the head, which the loss in slices reads, and which may be the embedding. They
/// are no parameters then. Throws ValueError for a model without updates.
void keep_frozen_int8(LanguageModel& model);

/// Numbers in a model's parameters and int8 rows.
std::int64_t weight_count(const Module& model);

/// The updates of a model with their names, in the order of its modules.
std::vector<std::pair<std::string, const LowRank*>> lora_updates(const Module& model);

/// "LoRA: rank 8, scale 2, 60 updates: 460800 of 134975808 parameters trained (0.34%)"; empty
/// for a model without updates.
std::string lora_text(const Module& model);

/// `given`, those of state_dict() or a copy, with W + scale B A in place of W, A and B; for W in
/// int8 this is the matrix that it stands for. Each matrix is computed when its value is asked for,
/// while the model lives: all of them would take as much memory as the base.
DeferredTensors merged_weights(const Module& model, const NamedTensors& given);

/// A model without updates that computes the same, up to rounding.
std::unique_ptr<LanguageModel> merged(const LanguageModel& model);

}  // namespace tapestry
