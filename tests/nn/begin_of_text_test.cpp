// The token that begins each text of models that were trained with one: which files of a directory
// ask for it, and where it is added.
#include <tapestry/core/create.h>
#include <tapestry/nn/chat/chat_encoder.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/tokenizers/json_tokenizer.h>
#include <tapestry/nn/train/text_task.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace tapestry;
using test::check_message;
using test::Scratch;
using test::slurp;
using test::spill;
using Ids = std::vector<std::int64_t>;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

const fs::path kFixtures = test::source_dir() / "tests/fixtures";
constexpr std::int64_t kBegin = 376;  // "<s>"; the fixture has the ids before it

Json token(const char* text) { return {{"SpecialToken", {{"id", text}, {"type_id", 0}}}}; }
Json part(const char* name) { return {{"Sequence", {{"id", name}, {"type_id", 0}}}}; }

Json known(const char* text, const Ids& ids) {
    return {{"id", text}, {"ids", ids}, {"tokens", {text}}};
}

Json template_of(const Json& single) {
    return {{"type", "TemplateProcessing"},
            {"single", single},
            {"pair", {part("A"), part("B")}},
            {"special_tokens",
             {{"<s>", known("<s>", {kBegin})},
              {"<|endoftext|>", known("<|endoftext|>", {0})},
              {"twice", known("twice", {kBegin, 1})}}}};
}

Json begins() { return template_of({token("<s>"), part("A")}); }

const Json kByteLevel{{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}};

Json sequence_of(const Json& processors) {
    return {{"type", "Sequence"}, {"processors", processors}};
}

// The fixture's tokenizer.json with "<s>".
Json rules_with(const Json& post_processor) {
    Json rules = Json::parse(slurp(kFixtures / "llama/tokenizer.json"));
    Json mark = rules["added_tokens"][0];
    mark["id"] = kBegin;
    mark["content"] = "<s>";
    rules["added_tokens"].push_back(mark);
    rules["post_processor"] = post_processor;
    return rules;
}

JsonTokenizer tokenizer_with(const Json& post_processor) {
    return JsonTokenizer::from_json(rules_with(post_processor).dump(), "t.json");
}

// The fixture's Llama with this post-processor and tokenizer_config.json.
fs::path directory_with(const Scratch& scratch, const Json& post_processor,
                        const Json& settings = {}) {
    fs::path directory = scratch / "base";
    fs::create_directory(directory);
    for (const char* name : {"config.json", "model.safetensors"}) {
        fs::copy_file(kFixtures / "llama" / name, directory / name);
    }
    spill(directory / "tokenizer.json", rules_with(post_processor).dump());
    if (!settings.is_null()) spill(directory / "tokenizer_config.json", settings.dump());
    return directory;
}

std::optional<std::int64_t> first_of(const fs::path& directory) {
    return load_model(directory).tokenizer->begin_of_text();
}

Ids joined(std::initializer_list<Ids> parts) {
    Ids all;
    for (const Ids& each : parts) all.insert(all.end(), each.begin(), each.end());
    return all;
}

Ids all_of(const Corpus& corpus) { return corpus.ids.read(0, corpus.ids.size()); }

}  // namespace

