// safetensors: named tensors in one file, the common exchange format for models; and the weights of
// any module in such a file. We use it as our own because it is safe to read: a JSON header, then
// bytes; no code, no pointers.
//
//     8 bytes   N, little-endian
//     N bytes   {"__metadata__": {text: text}, NAME: {"dtype", "shape", "data_offsets"}, ...}
//     the rest  the tensors' elements, row-major, little-endian, without gaps
//
// Source: https://github.com/huggingface/safetensors. Read next: nn/io/safetensors_header.h, the
// rules for headers.
#pragma once

#include <tapestry/core/file.h>
#include <tapestry/core/tensor.h>
#include <tapestry/nn/module/deferred_tensor.h>
#include <tapestry/nn/module/module.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

/// The contents of a file.
struct SafetensorsFile {
    NamedTensors tensors;                         ///< in the file's order
    std::map<std::string, std::string> metadata;  ///< texts of the header
};

/// Reads a whole file. Every tensor keeps its type: F32, F64, I64, BOOL, BF16 or F16.
///
/// Throws IoError, with file, tensor and values, when the file cannot be read or breaks any rule of
/// the format: the reference's rules, in the stricter reading where they are lax (duplicate names,
/// unknown keys, byte order marks and NULs in names, a BOOL that is neither 0 nor 1); also for
/// dtypes that Tapestry does not have and for more than Shape::kMaxRank axes. Throws MemoryError
/// when the tensors are larger than the machine's memory. A header never causes an allocation that
/// the file's size does not justify.
///
/// With `wanted`, reads only the tensors whose names it accepts; the others may have any dtype.
SafetensorsFile read_safetensors(const std::filesystem::path& path,
                                 const std::function<bool(const std::string&)>& wanted = {});

/// Writes the tensors in the given order, strided ones densely, by write_file_atomically: a
/// previous file survives every failure. Equal arguments give equal bytes. Returns the digest of
/// the file.
///
/// Throws ValueError for a duplicate name, the name "__metadata__", names that are not UTF-8 or
/// contain NULs or byte order marks, an undefined tensor, metadata that is not UTF-8, and a header
/// above 100 MB; IoError as write_file_atomically does.
FileDigest write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                             const std::map<std::string, std::string>& metadata = {},
                             const WriteOptions& options = {});

/// The same for tensors that are computed one after another, while the file is written: only one of
/// them is in memory. Also throws ValueError for a value of another shape or dtype than announced.
FileDigest write_deferred(const std::filesystem::path& path, const DeferredTensors& tensors,
                          const std::map<std::string, std::string>& metadata = {},
                          const WriteOptions& options = {});

// ---- a module's weights -------------------------------------------------------------------------

// The weights of any module, including your own, in a file:
//
//     save("network.safetensors", network);
//     load("network.safetensors", network);
//
// Parameters and buffers have their dotted names, and any program that reads safetensors can read
// them. In memory: Module::state_dict(). Read next: checkpoint.h, to resume training;
// model_directory.h, for models with a configuration and a tokenizer.

/// Writes the weights, and your own texts by name, such as the names of the columns a model was
/// trained on; a previous file survives every failure. Throws IoError; ValueError as
/// write_safetensors does, if two tensors have the same name, and for the text "format", which is
/// the library's own.
void save(const std::filesystem::path& path, const Module& module,
          const std::map<std::string, std::string>& metadata = {});

/// The texts of a file without its tensors, "format" among them. Throws as read_safetensors does.
std::map<std::string, std::string> read_metadata(const std::filesystem::path& path);

/// How load() treats names that do not match.
struct LoadOptions {
    bool strict = true;  ///< missing or unknown tensors are errors
};

/// Reads the weights into the existing tensors, so other holders of them, such as an optimiser or
/// another module, see the new values. F16 and BF16 become f32. "module.", "_orig_mod." and
/// "model." in front of a name are left out if the module has only the rest of it.
///
/// Throws IoError, with the file and all tensors that are missing, unknown (unless strict is false)
/// or of another shape or dtype; as read_safetensors does for a damaged file. Nothing is changed
/// then.
Unmatched load(const std::filesystem::path& path, Module& module, const LoadOptions& options = {});

/// For custom file formats: checks that `stored` can be loaded into `module`, and returns the pairs
/// to copy, from and to. Throws IoError that names `file`.
std::vector<std::pair<Tensor, Tensor>> match_tensors(const std::string& file,
                                                     const NamedTensors& stored,
                                                     const Module& module,
                                                     const LoadOptions& options,
                                                     Unmatched& unmatched);

}  // namespace tapestry
