// Tokens that a directory of Hugging Face's declares, kept in our format, in exports, in data and
// in caches; and which of its tokenizer's files count.
#include <tapestry/nn/chat/jinja.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/tokenizers/json_tokenizer.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>

using namespace tapestry;
using test::check_message;
using test::Scratch;
using test::slurp;
using test::spill;
using Ids = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

const fs::path kFixtures = test::source_dir() / "tests/fixtures";

fs::path copy_of(const Scratch& scratch, const char* fixture, const Strings& files) {
    fs::create_directory(scratch / "base");
    for (const std::string& name : files) {
        fs::copy_file(kFixtures / fixture / name, scratch / "base" / name);
    }
    return scratch / "base";
}

// The fixture's Llama, with "[EOS]", which no model's tokenizer is known to have, as its end.
fs::path llama_with_end(const Scratch& scratch) {
    const fs::path base =
        copy_of(scratch, "llama", {"config.json", "model.safetensors", "tokenizer.json"});
    Json rules = Json::parse(slurp(base / "tokenizer.json"));
    Json mark = rules["added_tokens"][0];
    mark["id"] = 376;
    mark["content"] = "[EOS]";
    rules["added_tokens"].push_back(mark);
    spill(base / "tokenizer.json", rules.dump());
    Json config = Json::parse(slurp(base / "config.json"));
    config["eos_token_id"] = 376;
    spill(base / "config.json", config.dump());
    return base;
}

void change(const fs::path& file, const std::function<void(Json&)>& how) {
    Json json = Json::parse(slurp(file));
    how(json);
    spill(file, json.dump());
}

Ids all_of(const Corpus& corpus) { return corpus.ids.read(0, corpus.ids.size()); }

}  // namespace

TEST_CASE("declared tokens: padding, unknown and additional ones stay with a model") {
    const Scratch scratch;
    const fs::path base = llama_with_end(scratch);
    spill(base / "tokenizer_config.json",
          R"({"pad_token": {"content": "<|im_end|>"}, "unk_token": null})");
    spill(base / "special_tokens_map.json",
          R"({"pad_token": "other", "unk_token": "[EOS]",)"
          R"( "additional_special_tokens": ["<|im_start|>", {"content": "<|im_end|>"}]})");
    spill(base / "generation_config.json", R"({"pad_token_id": 2})");
    const LoadedModel loaded = load_model(base);
    const auto check = [](const TextConventions& kept) {
        CHECK(kept.pad == 2);
        CHECK(kept.pad_token == "<|im_end|>");
        CHECK(kept.unk_token == "[EOS]");
        CHECK(kept.additional_tokens == Strings{"<|im_start|>", "<|im_end|>"});
    };
    check(loaded.conventions);
    save_model(scratch / "ours", *loaded.model, *loaded.tokenizer, loaded.conventions);
    check(load_model(scratch / "ours").conventions);
    export_hugging_face(scratch / "theirs", *loaded.model, loaded.tokenizer.get(),
                        load_model(scratch / "ours").conventions);
    check(load_model(scratch / "theirs").conventions);
    const Json settings = Json::parse(slurp(scratch / "theirs/tokenizer_config.json"));
    CHECK(settings["pad_token"] == "<|im_end|>");
    CHECK(settings["unk_token"] == "[EOS]");
    CHECK(settings["additional_special_tokens"] == Json{"<|im_start|>", "<|im_end|>"});
    CHECK(settings["eos_token"] == "[EOS]");
    CHECK(Json::parse(slurp(scratch / "theirs/config.json"))["pad_token_id"] == 2);

    // config.json's id counts first, and transformers 5 has another name for the additional ones.
    change(base / "config.json", [](Json& json) { json["pad_token_id"] = 1; });
    spill(base / "tokenizer_config.json", R"({"extra_special_tokens": ["a", "b"]})");
    fs::remove(base / "special_tokens_map.json");
    CHECK(load_model(base).conventions.pad == 1);
    CHECK(load_model(base).conventions.additional_tokens == Strings{"a", "b"});
    spill(base / "tokenizer_config.json", R"({"extra_special_tokens": {"image": "<i>"}})");
    CHECK(load_model(base).conventions.additional_tokens.empty());
    spill(base / "tokenizer_config.json", R"({"pad_token": 3})");
    check_message<IoError>([&] { load_model(base); },
                           "\"pad_token\" is neither a text nor an object with its \"content\"");
}

TEST_CASE("declared tokens: a template gets those that the tokenizer names, not config.json's") {
    const Scratch scratch;
    const fs::path base = llama_with_end(scratch);
    change(base / "config.json", [](Json& config) {
        config["bos_token_id"] = 1;
        config["eos_token_id"] = {0, 376};
    });
    const auto written = [&] {
        const LoadedModel loaded = load_model(base);
        const TextConventions& from = loaded.conventions;
        const ChatTemplate chat =
            chosen_template(from, *loaded.tokenizer, "{{ bos_token }}{{ eos_token }}");
        return chat.bos_token + " " + chat.eos_token;
    };
    CHECK(written() == "<|im_start|> <|endoftext|>");
    spill(base / "tokenizer_config.json", R"({"bos_token": "[EOS]", "eos_token": "[EOS]"})");
    CHECK(written() == "[EOS] [EOS]");
    CHECK(load_model(base).conventions.eos == Ids{376, 0});
    spill(base / "tokenizer_config.json", R"({"bos_token": null, "eos_token": "two words"})");
    CHECK(written() == "<|im_start|> <|endoftext|>");
}