TEST_CASE("begin of text: the token that a post-processor puts before a text") {
    const Json pieces{token("<s>"), part("A"), token("<|endoftext|>")};
    for (const Json& one : {begins(), template_of(pieces), sequence_of({kByteLevel, begins()})}) {
        CAPTURE(one.dump());
        const JsonTokenizer tokenizer = tokenizer_with(one);
        CHECK(tokenizer.begin_of_text() == kBegin);
        CHECK(tokenizer.beginning() == kBegin);
        const Ids text = tokenizer.encode("the cat");
        CHECK(text == tokenizer_with(nullptr).encode("the cat"));
        Ids ids = text;
        tokenizer.begin_text(ids);
        CHECK(ids == joined({{kBegin}, text}));
        tokenizer.begin_text(ids);
        CHECK(ids == joined({{kBegin}, text}));
        tokenizer.begin_text(ids, ids.size());
        CHECK(ids == joined({{kBegin}, text, {kBegin}}));
    }
    const Json ends{part("A"), token("<|endoftext|>")};
    for (const Json& one : {Json(), kByteLevel, template_of(Json::array({part("A")})),
                            template_of(ends), sequence_of({kByteLevel, kByteLevel})}) {
        CAPTURE(one.dump());
        const JsonTokenizer tokenizer = tokenizer_with(one);
        CHECK_FALSE(tokenizer.begin_of_text().has_value());
        Ids ids;
        tokenizer.begin_text(ids);
        CHECK(ids.empty());
    }
    const Json two{token("<s>"), token("<|endoftext|>"), part("A")},
        unknown{token("<x>"), part("A")};
    Json outside = begins();
    outside["special_tokens"]["<s>"]["ids"] = {5000};
    for (const auto& [one, words] : std::vector<std::pair<Json, const char*>>{
             {template_of(two), "t.json: the post_processor puts 2 tokens before a text"},
             {template_of({token("twice"), part("A")}), "puts 2 tokens before a text"},
             {sequence_of({begins(), begins()}), "puts 2 tokens before a text"},
             {template_of(unknown), "<x>"},
             {outside, "t.json: the post_processor puts the id 5000 before a text"}}) {
        check_message<ValueError>([&, &given = one] { tokenizer_with(given); }, words);
    }
}

TEST_CASE("begin of text: once in each document, also of one that comes in pieces") {
    const Scratch scratch;
    const auto given = [] { return std::make_unique<JsonTokenizer>(tokenizer_with(begins())); };
    const auto tokenizer = given();
    const Ids cat = tokenizer->encode("the cat"), hat = tokenizer->encode(" hat");
    spill(scratch / "t.jsonl", R"({"text": "the cat"})"
                               "\n"
                               R"({"text": "<s> hat"})"
                               "\n");
    CHECK(all_of(tokenize_text(scratch / "t.jsonl", given())) ==
          joined({{kBegin}, cat, {0, kBegin}, hat}));

    std::string text;
    while (text.size() < 1'200'000) text += "the cat sat on the mat. ";
    spill(scratch / "t.txt", text);
    const Corpus corpus = tokenize_text(scratch / "t.txt", given());
    CHECK(corpus.ids.read(0, 4) == joined({{kBegin}, Ids(cat.begin(), cat.begin() + 3)}));
    const Ids ids = all_of(corpus);
    CHECK(std::count(ids.begin(), ids.end(), kBegin) == 1);
    CHECK(std::ssize(ids) == std::ssize(tokenizer->encode(text)) + 1);
}

TEST_CASE("begin of text: of training data, prompts and examples") {
    const test::RunPlace place;
    const fs::path base = directory_with(place.scratch, begins());
    TrainingConfig config;
    config.text = place.text.string();
    config.start = base.string();
    config.sequence = 8;
    const Session session(config);
    const Tokenizer& tokenizer = session.tokenizer();
    const Ids text = tokenizer.encode(slurp(place.text));
    const auto& task = dynamic_cast<const TextTask&>(session.task());
    CHECK(all_of(task.corpus()) == joined({{kBegin}, text}));

    const ChatEncoder encoder(chosen_template({}, tokenizer), tokenizer);
    const ChatTokens example = encoder.encode("the", " cat");
    CHECK(example.ids ==
          joined({{kBegin}, tokenizer.encode("the"), tokenizer.encode(" cat"), {0}}));
    CHECK(example.is_target.size() == example.ids.size());
    CHECK(std::find(example.is_target.begin(), example.is_target.end(), 1) -
              example.is_target.begin() ==
          std::ssize(tokenizer.encode("the")) + 1);
    CHECK(encoder.encode("<s>the", " cat").ids == example.ids);
    CHECK(encoder.encode("", " cat").ids == joined({{kBegin}, tokenizer.encode(" cat"), {0}}));
    const std::vector<ChatMessage> messages{{"user", "a"}, {"assistant", "b"}};
    CHECK(encoder.encode(messages).ids ==
          joined({{kBegin}, tokenizer.encode("User: a\nAssistant:"), tokenizer.encode(" b"), {0}}));

    const LoadedModel loaded = load_model(base);
    const auto written = [&](const std::string& prompt) {
        Generator generator(1);
        const std::string all = sample_text(*loaded.model, *loaded.tokenizer, prompt,
                                            {.tokens = 6, .past_end = true}, generator);
        return all.substr(prompt.size());
    };
    Generator generator(1);
    const Ids prompt = joined({{kBegin}, tokenizer.encode("the cat")});
    StreamDecoder drawn(tokenizer);
    std::string wanted;
    for (const std::int64_t id : sample(*loaded.model, prompt, {.tokens = 6}, generator)) {
        wanted += drawn.next(id);
    }
    wanted += drawn.finish();
    CHECK(written("the cat") == wanted);
    CHECK(written("<s>the cat") == wanted);
}

