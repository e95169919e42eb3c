// Files to data: the choice of tokenizer, progress, and what remains after a failure.
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/train/run_directory.h>
#include <tapestry/tests/core/scratch.h>

using namespace tapestry;
using test::check_message;
using test::spill;

namespace {

struct Texts {
    Texts() {
        std::filesystem::create_directory(scratch / "texts");
        spill(scratch / "texts" / "a.txt", "abcab");
        spill(scratch / "texts" / "b.jsonl", "{\"story\": \"cab\"}\n{\"story\": \"bad\"}\n");
    }
    TokenizeOptions options() const {
        return {.texts = {(scratch / "texts").string()}, .field = "story"};
    }
    std::string out(const char* name = "data") const { return (scratch / name).string(); }

    test::Scratch scratch;
};

}  // namespace

TEST_CASE("tokenize files: characters, counted and encoded, from files and lines of JSON") {
    const Texts texts;
    TokenizeOptions options = texts.options();
    std::vector<std::string> begun;
    std::uint64_t most = 0;
    options.begun = [&](const std::string& purpose) { begun.push_back(purpose); };
    options.progress = [&](std::uint64_t done, std::uint64_t all) {
        CHECK_LE(done, all);
        most = std::max(most, done);
    };
    const TokenizedFiles files = tokenize_files(texts.out(), options);
    CHECK_EQ(begun, std::vector<std::string>{"counting", "encoding"});
    CHECK_EQ(files.bytes, static_cast<double>(most));
    CHECK_EQ(files.encoded.documents, 3);
    CHECK_EQ(files.encoded.ids, 5 + 3 + 3 + 2);  // separators between them
    CHECK_EQ(to_text(files), "3 documents, 0.0 MB: 13 characters, 5 different");
    const Corpus data = load_data(texts.out());
    CHECK_EQ(data.ids.size(), 13);
    CHECK_EQ(data.tokenizer->kind(), "char");
}

TEST_CASE("tokenize files: byte pairs of the texts, or another's tokenizer") {
    const Texts texts;
    TokenizeOptions options = texts.options();
    options.tokenizer = "bpe";
    options.vocab = 258;
    const TokenizedFiles learned = tokenize_files(texts.out("bpe"), options);
    CHECK_LE(learned.vocab, 259);
    CHECK_NE(to_text(learned).find(" in the vocabulary"), std::string::npos);

    Generator generator(1);
    const GPT model({.vocab = 6, .context = 4, .layers = 1, .heads = 1, .dim = 8}, generator);
    save_model(texts.scratch / "m", model, CharTokenizer::from_text("abcdef"));
    options.texts = {(texts.scratch / "texts" / "a.txt").string()};
    for (const char* from : {"m", "bpe"}) {
        options.tokenizer = texts.out(from);
        const std::string to = texts.out(from) + "-data";
        const TokenizedFiles files = tokenize_files(to, options);
        CHECK_EQ(files.encoded.documents, 1);
        CHECK(to_text(files).starts_with("1 document, "));
        const auto own = has_data(options.tokenizer) ? load_data_tokenizer(options.tokenizer)
                                                     : load_tokenizer(options.tokenizer);
        CHECK_EQ(load_data(to).tokenizer->hash(), own->hash());
    }
}

TEST_CASE("tokenize files: data is never written over, and nothing is left of half of it") {
    const Texts texts;
    TokenizeOptions options = texts.options();
    struct Enough {};
    options.progress = [](std::uint64_t, std::uint64_t) { throw Enough(); };
    CHECK_THROWS_AS(tokenize_files(texts.out(), options), Enough);
    CHECK_FALSE(has_data(texts.out()));
    options.progress = {};
    tokenize_files(texts.out(), options);
    check_message<IoError>([&] { tokenize_files(texts.out(), options); },
                           ": already contains data; remove it or choose another directory");
    options.tokenizer = texts.out("none");
    check_message<IoError>([&] { tokenize_files(texts.out("other"), options); }, "none");
    options.tokenizer = "chars";
    options.texts = {texts.out("missing.txt")};
    check_message<IoError>([&] { tokenize_files(texts.out("other"), options); }, "missing.txt");
}

