// Parses and checks the header of a safetensors file: after parse_header(), every size and offset
// in it can be trusted. Internal to nn/io; users call read_safetensors.
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/core/shape.h>
#include <tapestry/core/tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::safetensors {

/// The reference's limit, for readers and writers.
inline constexpr std::uint64_t kMaxHeader = 100'000'000;
/// Size of the field with the header's length.
inline constexpr std::uint64_t kPrefix = 8;
inline constexpr std::string_view kMetadata = "__metadata__";

struct Entry {
    std::string name;
    Shape shape;
    DType dtype = DType::f32;
    std::uint64_t begin = 0;  ///< in bytes, from the header's end
    std::uint64_t end = 0;
    bool wanted = true;  ///< false: shape and dtype are meaningless
};

/// Whether to read a tensor of this name; empty: read all.
using Filter = std::function<bool(const std::string&)>;

/// What to do with a tensor that was read, before the next one is.
struct TensorSink {
    /// The memory for it, dense and of these sizes; undefined: a new tensor.
    std::function<Tensor(const std::string& name, const Shape& shape, DType dtype)> place = {};
    /// Called when it has been read.
    std::function<void(const std::string& name, const Tensor& x)> take = {};
};

struct Header {
    std::vector<Entry> entries;  ///< sorted by (begin, end), without gaps and overlaps
    std::map<std::string, std::string> metadata;
};

/// The error in a tensor's name, or "" if it is valid.
std::string flaw_of_name(std::string_view name);

/// Parses `text`, whose tensors must fill exactly `data_bytes`. Throws IoError with messages that
/// begin with `what`, the file's name.
Header parse_header(std::string_view what, std::string_view text, std::uint64_t data_bytes,
                    const Filter& wanted = {});

/// Reads the tensors that `wanted` accepts one after the other: memory need not hold all of them.
/// Throws as read_safetensors does, possibly after some were taken. Returns the metadata.
std::map<std::string, std::string> read_tensors(const std::filesystem::path& path,
                                                const Filter& wanted, const TensorSink& sink);

/// The header of these entries, padded with spaces so that the tensors begin at a multiple of 8.
std::string format_header(const Header& header);

}  // namespace tapestry::safetensors