TEST_CASE("declared tokens: settings of sampling stay with a model, for transformers") {
    const Scratch scratch;
    const fs::path base = llama_with_end(scratch);
    spill(base / "generation_config.json",
          R"({"_from_model_config": true, "do_sample": true, "eos_token_id": [376, 2], "x": null,)"
          R"( "stop_strings": ["a\n"], "temperature": 0.2, "transformers_version": "4.42"})");
    const nlohmann::json kept = {{"bos_token_id", 0},
                                 {"do_sample", true},
                                 {"eos_token_id", {376, 2}},
                                 {"stop_strings", {"a\n"}},
                                 {"temperature", 0.2}};
    const LoadedModel loaded = load_model(base);
    save_model(scratch / "ours", *loaded.model, *loaded.tokenizer, loaded.conventions);
    for (const char* name : {"base", "ours"}) {
        CAPTURE(name);
        const LoadedModel one = load_model(scratch / name);
        const fs::path out = scratch / "theirs" / name;
        export_hugging_face(out, *one.model, one.tokenizer.get(), one.conventions);
        CHECK(nlohmann::json::parse(slurp(out / "generation_config.json")) == kept);
        CHECK(load_model(out).conventions.generation == loaded.conventions.generation);
    }
    spill(base / "generation_config.json", "[]");
    check_message<IoError>([&] { load_model(base); }, "generation_config.json");
}

TEST_CASE("declared tokens: templates by name, and one for conversations with tools") {
    const Scratch scratch;
    const fs::path base = llama_with_end(scratch);
    const auto program = [&] { return load_model(base).conventions.chat_template; };
    const auto written = [&](bool has_tools) {
        const jinja::Value tools = has_tools ? jinja::Value(jinja::List{"t"}) : jinja::None();
        return jinja::Program(program()).run({{"tools", tools}});
    };
    const Json usual = {{"name", "default"}, {"template", "  usual\n"}};
    const Json with_tools = {{"name", "tool_use"}, {"template", "\n{{ tools[0] }}\n "}};
    const auto settings = [&](const Json& list) {
        spill(base / "tokenizer_config.json", Json{{"chat_template", list}}.dump());
    };
    settings(Json::array({with_tools, usual}));
    CHECK(written(false) == "  usual\n");
    CHECK(written(true) == "\nt\n ");
    settings(Json::array({usual}));
    CHECK(program() == "  usual\n");
    settings(Json::array({with_tools}));
    CHECK(program().empty());
    // As transformers writes them today.
    spill(base / "chat_template.jinja", "file");
    CHECK(program() == "file");
    fs::create_directory(base / "additional_chat_templates");
    spill(base / "additional_chat_templates/tool_use.jinja", "{{ tools[0] }} file");
    CHECK(written(false) == "file");
    CHECK(written(true) == "t file");
}

TEST_CASE("declared tokens: a GPT-2's tokenizer.json counts before vocab.json and merges.txt") {
    const Scratch scratch;
    const fs::path base =
        copy_of(scratch, "gpt2", {"config.json", "model.safetensors", "vocab.json", "merges.txt"});
    const LoadedModel pairs = load_model(base);
    tokenize_files((scratch / "data").string(),
                   {.texts = {(base / "merges.txt").string()}, .tokenizer = base.string()});
    Json rules = Json::parse(slurp(scratch / "data/tokenizer.huggingface.json"));
    Json mark = rules["added_tokens"][0];
    mark["id"] = 377;
    mark["content"] = "<pad>";
    rules["added_tokens"].push_back(mark);
    spill(base / "tokenizer.json", rules.dump());
    check_message<IoError>([&] { load_model(base); }, "the tokenizer has 378 tokens");
    rules["added_tokens"].back()["id"] = 33;  // a token of the vocabulary
    rules["added_tokens"].back()["content"] = "!";
    spill(base / "tokenizer.json", rules.dump());
    const LoadedModel loaded = load_model(base);
    CHECK(loaded.tokenizer->kind() == "json");
    CHECK(loaded.tokenizer->end_of_text() == 376);
    CHECK(loaded.tokenizer->encode("the cat's, 42") == pairs.tokenizer->encode("the cat's, 42"));
    export_hugging_face(scratch / "theirs", *loaded.model, loaded.tokenizer.get(),
                        loaded.conventions);
    CHECK(load_model(scratch / "theirs").tokenizer->hash() == loaded.tokenizer->hash());

    // Its ByteLevel would put a space before each text; within a sequence it would not.
    spill(base / "tokenizer_config.json", R"({"add_prefix_space": true})");
    check_message<IoError>([&] { load_model(base); },
                           "tokenizer_config.json: \"add_prefix_space\" is true");
    const Json level = rules["pre_tokenizer"];
    rules["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", Json::array({level})}};
    spill(base / "tokenizer.json", rules.dump());
    CHECK(load_model(base).tokenizer->encode("the cat") == pairs.tokenizer->encode("the cat"));
}

