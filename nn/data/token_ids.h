// A sequence of token ids, in as few bytes as they need, in memory or in a file: a text of 10 GB is
// trained on with the memory that one of 10 MB takes. Read next: nn/data/text.h, which cuts it into
// parts and draws batches from these.
//
// A file is read with pread, not mapped: pages of a mapping that were looked at once count as the
// process's memory, a file that another program cuts short would end it with SIGBUS, and a bad disk
// too. One call for each sequence of a batch is nothing beside a training step.
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

/// How an id is kept: little-endian, unsigned but for i64, which is for ids of other origin than a
/// tokenizer and never stands in a file.
enum class IdType : unsigned char { u8, u16, u32, i64 };

template <>
struct NamesOf<IdType> {
    static constexpr EnumNames<IdType, 4> list{
        {{IdType::u8, "u8"}, {IdType::u16, "u16"}, {IdType::u32, "u32"}, {IdType::i64, "i64"}}};
};

std::int64_t bytes_of(IdType type);
/// The narrowest for the ids of a vocabulary, 0 .. vocab - 1.
IdType id_type_for(std::int64_t vocab);

/// Appends the ids as they are kept. Those must fit.
void pack_ids(std::span<const std::int64_t> ids, IdType type, std::vector<std::byte>& to);

/// A value: copies and slices share what is kept. Reading from several threads is safe.
class TokenIds {
public:
    /// In memory, in the narrowest type that holds them all.
    explicit TokenIds(std::span<const std::int64_t> ids);
    /// In memory, as pack_ids has left them.
    TokenIds(std::vector<std::byte> packed, IdType type);
    /// In a file that consists of them, which `name` calls in errors; it may have been unlinked. An
    /// id of `vocab` or more is an error when it is read. Throws IoError when the file is not a
    /// whole number of ids long.
    TokenIds(std::shared_ptr<const FileDescriptor> file, std::string name, IdType type,
             std::int64_t vocab);

    std::int64_t size() const { return size_; }
    IdType type() const;

    /// The ids from `begin` on, as many as `to` holds. Throws IndexError when they are not all
    /// there, IoError for a file that cannot be read, has become shorter, or holds an id outside
    /// the vocabulary.
    void read(std::int64_t begin, std::span<std::int64_t> to) const;
    std::vector<std::int64_t> read(std::int64_t begin, std::int64_t count) const;

    /// `count` of them, from `begin` on. Throws IndexError as read does.
    TokenIds slice(std::int64_t begin, std::int64_t count) const;

    /// visit(span<const std::int64_t>) for all of them in order, a block at a time.
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

/// Token ids from a file, for models whose tokenizer is not at hand: the whole numbers in it,
/// separated by white space. Throws IoError for what is no number, an id outside a vocabulary of
/// `vocab`, with its position counted from 0, or fewer than two of them.
std::vector<std::int64_t> read_token_file(const std::string& path, std::int64_t vocab);

}  // namespace tapestry
