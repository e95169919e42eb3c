// The weights of any module, one's own included, in a file:
//
//     save("network.safetensors", network);
//     load("network.safetensors", network);
//
// The file is safetensors, parameters and buffers under their dotted names, and readable by
// whatever reads that format. In memory: Module::state_dict(). Read next: checkpoint.h, for a
// training that is to go on; model_directory.h, for models with a configuration and a tokenizer.
#pragma once

#include <tapestry/nn/module/state_dict.h>

#include <filesystem>

namespace tapestry {

/// Writes them; a previous file survives every failure. Throws IoError; ValueError as
/// write_safetensors does, if two have one name.
void save(const std::filesystem::path& path, const Module& module);

struct LoadOptions {
    bool strict = true;  ///< what is missing from the file, or unknown to the module, is an error
};

/// Reads them back into the tensors that are there: what holds them, an optimiser or another
/// module, sees the new numbers. F16 and BF16 become f32.
///
/// Throws IoError naming the file and all tensors that are missing, unknown (unless not strict) or
/// of another shape or dtype; as read_safetensors does for a damaged file. Nothing has changed
/// then.
Unmatched load(const std::filesystem::path& path, Module& module, const LoadOptions& options = {});

/// For those with a file of their own: checks that `stored` can be loaded into `module`. The result
/// is what to copy, from and to. Throws IoError in the name of `file`.
std::vector<std::pair<Tensor, Tensor>> match_tensors(const std::string& file,
                                                     const NamedTensors& stored,
                                                     const Module& module,
                                                     const LoadOptions& options,
                                                     Unmatched& unmatched);

}  // namespace tapestry
