// Ids as bytes, in memory and in a file, and as numbers in a text: they round-trip, and errors are
// reported.
#include <doctest/doctest.h>
#include <tapestry/nn/data/token_ids.h>
#include <tapestry/tests/core/scratch.h>

#include <fcntl.h>

#include <numeric>

using namespace tapestry;
using test::check_message;
using Ids = std::vector<std::int64_t>;
using test::spill;

namespace {

Ids up_to(std::int64_t n, std::int64_t step = 1) {
    Ids ids(static_cast<std::size_t>(n));
    std::iota(ids.begin(), ids.end(), 0);
    for (std::int64_t& id : ids) id *= step;
    return ids;
}

// An open file of packed ids.
std::shared_ptr<const FileDescriptor> file_of(const std::filesystem::path& path, const Ids& ids,
                                              IdType type) {
    std::vector<std::byte> bytes;
    pack_ids(ids, type, bytes);
    test::spill(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return std::make_shared<FileDescriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

TEST_CASE("token ids: the narrowest type that holds them") {
    CHECK_EQ(id_type_for(256), IdType::u8);
    CHECK_EQ(id_type_for(257), IdType::u16);
    CHECK_EQ(id_type_for(65536), IdType::u16);
    CHECK_EQ(id_type_for(65537), IdType::u32);
    CHECK_EQ(TokenIds(Ids{}).type(), IdType::u8);
    CHECK_EQ(TokenIds(Ids{0, 255}).type(), IdType::u8);
    CHECK_EQ(TokenIds(Ids{256}).type(), IdType::u16);
    CHECK_EQ(TokenIds(Ids{65536, 1}).type(), IdType::u32);
    CHECK_EQ(TokenIds(Ids{std::int64_t{1} << 32}).type(), IdType::i64);
    CHECK_EQ(TokenIds(Ids{-1, 3}).type(), IdType::i64);
    for (const Ids& ids : {Ids{}, Ids{7}, Ids{3, 255, 0}, Ids{65535, 2}, Ids{4294967295, 0},
                           Ids{-5, INT64_MAX, INT64_MIN}}) {
        const TokenIds kept(ids);
        CHECK_EQ(kept.size(), ids.size());
        CHECK(kept.read(0, kept.size()) == ids);
    }
}

TEST_CASE("token ids: the same in a file as in memory, in every type, for any part") {
    const test::Scratch scratch;
    for (const IdType type : {IdType::u8, IdType::u16, IdType::u32}) {
        const std::int64_t step = type == IdType::u8 ? 0 : type == IdType::u16 ? 1 : 50'000;
        const Ids ids = up_to(60'000, step);  // more than a buffer of any type
        const TokenIds memory(ids);
        const TokenIds file(file_of(scratch / "ids", ids, type), "ids", type, ids.back() + 1);
        CHECK_EQ(file.size(), 60'000);
        CHECK(file.read(0, 60'000) == ids);
        CHECK(file.read(59'990, 10) == memory.read(59'990, 10));
        CHECK(file.read(60'000, 0).empty());
        const TokenIds part = file.slice(100, 50'000).slice(10, 30'000);
        CHECK(part.read(5, 29'995) == memory.read(115, 29'995));
        Ids seen;
        part.for_each_block([&](std::span<const std::int64_t> block) {
            seen.insert(seen.end(), block.begin(), block.end());
        });
        CHECK(seen == memory.read(110, 30'000));
        check_message<IndexError>([&] { part.read(29'990, 11); },
                                  "11 from 29990 on; there are 30000");
        check_message<IndexError>([&] { part.read(-1, 2); }, "2 from -1 on");
        check_message<IndexError>([&] { part.slice(3, 30'000); }, "30000 from 3 on");
    }
}

TEST_CASE("token ids: files that are wrong") {
    const test::Scratch scratch;
    const auto path = scratch / "ids";
    const auto file = file_of(path, {1, 2, 300, 4}, IdType::u16);
    const TokenIds ids(file, "'ids'", IdType::u16, 300);
    CHECK(ids.read(0, 2) == Ids{1, 2});
    check_message<IoError>([&] { ids.read(1, 3); },
                           "'ids': id 300 at position 2 is outside the vocabulary of 300");
    check_message<IoError>([&] { TokenIds(file, "'ids'", IdType::u32, 1).read(0, 1); },
                           "is outside the vocabulary of 1");
    std::filesystem::resize_file(path, 5);
    check_message<IoError>([&] { ids.read(2, 2); },
                           "cannot read 'ids': it ends at byte 5 (changed meanwhile?)");
    check_message<IoError>([&] { TokenIds(file, "'ids'", IdType::u16, 9); },
                           "'ids': 5 bytes are not a whole number of u16 ids");
}

TEST_CASE("token ids: a file without a name any more") {
    const test::Scratch scratch;
    const auto file = file_of(scratch / "ids", up_to(1000), IdType::u16);
    const TokenIds ids(file, "'ids'", IdType::u16, 1000);
    std::filesystem::remove(scratch / "ids");
    CHECK(ids.read(990, 10) == TokenIds(up_to(1000)).read(990, 10));
}

TEST_CASE("token file: numbers between white space, each of the vocabulary") {
    const test::Scratch scratch;
    const std::string file = (scratch / "ids").string();
    spill(file, "\n 0 12\t7\r\n3 ");
    CHECK(read_token_file(file, 13) == std::vector<std::int64_t>{0, 12, 7, 3});
    const auto refused = [&](const char* text, const char* words) {
        spill(file, text);
        check_message<IoError>([&] { read_token_file(file, 13); }, words);
    };
    refused("1 2 x3", "'x3' at position 2 is not a token id");
    refused("1 2.5", "'2.5' at position 1 is not a token id");
    refused("1 13", "token 13 at position 1 is outside the vocabulary of 13");
    refused("-1 2", "token -1 at position 0 is outside the vocabulary of 13");
    refused("1 99999999999999999999", "at position 1 is outside the vocabulary of 13");
    refused("5", "needs at least 2 tokens, got 1");
    refused("", "needs at least 2 tokens, got 0");
    check_message<IoError>([&] { read_token_file(file + "x", 13); }, "idsx");
}
