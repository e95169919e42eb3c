// Fine-tuning at the command line: directories, examples and adapters that do not fit are refused
// in one line, before anything is written; int8 runs find their base.
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>

using namespace tapestry::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kLlama = source_dir() / "tests/fixtures/llama";
const fs::path kLora = source_dir() / "tests/fixtures/lora";

void copy_files(const fs::path& from, const fs::path& to, const std::vector<const char*>& names) {
    fs::create_directories(to);
    for (const char* name : names) {
        fs::copy_file(from / name, to / name, fs::copy_options::overwrite_existing);
    }
}

void change(const fs::path& file, const std::function<void(Json&)>& f) {
    Json json = Json::parse(slurp(file));
    f(json);
    spill(file, json.dump());
}

// A small Llama in m, an adapter of it in a, and what to learn from.
struct TuningPlace : Place {
    TuningPlace() {
        restore();
        spill(*this / "t.txt", simple_text());
        spill(*this / "c.jsonl",
              "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", "
              "\"content\": \"yes\"}]}\n"
              "{\"messages\": [{\"role\": \"user\", \"content\": \"b\"}]}\n");
    }
    void restore() const {
        fs::remove_all(*this / "m");
        fs::remove_all(*this / "a");
        copy_files(kLlama, *this / "m", {"config.json", "model.safetensors", "tokenizer.json"});
        copy_files(kLora, *this / "a", {"adapter_config.json", "adapter_model.safetensors"});
    }
    void refused(const Arguments& arguments, const std::string& words) const {
        const Outcome outcome = run(arguments);
        check_refused(outcome, words);
        CHECK_FALSE(fs::exists(*this / "x/model.safetensors"));
        CHECK(outcome.peak_kilobytes < 300'000);
    }
};

Arguments tuning(const Arguments& more, const char* out = "x", const char* steps = "4") {
    return Arguments{"train", "--model",    "m",    "--lora",   "2", "--steps",
                     steps,   "--out",      out,    "--batch",  "2", "--lr",
                     "0.01",  "--min-lr",   "0.01", "--warmup", "0", "--eval-every",
                     "2",     "--no-report"} +
           more;
}

const Arguments kOnText{"--text", "t.txt"};

}  // namespace