TEST_CASE("declared tokens: tokenizer_config.json must agree with tokenizer.json") {
    const Scratch scratch;
    const fs::path base = llama_with_end(scratch);
    const auto with = [&](const Json& tokens) {
        spill(base / "tokenizer_config.json", Json{{"added_tokens_decoder", tokens}}.dump());
        return load_model(base).tokenizer->vocab_size();
    };
    CHECK(with({{"1", {{"content", "<|im_start|>"}}}, {"376", {{"content", "[EOS]"}}}}) == 377);
    const auto refused = [&](const char* id, const char* text, const char* words) {
        const Json token = {{"content", text}};
        check_message<IoError>([&] { with({{id, token}}); }, words);
    };
    refused("1", "<|im_end|>",
            "tokenizer_config.json: \"added_tokens_decoder\" says that token 1 is '<|im_end|>'; in "
            "tokenizer.json it is '<|im_start|>' (");
    refused("377", "<tool>", "token 377 is '<tool>'; in tokenizer.json it is missing");
    refused("376", "<tool>", "token 376 is '<tool>'; in tokenizer.json it is '[EOS]'");
    refused("x", "<tool>", "token x is '<tool>'; in tokenizer.json it is missing");
    check_message<IoError>([&] { with({{"1", Json::object()}}); }, "\"added_tokens_decoder\": ");
    check_message<IoError>([&] { with("text"); }, "\"added_tokens_decoder\": ");
}

TEST_CASE("declared tokens: the end that a directory declares stays with tokenized texts") {
    const test::RunPlace place;
    const fs::path base = llama_with_end(place.scratch);
    spill(place.scratch / "t.jsonl",
          "{\"text\": \"the cat the hat, 0123456789 and again 0123456789\"}\n{\"text\": \"a "
          "hat\"}\n");
    const std::string out = (place.scratch / "data").string();
    tokenize_files(out,
                   {.texts = {(place.scratch / "t.jsonl").string()}, .tokenizer = base.string()});
    const Corpus data = load_data(out);
    CHECK(data.tokenizer->declared_ends() == Ids{376});
    CHECK(data.tokenizer->end_of_text() == 376);
    const Ids ids = all_of(data);
    CHECK(std::count(ids.begin(), ids.end(), 376) == 1);
    CHECK(std::count(ids.begin(), ids.end(), 0) == 0);

    // More texts with the tokenizer of the data, and a new model of it, saved and resumed.
    tokenize_files(out + "2", {.texts = {(place.scratch / "t.jsonl").string()}, .tokenizer = out});
    CHECK(all_of(load_data(out + "2")) == ids);
    TrainingConfig config = place.config();
    config.text.clear();
    config.data = out;
    config.model.context = 2;
    config.steps = 2;
    test::train_on(place.out, config, {}, 2, {});
    CHECK(load_tokenizer(place.out)->declared_ends() == Ids{376});
    CHECK(load_text_conventions(place.out).eos == Ids{376});

    // A model to begin with declares its own.
    config.start = base.string();
    config.sequence = 2;
    CHECK(Session(config).tokenizer().declared_ends() == Ids{376});
    change(base / "config.json", [](Json& json) { json["eos_token_id"] = {0, 376}; });
    CHECK(Session(config).tokenizer().declared_ends() == Ids{0, 376});
}

TEST_CASE("declared tokens: texts with other ends between documents are cached separately") {
    const Scratch scratch;
    const fs::path base = llama_with_end(scratch);
    spill(scratch / "t.jsonl", "{\"text\": \"the cat\"}\n{\"text\": \"hat\"}\n");
    const TextCache cache{.directory = scratch / "cache"};
    const auto corpus_of = [&](const Ids& ends) {
        auto tokenizer = JsonTokenizer::from_json(slurp(base / "tokenizer.json"), "t.json");
        tokenizer.declare_ends(ends);
        DocumentReader first({scratch / "t.jsonl"}, {.field = "text"});
        while (first.next()) {
        }
        const std::string hash = hash_of_text(first.sources());
        DocumentReader reader({scratch / "t.jsonl"}, {.field = "text"});
        if (auto found = find_tokenized(cache, hash, &tokenizer)) return std::move(*found);
        return keep_tokenized(cache, hash, reader, tokenizer, false);
    };
    for (int round = 0; round < 2; ++round) {
        for (const std::int64_t end : {0, 376}) {
            const Corpus corpus = corpus_of({end});
            const Ids ids = all_of(corpus);
            CHECK(std::count(ids.begin(), ids.end(), end) == 1);
            CHECK(corpus.tokenizer->declared_ends() == Ids{end});
        }
    }
}
