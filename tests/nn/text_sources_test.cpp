// What `train --text` takes: files, JSON Lines, directories of both; also from the cache.
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/tests/core/scratch.h>

using namespace tapestry;
using test::spill;
namespace fs = std::filesystem;

namespace {

std::string text_of(const Corpus& corpus) {
    return corpus.tokenizer->decode(corpus.ids.read(0, corpus.ids.size()));
}

// As `tapestry tokenize` makes it.
std::string tokenized(const std::string& text, const std::string& out) {
    tokenize_files(out, {.texts = {text}});
    return text_of(load_data(out));
}

}  // namespace

TEST_CASE("text: lines of JSON are documents, as `tapestry tokenize` reads them") {
    const test::Scratch scratch;
    const std::string chat = (scratch / "chat.jsonl").string();
    spill(chat, "{\"text\": \"abc\"}\n{\"text\": \"bad\", \"id\": 7}\n");
    const Corpus corpus = tokenize_text(chat, nullptr);
    CHECK_EQ(text_of(corpus),
             "abc\x03"
             "bad");
    CHECK_EQ(text_of(corpus), tokenized(chat, (scratch / "data").string()));
    spill(scratch / "chat.txt", "{\"text\": \"abc\"}\n");
    CHECK_EQ(text_of(tokenize_text(scratch / "chat.txt", nullptr)), "{\"text\": \"abc\"}\n");
    spill(chat, "{\"story\": \"abc\"}\n");
    test::check_message<IoError>([&] { tokenize_text(chat, nullptr); },
                                 "chat.jsonl:1: no field 'text'");
}

TEST_CASE("text: a directory is its files, without those that are not text") {
    const test::Scratch scratch;
    const fs::path books = scratch / "books";
    fs::create_directories(books / "more");
    spill(books / "b.txt", "second");
    spill(books / "a.jsonl", "{\"text\": \"first\"}\n");
    spill(books / "more" / "c.txt", "third");
    spill(books / "cover.png", "\x89PNG\r\n\x1a\n\xff\xfe");
    const Corpus corpus = tokenize_text(books, nullptr);
    CHECK_EQ(text_of(corpus), "first\x03second\x03third");
    CHECK_EQ(corpus.skipped, 1);
    CHECK_EQ(text_of(corpus), tokenized(books.string(), (scratch / "data").string()));
    fs::create_directory(scratch / "empty");
    test::check_message<IoError>([&] { tokenize_text(scratch / "empty", nullptr); },
                                 "contains no files");
}

TEST_CASE("text: a large directory and large JSON Lines come from the cache, and are told apart") {
    const test::Scratch scratch;
    const TextCache cache{.directory = scratch / "cache"};
    std::string line = "{\"text\": \"";
    for (int i = 0; i < 2000; ++i) line += "abcd efgh ";
    line += "\"}\n";
    std::string lines;
    while (lines.size() < (std::size_t{1} << 20)) lines += line;
    spill(scratch / "t.jsonl", lines);
    spill(scratch / "t.txt", lines);
    const auto entries = [&] {
        return std::distance(fs::directory_iterator(cache.directory), fs::directory_iterator{});
    };
    const std::string hash = tokenize_text(scratch / "t.jsonl", nullptr, &cache).hash;
    CHECK_EQ(entries(), 1);
    CHECK_EQ(tokenize_text(scratch / "t.jsonl", nullptr, &cache).hash, hash);
    CHECK_EQ(entries(), 1);
    CHECK_EQ(tokenize_text(scratch / "t.jsonl", nullptr).hash, hash);
    // The same bytes as plain text are another text.
    CHECK(tokenize_text(scratch / "t.txt", nullptr, &cache).hash != hash);
    CHECK_EQ(entries(), 2);
    fs::create_directory(scratch / "d");
    spill(scratch / "d" / "a.txt", lines);
    spill(scratch / "d" / "b.txt", "more");
    const std::string both = tokenize_text(scratch / "d", nullptr, &cache).hash;
    CHECK_EQ(entries(), 3);
    spill(scratch / "d" / "b.txt", "other");
    CHECK(tokenize_text(scratch / "d", nullptr, &cache).hash != both);
    CHECK_EQ(entries(), 4);
}

TEST_CASE("session: says what of a directory it skipped") {
    const test::Scratch scratch;
    fs::create_directory(scratch / "d");
    for (const char* name : {"a.txt", "b.txt"}) {
        spill(scratch / "d" / name, std::string(400, 'x') + "yz");
    }
    spill(scratch / "d" / "z.png", "\x89PNG\r\n\x1a\n\xff\xfe");
    const Session session({.text = (scratch / "d").string(),
                           .model = {.context = 8, .layers = 1, .heads = 1, .dim = 8},
                           .batch = 2});
    const std::string text = session.task().data_text();
    CHECK(text.find("d: 805 characters, 4 different; training on ") != std::string::npos);
    CHECK(text.ends_with("; 1 file skipped: not text, or a link"));
    TrainingConfig masked{.task = "mask", .text = (scratch / "d").string()};
    masked.set_model(MaskedLanguageModelConfig{.max_length = 8, .dim = 8, .heads = 1, .layers = 1});
    CHECK(Session(masked).task().data_text().ends_with("; 1 file skipped: not text, or a link"));
}
