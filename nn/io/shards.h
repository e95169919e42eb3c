// Weights of Hugging Face's directories: model.safetensors, or the shards of
// model.safetensors.index.json. Internal to nn/io.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tapestry {

/// Lists the shards; its "weight_map" has the file of each tensor.
inline constexpr const char* kShardIndexName = "model.safetensors.index.json";

/// The files of the weights: model.safetensors if it is there or nothing else is, or the shards, in
/// the order of their names. Throws IoError for an index that is damaged or names a file outside
/// the directory, and for a shard that is missing.
std::vector<std::filesystem::path> weight_files(const SavedFiles& files);

/// Reads tensors into parameters, whose names in the files are own_name(name), one after the other:
/// memory holds the weights once. Returns the tensors that no parameter has. Throws IoError as
/// weight_files, read_safetensors and fill_parameter do, for a parameter without a tensor, and for
/// a tensor that occurs twice, with and without a prefix or in two shards; some parameters may have
/// been filled then.
std::map<std::string, Tensor> read_parameters(
    const SavedFiles& files, const std::function<bool(const std::string&)>& wanted,
    const std::function<std::string(const std::string&)>& own_name,
    std::vector<StoredParameter> parameters);

/// Quantises the linear layers of `model` to int8 rows (Linear::keep_int8), each once all its
/// weight has been read: memory never holds all of the weights in f32.
void quantize_when_filled(std::vector<StoredParameter>& parameters, Module& model);

}  // namespace tapestry
