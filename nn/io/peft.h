// LoRA's updates in the format of the PEFT library: adapter_config.json, with rank, alpha and the
// names of the matrices, and adapter_model.safetensors:
//
//     base_model.model.PATH.lora_A.weight [r, in]       A
//     base_model.model.PATH.lora_B.weight [out, r]      B
//
// PATH is the matrix's name in Hugging Face's model: of a Llama model.layers.3.self_attn.q_proj, of
// a GPT-2 transformer.h.3.attn.c_attn. Source: peft, docs/source/developer_guides/checkpoint.md and
// tuners/lora/config.py; of rank_pattern and alpha_pattern, utils/other.py (get_pattern_key). Read
// next: nn/models/lora.h.
#pragma once

#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/models/language_model.h>

#include <filesystem>
#include <string>

namespace tapestry {

/// Where the parameters of a model that are not updates came from.
struct AdapterBase {
    std::string name = {};  ///< a directory, for PEFT
    std::string hash = {};  ///< base_hash() of the model in it; empty: not known
    bool is_int8 = false;   ///< its matrices were in int8 (keep_frozen_int8) in training
};

/// XXH3 of the names and bits of a model's parameters, by which an adapter knows its base. The
/// model is as load_model() returns it.
std::string base_hash(const LanguageModel& model);

/// Writes both files into a folder of a commit ("" for none). `weights` are the model's, or a copy.
/// The base's hash is in the metadata of adapter_model.safetensors, which PEFT does not read. Does
/// nothing for a model without updates, or with one of a module that Hugging Face's model of the
/// family does not have. Returns whether it wrote them.
bool write_adapter(Commit& commit, const std::string& folder, const Module& model,
                   const ModelConfig& config, const NamedTensors& weights, const AdapterBase& base);

/// Whether an adapter says that the matrices of its base were in int8 when it was trained. Throws
/// as read_safetensors does.
bool is_over_int8(const std::filesystem::path& directory);

/// Adds the updates of a directory to a model, and freezes its own parameters. Numbers of 16 bits
/// become f32. Returns how many there are.
///
/// Throws IoError, with the file and the reason: an adapter of another kind than LoRA; a setting
/// that changes what it computes and is not known here, by name (use_dora, modules_to_save, bias,
/// ...), a key of rank_pattern or alpha_pattern that is more of a regular expression than
/// ModulePattern knows; initial values that change the base's weights (PiSSA,
/// OLoRA, CorDA, LoftQ); a tensor that belongs to no matrix of the model, lacks its partner, or has
/// another shape than the rank and the matrix require, as those of another base have; a hash of the
/// base that is not that of the model, if its numbers are f32; as read_safetensors does.
std::size_t load_adapter(const std::filesystem::path& directory, LanguageModel& model);

}  // namespace tapestry
