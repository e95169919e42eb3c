// Checksums: the published values, and that any change of a file is detected.
#include <tapestry/core/checksum.h>
#include <tapestry/core/file.h>
#include <tapestry/tests/core/scratch.h>

using namespace tapestry;
using test::check_message;
using test::spill;

TEST_CASE("checksum: XXH3 as its specification has it") {
    // Of the empty string and "a", as printed by xxhsum -H128.
    CHECK_EQ(checksum_of(""), "99aa06d3014798d86001c324468d497f");
    CHECK_EQ(checksum_of("a"), "a96faf705af16834e6c632b61e964e1f");
}

TEST_CASE("checksum: in any pieces, the same") {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 37 % 251);
    for (const std::size_t cut :
         {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{4999}}) {
        Checksum checksum;
        checksum.add(std::string_view(text).substr(0, cut));
        checksum.add(std::string_view(text).substr(cut));
        CHECK_EQ(checksum.hex(), checksum_of(text));
    }
}

TEST_CASE("checksum: of a file, of its beginning, and of one with any bit changed") {
    const test::Scratch scratch;
    std::string text(600000, 'x');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i % 253);
    const FileDigest written = write_file_atomically(scratch / "f", text);
    CHECK_EQ(written, FileDigest{text.size(), checksum_of(text)});
    CHECK_EQ(digest_of_file(scratch / "f"), written);
    CHECK_EQ(digest_of_file(scratch / "f", 1000).checksum, checksum_of(text.substr(0, 1000)));
    CHECK_EQ(digest_of_file(scratch / "f", 1000).bytes, 1000);
    for (const std::size_t bit : {std::size_t{0}, text.size() * 4, text.size() * 8 - 1}) {
        std::string other = text;
        other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
        spill(scratch / "f", other);
        CHECK_NE(digest_of_file(scratch / "f").checksum, written.checksum);
    }
    check_message<IoError>([&] { digest_of_file(scratch / "none"); }, "No such file");
}