TEST_CASE("cli fine-tuning: a directory that does not fit together is one line") {
    const TuningPlace place;
    const auto spoilt = [&](const std::function<void(const fs::path&)>& spoil,
                            const std::string& words) {
        CAPTURE(words);
        place.restore();
        spoil(place / "m");
        place.refused(tuning(kOnText), words);
        place.refused({"sample", "--model", "m", "--prompt", "a"}, words);
        place.refused({"merge", "--model", "m", "--adapter", "a", "--out", "x"}, words);
    };
    spoilt(
        [](const fs::path& m) {
            change(m / "tokenizer.json", [](Json& tokenizer) {
                Json& vocab = tokenizer["model"]["vocab"];
                for (int i = 0; i < 20; ++i) vocab["other" + std::to_string(i)] = 400 + i;
            });
        },
        "m: the tokenizer has ");
    spoilt(
        [](const fs::path& m) {
            change(m / "tokenizer.json",
                   [](Json& tokenizer) { tokenizer["model"]["merges"].push_back("qqq zzz"); });
        },
        "m/tokenizer.json: byte pairs: 'qqq', 'zzz' and both together are not all tokens");
    spoilt(
        [](const fs::path& m) {
            change(m / "config.json", [](Json& config) { config["intermediate_size"] = 48; });
        },
        "m/model.safetensors: tensor \"model.layers.0.mlp.down_proj.weight\" is f32 [24, 40]; the "
        "configuration needs f32 [24, 48]");
    spoilt(
        [](const fs::path& m) {
            change(m / "config.json",
                   [](Json& config) { config["num_hidden_layers"] = 1'000'000'000; });
        },
        "m/config.json: the configuration needs 4464000009240 parameters, but ");
    spoilt(
        [](const fs::path& m) {
            fs::rename(m / "model.safetensors", m / "model-00001-of-00002.safetensors");
            const Json map{{"model.norm.weight", "model-00002-of-00002.safetensors"}};
            spill(m / "model.safetensors.index.json", Json{{"weight_map", map}}.dump());
        },
        "m/model.safetensors.index.json: the shard model-00002-of-00002.safetensors is missing");
    spoilt(
        [](const fs::path& m) {
            fs::remove(m / "model.safetensors");
            spill(m / "pytorch_model.bin", std::string("\x80\x02}q.", 5));
        },
        "m: found pytorch_model.bin, but only model.safetensors and its shards are supported "
        "(transformers writes them: save_pretrained with safe_serialization=True)");
}

TEST_CASE("cli fine-tuning: examples, targets and adapters that do not fit are one line") {
    const TuningPlace place;
    place.refused(tuning({"--data", "c.jsonl"}), "c.jsonl:2: no message is the assistant's");
    fs::copy_file(place / "c.jsonl", place / "c.json");
    place.refused(tuning({"--data", "c.json"}),
                  "c.json': a file, not a directory that `tapestry tokenize` has made; JSON Lines "
                  "must be called *.jsonl");
    place.refused(tuning(kOnText + Arguments{"--lora-targets", "quary"}),
                  "LoRA: no matrix of a Llama has the name \"quary\"; there are query, key, value, "
                  "output, gate, up, down");
    spill(place / "m/chat_template.jinja", "[INST]{{ messages }}[/INST]");
    place.refused(tuning({"--data", "c.jsonl"}),
                  "message 2: the chat template asks for an answer otherwise than it writes one");
    const Arguments merge{"merge", "--model", "m", "--adapter", "a", "--out", "x"};
    change(place / "a/adapter_config.json", [](Json& config) { config["r"] = 5; });
    place.refused(merge,
                  "is [3, 24], but the rank and query of blocks.0.attention.qkv need [5, 24]: "
                  "is this the adapter's base model?");
    place.restore();
    copy_files(source_dir() / "tests/fixtures/qwen3", place / "m",
               {"config.json", "model.safetensors"});
    place.refused(merge, "a/adapter_model.safetensors: tensor \"base_model.model.model.layers.0.");
    place.restore();
    place.refused({"merge", "--model", "m", "--adapter", "m", "--out", "x"},
                  "m: not an adapter: adapter_config.json is missing");
    fs::create_directory(place / "x");
    for (const char* name : {"merges.txt", "added_tokens.json"}) {
        spill(place / "x" / name, "mine");
        place.refused(merge, std::string("'x': already contains ") + name);
        fs::remove(place / "x" / name);
    }
    check_done(place.run(merge));  // without a fault
}

TEST_CASE("cli fine-tuning: a tokenizer next to an adapter is the model's, or is refused") {
    const TuningPlace place;
    const Arguments merge{"merge", "--model", "m", "--adapter", "a", "--out", "x"};
    const Arguments chat{"chat", "--model", "m", "--adapter", "a"};
    const auto refused = [&](const std::string& words) {
        CAPTURE(words);
        place.refused(merge, "a: the tokenizer next to the adapter is not the model's: " + words);
        place.refused(chat, "a: the tokenizer next to the adapter is not the model's: " + words);
    };
    const auto tokenizer = [&](const std::function<void(Json&)>& f) {
        copy_files(kLlama, place / "a", {"tokenizer.json"});
        change(place / "a/tokenizer.json", f);
    };
    const Json was = Json::parse(slurp(kLlama / "tokenizer.json"));
    std::size_t end = was["model"]["vocab"].size();
    for (const Json& token : was["added_tokens"]) {
        end = std::max(end, token["id"].get<std::size_t>() + 1);
    }
    tokenizer([&](Json& json) {
        Json token = json["added_tokens"][0];
        token["content"] = "<tool>";
        token["id"] = end;
        json["added_tokens"].push_back(token);
    });
    refused(fmt::format(
        "it has {} tokens and the model's {}; token {} is '<tool>' there and missing in "
        "the model's; let PEFT merge such an adapter (merge_and_unload)",
        end + 1, end, end));
    tokenizer([](Json& json) {
        Json& first = json["added_tokens"][0];
        json["model"]["vocab"].erase(first["content"].get<std::string>());
        first["content"] = "<other>";
    });
    refused("token 0 is '<other>' there and '<|endoftext|>' in the model's");
    tokenizer([](Json& json) { json["model"]["merges"].erase(0); });
    refused("both have the same tokens, but ");
    fs::remove(place / "a/tokenizer.json");
    spill(place / "a/tokenizer_config.json",
          Json{{"added_tokens_decoder", {{"900", {{"content", "<tool>"}}}}}}.dump());
    refused("token 900 is '<tool>' there and missing in the model's");
    fs::remove(place / "a/tokenizer_config.json");
    spill(place / "a/added_tokens.json", R"({"<tool>": 900})");
    refused("token 900 is '<tool>' there and missing in the model's");
    fs::remove(place / "a/added_tokens.json");
    tokenizer([](Json& json) { json["truncation"] = nullptr; });  // and other blanks
    check_done(place.run(merge));
}

TEST_CASE("cli fine-tuning: the chat template next to an adapter is the model's from then on") {
    const TuningPlace place;
    const std::string chatml =
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
        "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}";
    const Arguments merge{"merge", "--model", "m", "--adapter", "a", "--out", "g"};
    const Arguments chat{"chat", "--model", "m", "--adapter", "a", "--tokens", "2"};
    const std::string said = "chat template: the one next to the adapter, a\n";
    for (const bool is_file : {true, false}) {
        CAPTURE(is_file);
        fs::remove_all(place / "g");
        place.restore();
        if (is_file) {
            spill(place / "a/chat_template.jinja", chatml);
        } else {
            spill(place / "a/tokenizer_config.json", Json{{"chat_template", chatml}}.dump());
        }
        const Outcome outcome = place.run(merge);
        check_done(outcome);
        CHECK(outcome.out.starts_with(said));
        CHECK(Json::parse(slurp(place / "g/config.json"))["chat_template"] == chatml);
        const Outcome talked = place.run(chat);
        CHECK_EQ(talked.code, 0);
        CHECK_EQ(talked.err, "tapestry: " + said);
        check_done(place.run(chat + Arguments{"--chat-template", "plain"}));
    }
    place.restore();
    fs::remove_all(place / "g");
    spill(place / "a/tokenizer_config.json", Json{{"eos_token", "<|im_end|>"}}.dump());
    const Outcome ended = place.run(merge);
    check_done(ended);
    CHECK(ended.out.starts_with("end of texts '<|im_end|>': the one next to the adapter, a\n"));
    const Json vocabulary = Json::parse(slurp(kLlama / "tokenizer.json"))["model"]["vocab"];
    const Json ends = Json::parse(slurp(place / "g/config.json"))["eos_token_id"];
    CHECK(ends[0] == vocabulary["<|im_end|>"]);
    place.restore();
    spill(place / "a/chat_template.jinja", chatml);
    spill(place / "m/chat_template.jinja", chatml);  // nothing changes, so nothing is said
    check_done(place.run(chat));
}

TEST_CASE("cli fine-tuning: a run of --data without a checkpoint, resumed") {
    const TuningPlace place;
    spill(place / "c.jsonl",
          "{\"prompt\": \"a\", \"completion\": \"b\"}\n"
          "{\"prompt\": \"b\", \"completion\": \"a\"}\n");
    check_refused(place.run({"train", "--resume", "--out", "x"}),
                  "--resume: no checkpoint in x; to start at step 0, give the options of the run "
                  "again, with what it learns from (--text, --data, ");
    const Outcome again = place.run(tuning({"--data", "c.jsonl", "--resume"}));
    check_done(again);
    CHECK(again.out.starts_with("no checkpoint in x: starting at step 0\n"));
}

TEST_CASE("cli fine-tuning: the best model has its own adapter") {
    const TuningPlace place;
    check_done(place.run(tuning(kOnText + Arguments{"--best"})));
    const auto updates = [&](const char* folder) {
        return slurp(place / "x" / folder / "adapter_model.safetensors");
    };
    const std::string best = updates("best/adapter");
    CHECK((best == updates("adapter")));
    check_done(place.run({"train", "--resume", "--out", "x", "--steps", "8", "--lr", "50",
                          "--override", "steps", "lr", "--best", "--no-report"}));
    CHECK((best == updates("best/adapter")));  // the loss has risen since
    CHECK((best != updates("adapter")));
    check_done(place.run({"merge", "--model", "m", "--adapter", "x/best/adapter", "--out", "g"}));
    CHECK((slurp(place / "g/model.safetensors") == slurp(place / "x/best/model.safetensors")));
}

TEST_CASE("cli fine-tuning: an int8 run finds its base from anywhere, and where it was moved to") {
    const TuningPlace place;
    const Arguments options = kOnText + Arguments{"--weights", "int8"};
    check_done(place.run(tuning(options, "whole")));
    const std::string expected = slurp(place / "whole/model.safetensors");
    check_done(place.run(tuning(options, "x", "2")));
    fs::create_directories(place / "elsewhere");
    const auto resumed = [&](const char* out, const Arguments& more) {
        fs::copy(place / "x", place / out, fs::copy_options::recursive);
        return Process(Arguments{"train", "--resume", "--out", std::string("../") + out, "--steps",
                                 "4", "--text", "../t.txt", "--override", "steps", "--no-report"} +
                           more,
                       place / "elsewhere")
            .wait();
    };
    check_done(resumed("b", {}));
    CHECK((slurp(place / "b/model.safetensors") == expected));
    fs::rename(place / "m", place / "moved");
    check_refused(
        resumed("c", {}),
        "m': the base of this run, whose int8 weights no checkpoint has, is not there; if "
        "it was moved, --resume --model says where to");
    check_done(resumed("d", {"--model", "../moved"}));
    CHECK((slurp(place / "d/model.safetensors") == expected));
    check_done(
        Process({"train", "--resume", "--out", "../d", "--steps", "6", "--override", "steps"},
                place / "elsewhere")
            .wait());  // it has its place now
    check_done(place.run({"merge", "--model", "moved", "--adapter", "a", "--out", "other"}));
    check_refused(resumed("e", {"--model", "../other"}),
                  "the model has other weights than when the run began");
    check_done(place.run({"rewind", "d", "--step", "2"}));  // before the move
    check_done(place.run({"rewind", "d", "--all", "--text", "t.txt"}));
    check_done(place.run(
        {"train", "--fork", "d", "--step", "1", "--out", "f", "--lr", "0.02", "--no-report"}));
}

TEST_CASE("cli fine-tuning: an int8 run that moved together with its base finds it") {
    const TuningPlace place;
    fs::create_directories(place / "proj");
    fs::create_directories(place / "elsewhere");
    for (const char* name : {"m", "t.txt"}) fs::rename(place / name, place / "proj" / name);
    const auto in = [&](const char* folder, const Arguments& arguments) {
        return Process(arguments, place / folder).wait();
    };
    const Arguments on = {"--text", "t.txt", "--weights", "int8"};
    check_done(in("proj", tuning(on)));
    fs::rename(place / "proj", place / "proj2");
    check_done(in("proj2", {"rewind", "x", "--all"}));
    check_done(in("proj2", {"train", "--resume", "--out", "x", "--steps", "6", "--override",
                            "steps", "--no-report"}));
    const Arguments further{"train",       "--resume", "--out",         "../proj2/x",
                            "--steps",     "8",        "--override",    "steps",
                            "--no-report", "--text",   "../proj2/t.txt"};
    fs::create_directories(place / "elsewhere/m");  // of that name, but no model
    check_done(in("elsewhere", further));           // the resumed run has its new place
    fs::remove(place / "elsewhere/m");
    check_done(in("proj2", {"merge", "--model", "m", "--adapter", "../a", "--out", "../other"}));
    fs::rename(place / "other", place / "elsewhere/m");  // a model, but another
    check_done(in("elsewhere", {"rewind", "../proj2/x", "--all", "--text", "../proj2/t.txt"}));
    fs::rename(place / "proj2/m", place / "proj2/gone");
    check_refused(in("elsewhere", {"rewind", "../proj2/x", "--all", "--text", "../proj2/t.txt"}),
                  "the model has other weights than when the run began");
}

TEST_CASE("cli fine-tuning: an int8 run's base behind a link and .. is the system's directory") {
    const TuningPlace place;
    fs::create_directories(place / "far/inner");
    fs::rename(place / "m", place / "far/base");
    fs::create_directory_symlink("far/inner", place / "link");
    fs::create_directories(place / "base");  // where `link/..` would be without the link
    Arguments arguments = tuning(kOnText + Arguments{"--weights", "int8"});
    arguments[2] = "link/../base";
    check_done(place.run(arguments));
    fs::remove(place / "link");
    check_done(place.run({"rewind", "x", "--all"}));
}
