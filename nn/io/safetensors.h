// safetensors: named tensors in one file, the format models are exchanged in; and the weights of
// any module in such a file. Chosen as our own because a reader needs to trust nothing: a header of
// JSON, then bytes; no code, no pointers.
//
//     8 bytes   N, little-endian
//     N bytes   {"__metadata__": {text: text}, NAME: {"dtype", "shape", "data_offsets"}, ...}
//     the rest  the tensors' elements, row-major, little-endian, without gaps
//
// Source: https://github.com/huggingface/safetensors. Read next: nn/io/safetensors_header.h, every
// rule a header must obey.
#pragma once

#include <tapestry/core/file.h>
#include <tapestry/core/tensor.h>
#include <tapestry/nn/module/module.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

struct SafetensorsFile {
    NamedTensors tensors;  ///< in the order in which they lie in the file
    std::map<std::string, std::string> metadata;
};

/// Reads a whole file. Every tensor keeps its type: F32, F64, I64, BOOL, BF16 or F16.
///
/// Throws IoError, naming file, tensor and values, when the file cannot be read or breaks any rule
/// of the format: the reference's own, and where that is lax the stricter reading (a name that
/// comes twice, unknown keys, byte order marks and NULs in names, a BOOL that is neither 0 nor 1);
/// also for dtypes that Tapestry has no tensors of and for more than Shape::kMaxRank axes. Throws
/// MemoryError when the tensors are larger than the machine's memory. Nothing is allocated on the
/// word of a header that the file's size does not bear out.
///
/// With `wanted`, only the tensors whose names it takes are read; the others may be of any dtype.
SafetensorsFile read_safetensors(const std::filesystem::path& path,
                                 const std::function<bool(const std::string&)>& wanted = {});

/// Writes the tensors in the given order, strided ones densely, by write_file_atomically: a
/// previous file survives every failure. Equal arguments give equal bytes. Returns what was
/// written.
///
/// Throws ValueError for a name that comes twice, is "__metadata__", or is not UTF-8 free of NULs
/// and byte order marks, for an undefined tensor, for metadata that is not UTF-8 and for a header
/// above 100 MB; IoError as write_file_atomically does.
FileDigest write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                             const std::map<std::string, std::string>& metadata = {},
                             const WriteOptions& options = {});

// ---- a module's weights -------------------------------------------------------------------------

// The weights of any module, one's own included, in a file:
//
//     save("network.safetensors", network);
//     load("network.safetensors", network);
//
// Parameters and buffers stand under their dotted names; whatever reads safetensors can read them.
// In memory: Module::state_dict(). Read next: checkpoint.h, for a training that is to go on;
// model_directory.h, for models with a configuration and a tokenizer.

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
