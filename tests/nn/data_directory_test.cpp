// Data on disk: reading returns what was written, incomplete or changed files are refused, and the
// cache that creates such directories.
#include <doctest/doctest.h>
#include <tapestry/nn/data/bpe_training.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/tests/core/scratch.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>

using namespace tapestry;
using test::check_message;
using test::slurp;
using test::spill;
using Json = nlohmann::json;

namespace {

std::string sentences(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "The cat sat on mat " + std::to_string(i * i) + ".\n";
    return text;
}

struct Written {
    explicit Written(bool pairs = false) {
        spill(text, sentences(200));
        DocumentReader reader({text});
        if (pairs) {
            WordCounts words;
            words.add(sentences(200));
            write_data(directory, reader, train_byte_pairs(words, 300));
        } else {
            write_data(directory, reader, CharTokenizer::from_text(sentences(200)));
        }
    }
    void refused(const std::string& words) const {
        check_message<IoError>([&] { load_data(directory); }, words);
    }
    void set(const char* key, const Json& value) const {
        Json json = Json::parse(slurp(directory / "data.json"));
        json[key] = value;
        spill(directory / "data.json", json.dump());
    }

    test::Scratch scratch;
    std::filesystem::path text = scratch / "t.txt";
    std::filesystem::path directory = scratch / "sub/data";
};

// Changes the byte in the middle of a file.
void flip(const std::filesystem::path& path) {
    std::string bytes = slurp(path);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    spill(path, bytes);
}

}  // namespace

TEST_CASE("data directory: what was written is read again") {
    for (const bool pairs : {false, true}) {
        const Written w(pairs);
        CHECK(has_data(w.directory));
        const Corpus data = load_data(w.directory);
        const std::string text = sentences(200);
        CHECK_EQ(data.ids.type(), pairs ? IdType::u16 : IdType::u8);
        CHECK_EQ(data.tokenizer->decode(data.ids.read(0, data.ids.size())), text);
        CHECK(data.ids.read(0, data.ids.size()) == data.tokenizer->encode(text));
        const Json json = Json::parse(slurp(w.directory / "data.json"));
        CHECK_EQ(json.at("format"), 1);
        CHECK_EQ(json.at("documents"), 1);
        CHECK_EQ(json.at("ids"), data.ids.size());
        CHECK_EQ(json.at("ids_xxh3"), digest_of_file(w.directory / "ids.bin").checksum);
        CHECK_EQ(json.at("sources").at(0).at("path"), w.text.string());
        CHECK_EQ(json.at("sources").at(0).at("xxh3"), digest_of_file(w.text).checksum);
        CHECK_EQ(data.hash, data_hash(json.at("ids_xxh3"), *data.tokenizer));
        CHECK_EQ(tokenize_text(w.text, load_data(w.directory).tokenizer).hash, data.hash);
    }
}

TEST_CASE("data directory: Hugging Face's tokenizer.json next to the byte pairs") {
    const Written w(true);
    const Corpus data = load_data(w.directory);
    const Json file = Json::parse(slurp(w.directory / "tokenizer.huggingface.json"));
    const Json vocab = Json::parse(slurp(w.directory / "vocab.json"));
    CHECK(file.at("model").at("vocab") == vocab);
    std::string merges = "#version: 0.2\n";
    for (const Json& merge : file.at("model").at("merges"))
        merges += merge.get<std::string>() + "\n";
    CHECK_EQ(merges, slurp(w.directory / "merges.txt"));
    CHECK_EQ(file.at("added_tokens").at(0).at("id"), *data.tokenizer->end_of_text());
    CHECK_FALSE(std::filesystem::exists(w.directory / "tokenizer.json"));
}

