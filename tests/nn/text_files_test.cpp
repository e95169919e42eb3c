// Which files of a directory are texts, and what the others are called.
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/file_kind.h>
#include <tapestry/nn/data/text_files.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/tests/core/scratch.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

using namespace tapestry;
using namespace std::string_literals;
using test::check_message;
using test::message_of;
using test::Scratch;
using test::spill;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

// UTF-16 or UTF-32 of ASCII text.
std::string wide(std::string_view text, std::size_t width, bool big) {
    std::string result;
    for (const char one : text) {
        std::string unit(width, '\0');
        unit[big ? width - 1 : 0] = one;
        result += unit;
    }
    return result;
}

std::string refusal(const Scratch& scratch, const std::string& bytes) {
    spill(scratch / "t", bytes);
    return message_of<NotTextError>([&] {
        DocumentReader reader({scratch / "t"});
        while (reader.next()) {
        }
    });
}

Names names_of(const Scratch& scratch, const TextFileOptions& options) {
    Names names;
    for (const fs::path& file : text_files({scratch.path().string()}, options)) {
        names.push_back(file.lexically_relative(scratch.path()).string());
    }
    return names;
}

}  // namespace

TEST_CASE("text files: other encodings are named, with or without a mark") {
    const Scratch scratch;
    const std::string text = "It was the best of times, it was the worst of times.\n";
    const auto named = [&](const std::string& bytes, const std::string& encoding) {
        INFO(encoding);
        const std::string message = refusal(scratch, bytes);
        CHECK(message.find("the text is " + encoding + ", and must be UTF-8; iconv -f " + encoding +
                           " -t UTF-8 converts it") != std::string::npos);
    };
    named(wide(text, 2, false), "UTF-16LE");
    named(wide(text, 2, true), "UTF-16BE");
    named(wide(text, 4, false), "UTF-32LE");
    named(wide(text, 4, true), "UTF-32BE");
    named("\xFF\xFE" + wide(text, 2, false), "UTF-16");
    named("\xFE\xFF" + wide(text, 2, true), "UTF-16");
    named("\xFF\xFE\0\0"s + wide(text, 4, false), "UTF-32");
    named("\0\0\xFE\xFF"s + wide(text, 4, true), "UTF-32");
    named("Title: \x1B$B$3$s$K$A$O\x1B(B\n", "ISO-2022-JP");
    named("+/v8-H+AOk-tel\n", "UTF-7");
}

TEST_CASE("text files: databases, pickles and others are called what they are") {
    const Scratch scratch;
    const std::string words = " and some words that make it longer\n";
    CHECK(refusal(scratch, "SQLite format 3\0"s + words).find("an SQLite database") !=
          std::string::npos);
    CHECK(refusal(scratch, "\x80\x04\x95"s + words).find("a Python pickle") != std::string::npos);
    CHECK(refusal(scratch, "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n")
              .find("a Git LFS pointer; `git lfs pull`") != std::string::npos);
    CHECK(refusal(scratch, "%PDF-1.4\n%\xE2\xE3\xCF\xD3\n").find("a PDF") != std::string::npos);
}

TEST_CASE("text files: texts that begin like something else, or hold zeros and escapes, are text") {
    const Scratch scratch;
    const Names texts{"GGUF is a format.",
                      "%PDF-1.4 is how they begin.",
                      "a\0b\0"s,
                      "one\0two\0three\0"s,
                      "\x1B[1mbold\x1B(B\x1B[m",
                      "PK",
                      "12345678"};
    for (const std::string& text : texts) {
        spill(scratch / "t", text);
        DocumentReader reader({scratch / "t"});
        CHECK(reader.next()->text == text);
    }
}

TEST_CASE("text files: of a directory, what is no text is left out with a line") {
    const Scratch scratch;
    spill(scratch / "a.txt", "one");
    spill(scratch / "b.pyc", "\xA7\r\r\n\0\0"s);
    fs::create_directory(scratch / "sub");
    spill(scratch / "sub" / "c.txt", "three");
    spill(scratch / "sub" / "empty.txt", "");
    spill(scratch / "sub" / "marked.txt", "\xEF\xBB\xBF");  // empty, too
    spill(scratch / "sub" / "late.txt", std::string(3 << 20, 'x') + "\xFF");
    fs::create_symlink(scratch / "nowhere", scratch / "z");
    fs::create_directory_symlink("sub", scratch / "sub.link");
    REQUIRE_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
    Names why;
    TextFileOptions options;
    options.skipped = [&](const std::string& one) { why.push_back(one); };
    CHECK(names_of(scratch, options) ==
          Names{"a.txt", "sub/c.txt", "sub/empty.txt", "sub/marked.txt"});
    REQUIRE_EQ(why.size(), 5);
    std::sort(why.begin(), why.begin() + 3);  // no files, in the directory's order
    CHECK(why[0].find("pipe': neither a file nor a directory") != std::string::npos);
    why.erase(why.begin());
    CHECK(why[0].find("sub.link': a link to a directory, which is not followed") !=
          std::string::npos);
    CHECK(why[1].find("z': a link to a file that does not exist") != std::string::npos);
    CHECK(why[2].find("b.pyc': not UTF-8 at byte 0") != std::string::npos);
    CHECK(why[3].find("late.txt': not UTF-8 at byte 3145728") != std::string::npos);

    options.strict = true;
    fs::remove(scratch / "pipe");
    check_message<IoError>([&] { names_of(scratch, options); }, ": a link to a ");
    fs::remove(scratch / "z");
    check_message<IoError>([&] { names_of(scratch, options); }, "a link to a directory");
    fs::remove(scratch / "sub.link");
    check_message<NotTextError>([&] { names_of(scratch, options); }, "b.pyc': not UTF-8");
}

TEST_CASE("text files: by name") {
    const Scratch scratch;
    fs::create_directories(scratch / "docs");
    for (const char* name : {"a.py", "b.md", "docs/c.py", "docs/d.md"}) {
        spill(scratch / name, "text");
    }
    CHECK(names_of(scratch, {.include = {"*.py"}}) == Names{"a.py", "docs/c.py"});
    CHECK(names_of(scratch, {.include = {"docs/*"}}) == Names{"docs/c.py", "docs/d.md"});
    CHECK(names_of(scratch, {.exclude = {"docs/*", "b.*"}}) == Names{"a.py"});
    CHECK(names_of(scratch, {.include = {"*.py"}, .exclude = {"a*"}}) == Names{"docs/c.py"});
    check_message<ValueError>([&] { names_of(scratch, {.include = {"*.txt"}}); },
                              "no file's name matches --include and --exclude");
    // A file that was named itself is taken.
    CHECK_EQ(text_files({(scratch / "a.py").string()}, {.exclude = {"*"}}).size(), 1);
}

TEST_CASE("text files: tokenizing a directory with other files in it") {
    const Scratch scratch;
    fs::create_directory(scratch / "in");
    spill(scratch / "in" / "a.txt", "abcabc");
    spill(scratch / "in" / "b.png", "\x89PNG\r\n\x1A\n");
    int skipped = 0;
    TokenizeOptions options{.texts = {(scratch / "in").string()}};
    options.files.skipped = [&](const std::string& why) {
        ++skipped;
        CHECK(why.find("b.png': not text, but a PNG image") != std::string::npos);
    };
    CHECK_EQ(tokenize_files((scratch / "out").string(), options).encoded.documents, 1);
    CHECK_EQ(skipped, 1);
}
