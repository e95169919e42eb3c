// Documents read from files piece by piece: unchanged text, cut only between characters and words,
// and encoded as if read at once.
#include <doctest/doctest.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data/words.h>
#include <tapestry/tests/core/scarce_memory.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

using namespace tapestry;
using test::check_message;
using test::spill;
using Ids = std::vector<std::int64_t>;
using Paths = std::vector<std::filesystem::path>;

namespace {

std::vector<std::string> documents_in(const Paths& files, DocumentOptions options = {}) {
    DocumentReader reader(files, std::move(options));
    std::vector<std::string> documents;
    bool ended = true;
    while (const auto piece = reader.next()) {
        CHECK_EQ(piece->begins, ended);
        CHECK_FALSE(piece->text.empty());
        CHECK_FALSE(utf8::find_flaw(piece->text).has_value());
        if (piece->begins) documents.emplace_back();
        documents.back() += piece->text;
        ended = piece->ends;
    }
    CHECK(ended);
    return documents;
}

Ids encoded(const Paths& files, const Tokenizer& tokenizer) {
    DocumentReader reader(files, {.field = "text"});
    std::vector<std::byte> all;
    const IdType type = IdType::u32;
    const EncodedDocuments counts =
        encode_documents(reader, tokenizer, type, [&](std::span<const std::byte> bytes) {
            all.insert(all.end(), bytes.begin(), bytes.end());
        });
    const TokenIds ids(std::move(all), type);
    CHECK_EQ(ids.size(), counts.ids);
    return ids.read(0, ids.size());
}

// Words, numbers, all kinds of white space, contractions, scripts with and without spaces; more
// than one block of the reader.
std::string mixed_text(std::uint64_t seed, std::size_t bytes) {
    const std::vector<std::string> parts{
        "the",           " cat", " don't", "'re", "  ",    "\n",  "\r\n", "\u00e9", " été",
        "中文字",        "，",   "\u3000", "5",   "1234",  "...", " 😀",   "\t ",    "<|endof",
        "<|endoftext|>", "'s",   "x",      " y",  "\u00a0"};
    Generator generator(seed);
    std::string text;
    while (text.size() < bytes) text += parts[generator.below(parts.size())];
    return text;
}

}  // namespace

TEST_CASE("documents: a plain file is one, of any size and with characters cut anywhere") {
    const test::Scratch scratch;
    const std::size_t block = std::size_t{1} << 20;
    for (const std::size_t before : {block - 1, block - 2, block - 3, block, 2 * block - 2}) {
        for (const std::string character : {"x", "é", "中", "😀"}) {
            const std::string text = std::string(before, 'a') + character + character + "end";
            spill(scratch / "t", text);
            REQUIRE(documents_in({scratch / "t"}) == std::vector<std::string>{text});
        }
    }
    for (const std::size_t size : {std::size_t{1}, block, 2 * block}) {
        spill(scratch / "t", std::string(size, 'a'));
        CHECK(documents_in({scratch / "t"}) == std::vector<std::string>{std::string(size, 'a')});
    }
    spill(scratch / "marked", "\xEF\xBB\xBFone\xEF\xBB\xBF");
    CHECK(documents_in({scratch / "marked"}) == std::vector<std::string>{"one\xEF\xBB\xBF"});
}

TEST_CASE("documents: what is not UTF-8 is said with its place in the file") {
    const test::Scratch scratch;
    const std::string million(std::size_t{1} << 20, 'a');
    spill(scratch / "t", million + million + "bc\xFF");
    check_message<IoError>([&] { documents_in({scratch / "t"}); },
                           "/t': not UTF-8 at byte 2097154");
    spill(scratch / "t", million + "\xE4\xB8");  // cut off by the file's end
    check_message<IoError>([&] { documents_in({scratch / "t"}); }, "not UTF-8 at byte 1048576");
    spill(scratch / "t", std::string("\xFF\xFEh\0", 4));
    check_message<IoError>([&] { documents_in({scratch / "t"}); },
                           "the text is UTF-16, and must be UTF-8");
    spill(scratch / "t", million.substr(3) + "\x80\x80\x80\x80\x80\x80");
    check_message<IoError>([&] { documents_in({scratch / "t"}); }, "not UTF-8 at byte 1048573");
}

