// The bytes around the header; see safetensors_header.cpp for the header itself.
#include <tapestry/nn/io/safetensors.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/safetensors_header.h>

#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>
#include <set>

namespace tapestry {
namespace {

using safetensors::Entry;
using safetensors::Header;
static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

// Any other value in a C++ bool would be undefined behaviour where the mask is used.
void check_booleans(const std::string& what, const Entry& entry, std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] > std::byte{1}) {
            fail<IoError>("{}: tensor {}: element {} of BOOL is byte {}, neither 0 nor 1", what,
                          utf8::quoted(entry.name), i, std::to_integer<int>(bytes[i]));
        }
    }
}

Tensor read_tensor(const std::string& what, InputFile& file, const Entry& entry, Tensor x) {
    if (!x.defined()) x = Tensor(entry.shape, entry.dtype);
    file.read(mutable_bytes_of(x));
    if (entry.dtype == DType::boolean) check_booleans(what, entry, bytes_of(x));
    return x;
}

// A sparse file can claim any size; an error is better than a machine that swaps itself to death.
void check_memory(const std::string& what, const Header& header) {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page = ::sysconf(_SC_PAGE_SIZE);
    if (pages <= 0 || page <= 0) return;  // unknown
    const auto memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
    std::uint64_t needed = 0;
    for (const Entry& entry : header.entries) {
        if (entry.wanted) needed += entry.end - entry.begin;  // at most the file's size
    }
    require<MemoryError>(needed <= memory, "{}: the tensors take {} bytes, the machine has {}",
                         what, needed, memory);
}

Header read_header(const std::string& what, InputFile& file, const safetensors::Filter& wanted) {
    using namespace safetensors;
    require<IoError>(file.size() >= kPrefix, "{}: {} bytes; a safetensors file has at least {}",
                     what, file.size(), kPrefix);
    std::uint64_t length = 0;
    file.read(std::as_writable_bytes(std::span(&length, 1)));
    require<IoError>(length <= kMaxHeader, "{}: a header of {} bytes; at most {} are allowed", what,
                     length, kMaxHeader);
    const std::uint64_t rest = file.size() - kPrefix;
    require<IoError>(length <= rest, "{}: truncated: a header of {} bytes in a file of {}", what,
                     length, file.size());
    std::string text(static_cast<std::size_t>(length), '\0');
    file.read(std::as_writable_bytes(std::span(text)));
    return parse_header(what, text, rest - length, wanted);
}

void check_metadata(const std::string& text) {
    if (const auto flaw = utf8::find_flaw(text)) {
        fail("write_safetensors: metadata {} is not UTF-8, byte {}: {}", utf8::quoted(text),
             flaw->byte, flaw->what);
    }
}

Header header_for(const DeferredTensors& tensors,
                  const std::map<std::string, std::string>& metadata) {
    Header header;
    header.metadata = metadata;
    for (const auto& [key, value] : metadata) {
        check_metadata(key);
        check_metadata(value);
    }
    std::set<std::string_view> names;
    std::uint64_t at = 0;
    for (const auto& [name, shape, dtype, value] : tensors) {
        const std::string flaw = safetensors::flaw_of_name(name);
        require(flaw.empty(), "write_safetensors: name {} {}", utf8::quoted(name), flaw);
        require(name != safetensors::kMetadata, "write_safetensors: the name {} is reserved",
                utf8::quoted(name));
        require(names.insert(name).second, "write_safetensors: the name {} appears twice",
                utf8::quoted(name));
        const auto bytes = static_cast<std::uint64_t>(numel(shape)) * size_of(dtype);
        const std::uint64_t end = at + bytes;
        header.entries.push_back({name, shape, dtype, at, end, true});
        at = end;
    }
    return header;
}

