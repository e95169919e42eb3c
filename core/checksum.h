// A checksum that detects whether a file has changed since it was written, by a faulty disk, in
// transit or by hand. XXH3, 128 bits: as fast as memory, and not secure against deliberate
// tampering. Read next: file.h, which computes one of everything it writes.
//
// Source: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tapestry {

/// The running XXH3 checksum of bytes that arrive in pieces.
class Checksum {
public:
    Checksum();
    ~Checksum();
    /// Takes over the other's state.
    Checksum(Checksum&&) noexcept;
    /// Takes over the other's state.
    Checksum& operator=(Checksum&&) noexcept;

    /// Continues the checksum with these bytes.
    void add(std::span<const std::byte> bytes);
    void add(std::string_view text) { add(std::as_bytes(std::span(text.data(), text.size()))); }

    /// The checksum of all bytes added so far, as 32 hexadecimal digits: what `xxhsum -H128`
    /// prints.
    std::string hex() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The checksum of a text in one call, as Checksum prints it.
std::string checksum_of(std::string_view text);

/// The length and checksum of a file.
struct FileDigest {
    std::uint64_t bytes = 0;    ///< length of the file
    std::string checksum = {};  ///< Checksum's 32 hexadecimal digits

    bool operator==(const FileDigest&) const = default;
};

/// The digest of the first `most` bytes of a regular file, or of all of them. Throws IoError as
/// InputFile does.
FileDigest digest_of_file(const std::filesystem::path& path, std::uint64_t most = UINT64_MAX);

class InputFile;
/// The same for a file that was just opened.
FileDigest digest_of(InputFile&& file, std::uint64_t most = UINT64_MAX);

}  // namespace tapestry