TEST_CASE("tokenize files: a tokenizer is not written over, the rest of a killed one is") {
    const Texts texts;
    const TokenizeOptions options = texts.options();
    const std::filesystem::path out = texts.out();
    std::filesystem::create_directory(out);
    test::spill(out / "merges.txt", "mine");
    check_message<IoError>([&] { tokenize_files(texts.out(), options); },
                           ": contains a tokenizer (merges.txt), which this could replace");
    CHECK_EQ(test::slurp(out / "merges.txt"), "mine");
    test::spill(out / "ids.bin", "");
    tokenize_files(texts.out(), options);
    CHECK(has_data(texts.out()));

    TokenizeOptions of_pairs = texts.options();
    of_pairs.tokenizer = "bpe";
    of_pairs.vocab = 258;
    const std::filesystem::path pairs = texts.out("pairs");
    std::filesystem::create_directory(pairs);
    test::spill(pairs / "ids.bin", "");
    test::spill(pairs / "added_tokens.json", "{\"<tool>\": 258}");  // of the killed one
    tokenize_files(texts.out("pairs"), of_pairs);
    CHECK_EQ(load_data(pairs).tokenizer->kind(), "bpe");
}

TEST_CASE("tokenize files: data is not written among the texts, which would be others then") {
    const Texts texts;
    const std::filesystem::path place = texts.scratch / "texts";
    TokenizeOptions options = texts.options();
    for (const char* name : {"", "data", "../texts/a/b"}) {
        check_message<ValueError>([&] { tokenize_files((place / name).string(), options); },
                                  " is in the directory of texts ");
    }
    CHECK_FALSE(std::filesystem::exists(place / "data"));
    tokenize_files((place / ".data").string(), options);  // where no text is read
    options.files.include = {"*.txt", "*.jsonl"};
    tokenize_files((place / "data").string(), options);
    CHECK_EQ(load_data(place / "data").hash, load_data(place / ".data").hash);
}

TEST_CASE("tokenize files: a second tokenization, or a run, in the same directory is refused") {
    const Texts texts;
    TokenizeOptions options = texts.options();
    int tries = 0;
    options.begun = [&](const std::string&) {
        ++tries;
        check_message<BusyError>([&] { tokenize_files(texts.out(), texts.options()); },
                                 "in use by another process");
        check_message<BusyError>([&] { RunDirectory{texts.out()}; }, "in use by another process");
    };
    tokenize_files(texts.out(), options);
    CHECK_EQ(tries, 2);
    CHECK_EQ(load_data(texts.out()).ids.size(), 13);
    check_message<IoError>([&] { tokenize_files(texts.out(), texts.options()); },
                           "already contains data");
    CHECK_FALSE(std::filesystem::exists(texts.scratch / "data" / ".lock"));
    // A directory that was made for nothing goes.
    options.begun = [](const std::string&) { throw IoError("stop"); };
    CHECK_THROWS_AS(tokenize_files(texts.out("other"), options), IoError);
    CHECK_FALSE(std::filesystem::exists(texts.scratch / "other"));
}

TEST_CASE("tokenize files: fewer byte pairs than asked for are explained") {
    const test::Scratch scratch;
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += "deadbeef";
    test::spill(scratch / "hex", text);
    const TokenizedFiles files =
        tokenize_files((scratch / "out").string(),
                       {.texts = {(scratch / "hex").string()}, .tokenizer = "bpe", .vocab = 1024});
    CHECK_LT(files.encoded.ids, 1000);  // 80000 when words of more than 256 bytes were left out
    const std::string said = to_text(files);
    CHECK(said.find("; 1024 were asked for, but no other pair of tokens occurs twice; 100% of the "
                    "text is in words of more than 256 bytes, which were cut to learn from") !=
          std::string::npos);
}
