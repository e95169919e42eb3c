// A sequence of token ids in the narrowest type that fits, in memory or in a file: training on a
// text of 10 GB takes no more memory than on 10 MB. Read next: nn/data/text.h, which splits it and
// draws batches.
//
// Files are read with pread, not mapped: mapped pages count as the process's memory once touched,
// and SIGBUS would kill the process if another program truncated the file or the disk failed. One
// call per sequence of a batch is negligible compared with a training step.
#pragma once

#include <tapestry/core/file.h>
#include <tapestry/nn/module/config_fields.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tapestry {

/// Storage type of an id: little-endian, unsigned except i64, which is for ids that do not come
/// from a tokenizer and is never used in files.
enum class IdType : unsigned char {
    u8,   ///< 1 byte
    u16,  ///< 2 bytes
    u32,  ///< 4 bytes
    i64   ///< 8 bytes, signed
};

template <>
struct NamesOf<IdType> {
    static constexpr EnumNames<IdType, 4> list{
        {{IdType::u8, "u8"}, {IdType::u16, "u16"}, {IdType::u32, "u32"}, {IdType::i64, "i64"}}};
};

std::int64_t bytes_of(IdType type);  ///< 1, 2, 4 or 8
/// The narrowest type for the ids of a vocabulary, 0 .. vocab - 1.
IdType id_type_for(std::int64_t vocab);

/// Appends the ids in their storage type. They must fit.
void pack_ids(std::span<const std::int64_t> ids, IdType type, std::vector<std::byte>& to);

/// Has value semantics: copies and slices share the storage. Thread-safe for reading.
class TokenIds {
public:
    /// Ids in memory, in the narrowest type that holds all of them.
    explicit TokenIds(std::span<const std::int64_t> ids);
    /// Ids in memory, packed by pack_ids.
    TokenIds(std::vector<std::byte> packed, IdType type);
    /// The ids in a file that contains nothing else; `name` is for error messages, and the file may
    /// have been unlinked. Reading an id of `vocab` or more is an error. Throws IoError when the
    /// file's length is not a multiple of the size of an id.
    TokenIds(std::shared_ptr<const FileDescriptor> file, std::string name, IdType type,
             std::int64_t vocab);

    std::int64_t size() const { return size_; }  ///< number of ids
    IdType type() const;                         ///< the type that they are stored in

    /// Reads ids from `begin` on until `to` is full. Throws IndexError if the range exceeds the
    /// sequence, IoError for a file that cannot be read, was truncated, or holds an id outside the
    /// vocabulary.
    void read(std::int64_t begin, std::span<std::int64_t> to) const;
    std::vector<std::int64_t> read(std::int64_t begin, std::int64_t count) const;

    /// `count` ids from `begin` on. Throws IndexError as read does.
    TokenIds slice(std::int64_t begin, std::int64_t count) const;

    /// Calls visit(span<const std::int64_t>) for all ids in order, one block at a time.
    template <class Visit>
    void for_each_block(Visit&& visit) const {
        constexpr std::int64_t kBlock = 1 << 16;
        std::vector<std::int64_t> block;
        for (std::int64_t at = 0; at < size_; at += kBlock) {
            block.resize(static_cast<std::size_t>(std::min(kBlock, size_ - at)));
            read(at, block);
            visit(std::span<const std::int64_t>(block));
        }
    }

private:
    class Kept;
    class InMemory;
    class InFile;

    std::shared_ptr<const Kept> kept_;
    std::int64_t first_ = 0;
    std::int64_t size_ = 0;
};

/// Reads token ids from a text file, for models whose tokenizer is not available: integers
/// separated by white space. Throws IoError for text that is not an integer, an id outside a
/// vocabulary of `vocab`, with its position counted from 0, or fewer than two ids.
std::vector<std::int64_t> read_token_file(const std::string& path, std::int64_t vocab);

}  // namespace tapestry