void write_tensor(OutputFile& file, const DeferredTensor& one) {
    require(one.value != nullptr, "write_safetensors: tensor {} has no function that computes it",
            utf8::quoted(one.name));
    const Tensor value = one.value();
    require(value.defined(), "write_safetensors: tensor {} is undefined", utf8::quoted(one.name));
    const Tensor flat = dense(value);
    require(flat.shape() == one.shape && flat.dtype() == one.dtype,
            "write_safetensors: tensor {} is {} of shape {}, but was announced as {} of shape {}",
            utf8::quoted(one.name), flat.dtype(), flat.shape(), one.dtype, one.shape);
    file.write(bytes_of(flat));
}

}  // namespace

SafetensorsFile read_safetensors(const std::filesystem::path& path,
                                 const std::function<bool(const std::string&)>& wanted) {
    SafetensorsFile result;
    result.metadata = safetensors::read_tensors(
        path, wanted, {.take = [&result](const std::string& name, const Tensor& x) {
            result.tensors.emplace_back(name, x);
        }});
    return result;
}

std::map<std::string, std::string> safetensors::read_tensors(const std::filesystem::path& path,
                                                             const Filter& wanted,
                                                             const TensorSink& sink) {
    InputFile file(path);
    check_is_safetensors(path);
    const std::string what = shown(path);
    Header header = read_header(what, file, wanted);
    check_memory(what, header);
    for (const Entry& entry : header.entries) {  // in the file's order, sequentially
        if (!entry.wanted) {
            file.skip(entry.end - entry.begin);
            continue;
        }
        const Tensor place =
            sink.place ? sink.place(entry.name, entry.shape, entry.dtype) : Tensor();
        sink.take(entry.name, read_tensor(what, file, entry, place));
    }
    return std::move(header.metadata);
}

FileDigest write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                             const std::map<std::string, std::string>& metadata,
                             const WriteOptions& options) {
    for (const auto& [name, tensor] : tensors) {
        require(tensor.defined(), "write_safetensors: tensor {} is undefined", utf8::quoted(name));
    }
    return write_deferred(path, deferred(tensors), metadata, options);
}

FileDigest write_deferred(const std::filesystem::path& path, const DeferredTensors& tensors,
                          const std::map<std::string, std::string>& metadata,
                          const WriteOptions& options) {
    const std::string header = safetensors::format_header(header_for(tensors, metadata));
    const std::uint64_t length = header.size();
    require(length <= safetensors::kMaxHeader,
            "write_safetensors: a header of {} bytes; at most {} are allowed", length,
            safetensors::kMaxHeader);
    const auto write = [&](OutputFile& file) {
        file.write(std::as_bytes(std::span(&length, 1)));
        file.write(header);
        for (const DeferredTensor& one : tensors) write_tensor(file, one);
    };
    return write_file_atomically(path, write, options);
}

// ---- a module's weights -------------------------------------------------------------------------

void save(const std::filesystem::path& path, const Module& module,
          const std::map<std::string, std::string>& metadata) {
    std::map<std::string, std::string> all = metadata;
    require(all.emplace("format", "tapestry-module").second,
            "save: the metadata \"format\" is the library's own");
    write_safetensors(path, saved_tensors(module), all);
}

std::map<std::string, std::string> read_metadata(const std::filesystem::path& path) {
    return read_safetensors(path, [](const std::string&) { return false; }).metadata;
}

std::vector<std::pair<Tensor, Tensor>> match_tensors(const std::string& file,
                                                     const NamedTensors& stored,
                                                     const Module& module,
                                                     const LoadOptions& options,
                                                     Unmatched& unmatched) {
    Match match(stored, module, options.strict, "file");
    require<IoError>(match.flaws.empty(), "{}: {}", file, match.flaws);
    unmatched = std::move(match.unmatched);
    return std::move(match.pairs);
}

Unmatched load(const std::filesystem::path& path, Module& module, const LoadOptions& options) {
    Unmatched unmatched;
    SafetensorsFile file = read_safetensors(path);
    strip_wrappers(file.tensors, module);
    const auto pairs = match_tensors(shown(path), file.tensors, module, options, unmatched);
    for (const auto& [from, to] : pairs) Tensor(to).copy_(from);
    return unmatched;
}

}  // namespace tapestry