TEST_CASE("data directory: not whole, not as it was, not known") {
    const Written w;
    check_message<IoError>([&] { load_data(w.scratch / "nowhere"); },
                           "nowhere': no such directory");
    const std::string ids = slurp(w.directory / "ids.bin");
    const std::string good = digest_of_file(w.directory / "ids.bin").checksum;
    flip(w.directory / "ids.bin");
    const std::string bad = digest_of_file(w.directory / "ids.bin").checksum;
    w.refused("data/ids.bin': its hash is " + bad + ", but ");
    w.refused("data/data.json lists " + good + " (changed or damaged)");
    spill(w.directory / "ids.bin", ids);
    w.set("ids", ids.size() + 1);
    w.refused(fmt::format("ids.bin': {} ids, but ", ids.size()));
    w.set("ids", ids.size());
    w.set("dtype", "u64");
    w.refused("\"dtype\" is \"u64\"; must be one of \"u8\", \"u16\", \"u32\"");
    w.set("dtype", "i64");
    w.refused("\"i64\", which no file has");
    w.set("dtype", "u8");
    w.set("format", 2);
    w.refused("data/data.json: data of format 2; this version reads 1");
    w.set("format", 1);
    const auto few = CharTokenizer::from_text("abc");  // ids out of range are found when read
    spill(w.directory / "tokenizer.json", few.to_json());
    w.refused("data': the tokenizer: its hash is " + few.hash() + ", but ");
    w.set("tokenizer_xxh3", few.hash());
    check_message<IoError>([&] { load_data(w.directory).ids.read(0, 100); },
                           "at position 0 is outside the vocabulary of 3");
    std::filesystem::remove(w.directory / "data.json");
    CHECK_FALSE(has_data(w.directory));
    w.refused("cannot read '");
}

TEST_CASE("data directory: one that failed half way is none, and can be written again") {
    const Written w;
    const std::string before = slurp(w.directory / "ids.bin");
    std::filesystem::remove(w.directory / "data.json");
    spill(w.text, sentences(200) + "\xFF");
    const auto tokenizer = CharTokenizer::from_text(sentences(200));
    check_message<IoError>(
        [&] {
            DocumentReader reader({w.text});
            write_data(w.directory, reader, tokenizer);
        },
        "not UTF-8");
    CHECK_FALSE(has_data(w.directory));
    spill(w.text, sentences(200));
    DocumentReader reader({w.text});
    write_data(w.directory, reader, tokenizer);
    CHECK_EQ(slurp(w.directory / "ids.bin"), before);
}

// ---- the cache ----------------------------------------------------------------------------------