TEST_CASE("begin of text: add_bos_token, with the classes of transformers that heed it") {
    struct Asked {
        Json processor;
        const char* tokenizer_class;
        Json adds, bos;
        bool begins;
    };
    const Json object{{"content", "<s>"}};
    const Json ends = template_of({part("A"), token("<|endoftext|>")});
    for (const Asked& one : std::vector<Asked>{
             {nullptr, "LlamaTokenizerFast", true, "<s>", true},
             {nullptr, "LlamaTokenizer", true, object, true},
             {kByteLevel, "GemmaTokenizer", true, "<s>", true},
             {sequence_of(Json::array({kByteLevel})), "CohereTokenizerFast", true, "<s>", true},
             {ends, "GPTNeoXTokenizerFast", true, "<s>", true},
             {begins(), "LlamaTokenizerFast", true, "<s>", true},
             {begins(), "PreTrainedTokenizerFast", false, "<s>", true},
             {begins(), "LlamaTokenizerFast", nullptr, "<s>", true},
             {begins(), "LlamaTokenizerFast", false, "<s>", false},
             {sequence_of({kByteLevel, begins()}), "LlamaTokenizer", false, "<s>", false},
             {nullptr, "LlamaTokenizerFast", true, nullptr, false},
             {nullptr, "LlamaTokenizerFast", true, "no token", false},
             {nullptr, "LlamaTokenizerFast", false, "<s>", false},
             {nullptr, "Qwen2Tokenizer", true, "<s>", false}}) {
        CAPTURE(one.processor.dump());
        CAPTURE(one.tokenizer_class);
        CAPTURE(one.adds.dump());
        const Json settings{{"tokenizer_class", one.tokenizer_class},
                            {"add_bos_token", one.adds},
                            {"bos_token", one.bos}};
        const Scratch scratch;
        const fs::path base = directory_with(scratch, one.processor, settings);
        const LoadedModel loaded = load_model(base);
        const auto wanted = one.begins ? std::optional(kBegin) : std::nullopt;
        CHECK(loaded.tokenizer->begin_of_text() == wanted);
        CHECK(loaded.tokenizer->encode("the cat") == tokenizer_with(nullptr).encode("the cat"));
        // Kept in our format, in an export, and in data.
        save_model(scratch / "ours", *loaded.model, *loaded.tokenizer, loaded.conventions);
        CHECK(first_of(scratch / "ours") == wanted);
        export_hugging_face(scratch / "theirs", *loaded.model, loaded.tokenizer.get(),
                            loaded.conventions);
        CHECK(first_of(scratch / "theirs") == wanted);
        spill(scratch / "t.txt", "the cat");
        tokenize_files(scratch / "data",
                       {.texts = {scratch / "t.txt"}, .tokenizer = base.string()});
        CHECK(load_data(scratch / "data").tokenizer->begin_of_text() == wanted);
        CHECK(all_of(load_data(scratch / "data")).front() ==
              wanted.value_or(loaded.tokenizer->encode("the cat").front()));
    }
}