TEST_CASE("documents: lines of JSON") {
    const test::Scratch scratch;
    const auto file = scratch / "d.jsonl";
    const DocumentOptions text{.field = "text"};
    spill(file,
          "{\"text\": \"one\\nline\", \"n\": 1}\n\n  \r\n{\"text\": \"\"}\n"
          "{\"n\": [1], \"text\": \"\\u4e2d\\ud83d\\ude00\"}\r\n{\"text\":\"last\"}");
    const std::vector<std::string> wanted{"one\nline", "中😀", "last"};
    CHECK(documents_in({file}, text) == wanted);
    CHECK(documents_in({file}) == std::vector<std::string>{test::slurp(file)});  // without a field
    std::string lines;
    std::vector<std::string> many;
    for (std::size_t i = 1; i < 13; ++i) {  // longer than a block, and many in one
        many.emplace_back(i * i * i * 700, static_cast<char>('a' + i % 26));
        lines += "{\"text\": \"" + many.back() + "\"}\n";
    }
    spill(file, lines);
    CHECK(documents_in({file}, text) == many);

    const auto refused = [&](const std::string& content, const std::string& words) {
        spill(file, content);
        check_message<IoError>([&] { documents_in({file}, text); }, words);
    };
    refused("{\"text\": \"a\"}\n{\"txt\": \"b\"}\n", "d.jsonl:2: no field 'text'");
    refused("{\"text\": 5}", "d.jsonl:1: the field 'text' is number, not a string");
    refused("\n[1]\n", "d.jsonl:2: expected a JSON object, got array");
    refused("{\"text\": \"a\"}\n{\"text\": \"b\n", "d.jsonl:2: not JSON: error at byte");
    refused("{\"text\": \"\xFF\"}\n", "d.jsonl:1: not JSON: error at byte");
    refused("{\"text\": 1e999}\n", "d.jsonl:1: not JSON");
    refused("{\"text\": \"a\"}\n{\"text\": \"b\", \"text\": \"c\"}\n",
            "d.jsonl:2: duplicate key 'text'");
    refused(std::string("{\"text\": \"a\"}\0{\"text\": \"b\"}\n", 28),
            "d.jsonl:1: not JSON: error at byte 14");
    refused("\n{\"text\": \"\"}\n", "d.jsonl': the file is empty");
}

TEST_CASE("documents: files and directories") {
    const test::Scratch scratch;
    std::filesystem::create_directories(scratch / "d/sub");
    std::filesystem::create_directories(scratch / "d/.git");
    std::filesystem::create_directories(scratch / "none");
    for (const char* name : {"d/b.txt", "d/a.txt", "d/sub/c.txt", "d/.hidden", "d/.git/x", "z"}) {
        spill(scratch / name, name);
    }
    spill(scratch / "d/empty", "");
    std::filesystem::create_symlink("nowhere", scratch / "d/link");
    std::filesystem::create_directory_symlink(".", scratch / "d/round");  // never followed
    const Paths files = files_below({(scratch / "z").string(), (scratch / "d").string()});
    CHECK(files == Paths{scratch / "z", scratch / "d/a.txt", scratch / "d/b.txt",
                         scratch / "d/empty", scratch / "d/sub/c.txt"});
    CHECK(documents_in(files) ==
          std::vector<std::string>{"z", "d/a.txt", "d/b.txt", "d/sub/c.txt"});
    DocumentReader reader(files);
    while (reader.next()) {
    }
    REQUIRE_EQ(reader.sources().size(), 5);
    CHECK_EQ(reader.sources()[1].path, (scratch / "d/a.txt").string());
    CHECK_EQ(reader.sources()[1].bytes, 7);
    CHECK_EQ(reader.sources()[1].hash, digest_of_file(scratch / "d/a.txt").checksum);
    CHECK_EQ(reader.bytes(), 1 + 7 + 7 + 11);
    check_message<IoError>([&] { files_below({(scratch / "none").string()}); },
                           "/none': contains no files");
    std::filesystem::create_symlink("loop", scratch / "none/loop");
    check_message<IoError>([&] { files_below({(scratch / "none").string()}); },
                           "none/loop': Too many levels of symbolic links");
    check_message<IoError>([&] { DocumentReader({scratch / "missing"}); },
                           "missing': No such file or directory");
    check_message<IoError>(
        [&] {
            documents_in({scratch / "d/empty", scratch / "d/empty"});
        },
        "there is no text in the 2 files");
}