namespace {

struct Cached {
    Cached() { spill(text, sentences(60'000)); }  // above TextCache::kLeast

    Corpus read() const { return tokenize_text(text, nullptr, &cache); }
    std::vector<std::string> entries() const {
        std::vector<std::string> names;
        for (const auto& one : std::filesystem::directory_iterator(cache.directory)) {
            names.push_back(one.path().filename());
        }
        return names;
    }

    test::Scratch scratch;
    std::filesystem::path text = scratch / "t.txt";
    mutable std::vector<std::string> warnings;
    TextCache cache{.directory = scratch / "cache/tapestry",
                    .warn = [this](const std::string& reason) { warnings.push_back(reason); }};
};

}  // namespace

TEST_CASE("text cache: a text is tokenized once, and known by what it says") {
    const Cached c;
    const Corpus first = c.read();
    REQUIRE_EQ(c.entries().size(), 1);
    const auto entry = c.cache.directory / c.entries()[0];
    const auto written = std::filesystem::last_write_time(entry / "data.json");
    const Corpus second = c.read();
    CHECK(std::filesystem::last_write_time(entry / "data.json") == written);
    const auto without = tokenize_text(c.text, nullptr);
    for (const Corpus* data : {&second, &without}) {
        CHECK_EQ(data->hash, first.hash);
        CHECK(data->ids.read(0, data->ids.size()) == first.ids.read(0, first.ids.size()));
    }
    CHECK_EQ(first.tokenizer->decode(first.ids.read(0, first.ids.size())), sentences(60'000));
    spill(c.text, sentences(60'000) + "!");
    CHECK_EQ(c.read().ids.size(), first.ids.size() + 1);
    CHECK_EQ(c.entries().size(), 2);
    tokenize_text(c.text, std::make_unique<BytePairTokenizer>(BytePairTokenizer::from_merges({})),
                  &c.cache);
    CHECK_EQ(c.entries().size(), 3);
    CHECK(c.warnings.empty());
}

TEST_CASE("text cache: a damaged entry is made anew, an unfinished one finished") {
    const Cached c;
    const Corpus first = c.read();
    const auto entry = c.cache.directory / c.entries()[0];
    flip(entry / "ids.bin");
    CHECK_EQ(c.read().hash, first.hash);
    CHECK_EQ(digest_of_file(entry / "ids.bin").checksum,
             Json::parse(slurp(entry / "data.json"))["ids_xxh3"]);
    std::filesystem::remove(entry / "data.json");
    CHECK_EQ(c.read().hash, first.hash);
    CHECK(has_data(entry));
    CHECK(c.warnings.empty());
}

TEST_CASE("text cache: the oldest goes first, and a text in use stays readable") {
    Cached c;
    const Corpus first = c.read();
    const auto age = [&](const std::string& name, int hours) {
        std::filesystem::last_write_time(
            c.cache.directory / name,
            std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
    };
    const std::string oldest = c.entries()[0];
    age(oldest, 2);
    spill(c.text, sentences(60'001));
    c.read();
    CHECK_EQ(c.entries().size(), 2);
    c.cache.max_bytes = 4'000'000;  // for two of them
    spill(c.text, sentences(60'002));
    const Corpus third = c.read();
    CHECK_EQ(c.entries().size(), 2);
    CHECK_FALSE(std::filesystem::exists(c.cache.directory / oldest));
    CHECK_EQ(first.tokenizer->decode(first.ids.read(0, 8)), "The cat ");
    c.cache.max_bytes = 1'000'000;  // too small for any: not kept, without a warning
    spill(c.text, sentences(60'003));
    CHECK_EQ(c.read().ids.size(), third.ids.size() + 31);
    CHECK_EQ(c.entries().size(), 2);
    CHECK(c.warnings.empty());
}

TEST_CASE("text cache: what changed while it was read is not kept as what it was before") {
    const Cached c;
    DocumentReader reader({c.text});
    const auto tokenizer = CharTokenizer::from_text(sentences(60'000));
    check_message<IoError>(
        [&] { keep_tokenized(c.cache, checksum_of("before"), reader, tokenizer, true); },
        "t.txt: it changed while it was read");
    CHECK(c.entries().empty());
}

TEST_CASE("text cache: where nothing can be kept, the text is read all the same") {
    const Cached c;
    const std::string hash = tokenize_text(c.text, nullptr).hash;
    spill(c.scratch / "cache", "a file");
    CHECK_EQ(c.read().hash, hash);
    REQUIRE_EQ(c.warnings.size(), 1);
    CHECK(c.warnings[0].find("cannot create directory") != std::string::npos);
    spill(c.text, sentences(60'000) + "\xFF");  // the text's fault is no fault of the cache
    check_message<IoError>([&] { c.read(); }, "not UTF-8 at byte");
    CHECK_EQ(c.warnings.size(), 1);
    spill(c.text, sentences(10));  // short texts are never kept
    CHECK_EQ(c.read().ids.size(), sentences(10).size());
    CHECK_EQ(c.warnings.size(), 1);
}

TEST_CASE("text cache: a long text without one is in a file without a name, or in memory") {
    const test::Scratch scratch;
    std::string text;
    while (text.size() < (std::size_t{1} << 24)) text += "seventeen million bytes of text\n";
    spill(scratch / "t", text);
    std::optional<std::string> usual;
    if (const char* set = std::getenv("TMPDIR")) usual = set;
    for (const char* place : {"/var/tmp", "/nowhere/to/be/found"}) {
        ::setenv("TMPDIR", place, 1);
        const Corpus data = tokenize_text(scratch / "t", nullptr);
        CHECK_EQ(data.ids.size(), text.size());
        CHECK_EQ(data.tokenizer->decode(data.ids.read(data.ids.size() - 8, 8)), "of text\n");
        CHECK_EQ(data.tokenizer->decode(data.ids.read(0, 9)), "seventeen");
    }
    usual ? ::setenv("TMPDIR", usual->c_str(), 1) : ::unsetenv("TMPDIR");
}