TEST_CASE("begin of text: what an exported tokenizer.json makes other programs add") {
    const Scratch scratch;
    const Json ends = template_of({part("A"), token("<|endoftext|>")});
    const Json settings{{"tokenizer_class", "LlamaTokenizerFast"}, {"add_bos_token", true}};
    const fs::path base = directory_with(scratch, sequence_of({kByteLevel, ends}), settings);
    spill(base / "special_tokens_map.json", R"({"bos_token": {"content": "<s>"}})");
    const LoadedModel loaded = load_model(base);
    export_hugging_face(scratch / "out", *loaded.model, loaded.tokenizer.get(), loaded.conventions);
    const nlohmann::json is = nlohmann::json::parse(slurp(scratch / "out/tokenizer.json"));
    nlohmann::json rules = rules_with(sequence_of({kByteLevel, ends}));
    nlohmann::json& processor = rules["post_processor"]["processors"][1];
    processor["single"] = {token("<s>"), part("A"), token("<|endoftext|>")};
    processor["pair"] = {token("<s>"), part("A"), part("B")};
    CHECK(is == rules);
    CHECK(Json::parse(slurp(scratch / "out/tokenizer_config.json"))["bos_token"] == "<s>");

    // A template without a list of tokens gets a list; an ill-formed template is named.
    Json bare = rules_with(ends);
    bare["post_processor"]["single"] = Json::array({part("A")});
    bare["post_processor"].erase("special_tokens");
    spill(base / "tokenizer.json", bare.dump());
    CHECK(first_of(base) == kBegin);
    bare["post_processor"]["pair"] = 1;
    spill(base / "tokenizer.json", bare.dump());
    check_message<IoError>([&] { load_model(base); },
                           "tokenizer_config.json: \"add_bos_token\": expected a list");

    // One that needs no change is the file itself.
    const Scratch other;
    const fs::path same = directory_with(other, begins(), settings);
    const LoadedModel again = load_model(same);
    export_hugging_face(other / "out", *again.model, again.tokenizer.get(), again.conventions);
    CHECK(slurp(other / "out/tokenizer.json") == slurp(same / "tokenizer.json"));
}

TEST_CASE("begin of text: add_bos_token of GPT-2's vocab.json and merges.txt") {
    const Scratch scratch;
    fs::create_directory(scratch / "base");
    for (const char* name : {"config.json", "model.safetensors", "vocab.json", "merges.txt"}) {
        fs::copy_file(kFixtures / "gpt2" / name, scratch / "base" / name);
    }
    const Ids text = load_model(scratch / "base").tokenizer->encode("the cat's<|endoftext|>");
    CHECK_FALSE(first_of(scratch / "base").has_value());
    spill(scratch / "base/tokenizer_config.json",
          R"({"add_bos_token": true, "bos_token": "<|endoftext|>"})");
    const LoadedModel loaded = load_model(scratch / "base");
    CHECK(loaded.tokenizer->begin_of_text() == 376);
    CHECK(loaded.tokenizer->encode("the cat's<|endoftext|>") == text);
    save_model(scratch / "ours", *loaded.model, *loaded.tokenizer, loaded.conventions);
    CHECK(first_of(scratch / "ours") == 376);
}

TEST_CASE("begin of text: ids that an older version made without it are not taken") {
    const Scratch scratch;
    spill(scratch / "t.txt", "the cat");
    spill(scratch / "tokenizer.json", rules_with(begins()).dump());
    const JsonTokenizer tokenizer = tokenizer_with(begins());
    const auto make_old = [](const fs::path& data) {
        Json json = Json::parse(slurp(data / "data.json"));
        CHECK(json.erase("bos_token_id") == 1);
        spill(data / "data.json", json.dump());
    };
    const fs::path out = scratch / "data";
    tokenize_files(out, {.texts = {scratch / "t.txt"}, .tokenizer = scratch / "tokenizer.json"});
    CHECK(load_data(out).ids.read(0, 1) == Ids{kBegin});
    make_old(out);
    check_message<IoError>([&] { load_data(out); },
                           "data.json: the texts lack the token '<s>' (id 376) that the tokenizer "
                           "puts before each of them");
    CHECK(load_data_tokenizer(out)->begin_of_text() == kBegin);

    const TextCache cache{.directory = scratch / "cache"};
    DocumentReader reader({scratch / "t.txt"});
    while (reader.next()) {
    }
    const std::string hash = hash_of_text(reader.sources());
    const auto keep = [&] {
        DocumentReader again({scratch / "t.txt"});
        keep_tokenized(cache, hash, again, tokenizer, false);
    };
    keep();
    CHECK(find_tokenized(cache, hash, &tokenizer).has_value());
    for (const auto& entry : fs::directory_iterator(cache.directory)) make_old(entry.path());
    CHECK_FALSE(find_tokenized(cache, hash, &tokenizer).has_value());
    keep();
    CHECK(find_tokenized(cache, hash, &tokenizer).has_value());
}