// std::filesystem's iterators terminate the process if the next path cannot be allocated.
TEST_CASE("documents: where memory ends the files cannot be found, and nothing worse" *
          doctest::skip(test::kAddressSanitizer)) {
    const test::Scratch scratch;
    for (int i = 0; i < 200; ++i) {
        spill(scratch / fmt::format("a file of a name that is long enough to need memory {}", i),
              "");
    }
    const int failures = test::failures_before_success([&] {
        try {
            files_below({scratch.path().string()});
        } catch (const IoError&) {  // opening the directory ran out of memory
            throw std::bad_alloc();
        }
    });
    if (failures == -2) return test::skip("the address space cannot be limited here");
    CHECK_GT(failures, 10);
    CHECK_LT(failures, 250);
}

TEST_CASE("words: a text can be cut at last_cut, with anything on either side") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const std::string text = mixed_text(seed, 120);
        std::vector<std::size_t> begins;  // where the words of the whole text begin
        for (std::size_t at = 0; at < text.size(); at = word_end(text, at)) begins.push_back(at);
        for (std::size_t end = 0; end <= text.size(); ++end) {
            if (utf8::find_flaw(std::string_view(text).substr(0, end))) continue;
            const std::size_t cut = last_cut(std::string_view(text).substr(0, end));
            REQUIRE_LE(cut, end);
            REQUIRE(std::find(begins.begin(), begins.end(), cut) != begins.end());
        }
    }
    CHECK_EQ(last_cut("one two"), 3);
    CHECK_EQ(last_cut("one  "), 3);
    CHECK_EQ(last_cut("one,two"), 0);
    CHECK_EQ(last_cut("中文，字"), 9);
    CHECK_EQ(last_cut("abc123def"), 6);
    CHECK_EQ(last_cut("don't"), 0);
    CHECK_EQ(last_cut(""), 0);
    CHECK_EQ(last_cut("\u3000\u3000"), 0);
}

TEST_CASE("documents: the ids of a file are those of its text, encoded at once") {
    const test::Scratch scratch;
    const auto file = scratch / "t";
    const auto pairs = BytePairTokenizer::from_merges(
        {{"t", "h"}, {"th", "e"}, {" ", "t"}, {" ", "c"}, {"\xE4", "\xB8"}, {"1", "2"}});
    const std::uint64_t texts = test::kAddressSanitizer ? 1 : 3;
    for (std::uint64_t seed = 1; seed <= texts; ++seed) {
        spill(file, mixed_text(seed, 3'000'000 + 1000 * seed));
        const std::string text = read_text(file);
        const auto characters = CharTokenizer::from_text(text);
        CHECK(encoded({file}, characters) == characters.encode(text));
        CHECK(encoded({file}, pairs) == pairs.encode(text));
    }
    spill(file, std::string(2'500'000, 'a'));  // with no place to cut
    CHECK(encoded({file}, pairs) == pairs.encode(read_text(file)));
}

TEST_CASE("documents: characters of several have an end of text, and it separates them") {
    const test::Scratch scratch;
    spill(scratch / "a", "ab");
    spill(scratch / "b.jsonl", "{\"text\": \"ba\"}\n{\"text\": \"c\"}\n");
    const auto characters = [](const Paths& files) {
        DocumentReader reader(files, {.field = "text"});
        return characters_of(reader);
    };
    const CharTokenizer one = characters({scratch / "a"});
    CHECK(one.vocab() == U"ab");
    CHECK_FALSE(one.end_of_text().has_value());
    const CharTokenizer several = characters({scratch / "a", scratch / "b.jsonl"});
    CHECK(several.vocab() ==
          U"\x03"
          U"abc");
    CHECK_EQ(several.end_of_text(), std::optional<std::int64_t>(0));
    CHECK_EQ(several.beginning(), 0);
    CHECK(encoded({scratch / "a", scratch / "b.jsonl"}, several) == Ids{1, 2, 0, 2, 1, 0, 3});
    const auto pairs = BytePairTokenizer::from_merges({});
    CHECK(encoded({scratch / "a", scratch / "a"}, pairs) == Ids{'a', 'b', 256, 'a', 'b'});
    check_message<ValueError>(
        [&] {
            encoded({scratch / "a", scratch / "a"}, one);
        },
        "/a: a second document, but the tokenizer has no end-of-text character to put before it");
    const auto text = std::string(1 << 20, 'a') + "b" + std::string(10, 'a') + "\n";
    spill(scratch / "long", text);
    check_message<ValueError>([&] { encoded({scratch / "long"}, one); },
                              "/long: character '\\n' (U+000A) at position 1048587 is not in");
}
