// A model saved and loaded: the same bits; and every way in which the files can be wrong.
#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/core/size_limit.h>
#include <tapestry/tests/nn/support.h>

#include <nlohmann/json.hpp>

using namespace tapestry;
using test::check_message;
using test::message_of;
using test::Scratch;
using test::SizeLimit;
using test::slurp;
using test::spill;
using Json = nlohmann::ordered_json;

namespace {

const char* const kFiles[] = {"config.json", "model.safetensors", "tokenizer.json"};

GPTConfig small_config() { return {.vocab = 5, .context = 6, .layers = 2, .heads = 2, .dim = 8}; }

struct Saved {
    Scratch scratch;
    std::filesystem::path directory = scratch / "model";
    CharTokenizer tokenizer = CharTokenizer::from_text("abcde");
    Generator generator{1};
    GPT model;

    explicit Saved(const GPTConfig& config = small_config()) : model(config, generator) {
        save_model(directory, model, tokenizer);
    }
    std::string error() const {
        return message_of<IoError>([&] { load_model(directory); });
    }
    bool fails_with(const std::string& words) const {
        const std::string message = error();
        INFO("message: " << message);
        INFO("wanted:  " << words);
        const bool found = message.find(words) != std::string::npos;
        CHECK(found);
        return found;
    }
    void change_config(const std::function<void(Json&)>& change) const {
        Json json = Json::parse(slurp(directory / "config.json"));
        change(json);
        spill(directory / "config.json", json.dump());
        std::filesystem::remove(directory / kManifestName);  // as an edit by hand requires
    }
};

std::vector<float> logits_of(const LanguageModel& model) {
    return model(tensor<std::int64_t>({{0, 1, 2, 3, 4, 0}})).to_vector<float>();
}

}  // namespace

TEST_CASE("model directory: what is loaded computes the same bits") {
    for (const bool tied : {true, false}) {
        GPTConfig config = small_config();
        config.tied_head = tied;
        config.bias = tied;
        config.dropout = 0.25;
        Saved saved(config);
        const LoadedModel loaded = load_model(saved.directory);
        CHECK_FALSE(loaded.model->is_training());
        saved.model.eval();
        CHECK_EQ(logits_of(*loaded.model), logits_of(saved.model));
        CHECK_EQ(loaded.tokenizer->kind(), "char");
        CHECK_EQ(loaded.tokenizer->decode(std::vector<std::int64_t>{0, 1, 2, 3, 4}), "abcde");
        const GPT& model = as<GPT>(*loaded.model);
        const GPTConfig& c = model.config();
        CHECK_EQ(c.layers, 2);
        CHECK_EQ(c.dropout, 0.25);
        CHECK_EQ(c.tied_head, tied);
        CHECK_EQ(c.bias, tied);
        CHECK_EQ(model.head.weight.leaf() == model.token_embedding.weight.leaf(), tied);
        for (const Tensor& parameter : loaded.model->parameters()) CHECK(parameter.requires_grad());
        CHECK_EQ(std::distance(std::filesystem::directory_iterator(saved.directory), {}), 4);
    }
}

TEST_CASE("model directory: every setting is kept") {
    for (const Activation activation :
         {Activation::relu, Activation::relu_squared, Activation::gelu_tanh, Activation::gelu_erf,
          Activation::silu, Activation::swiglu}) {
        for (const Positions positions :
             {Positions::learned, Positions::sinusoidal, Positions::rotary}) {
            GPTConfig config = small_config();
            config.activation = activation;
            config.positions = positions;
            config.hidden = 12;
            config.norm_eps = 0.001;
            Saved saved(config);
            saved.model.eval();
            const LoadedModel loaded = load_model(saved.directory);
            CHECK_EQ(logits_of(*loaded.model), logits_of(saved.model));
            const GPTConfig& c = as<GPT>(*loaded.model).config();
            CHECK(c.activation == activation);
            CHECK(c.positions == positions);
            CHECK_EQ(c.hidden, 12);
            CHECK_EQ(c.norm_eps, 0.001);
        }
    }
}

TEST_CASE("model directory: what attention is made to is kept") {
    for (const Positions positions :
         {Positions::rotary, Positions::alibi, Positions::relative, Positions::none}) {
        for (const QKNorm norm : {QKNorm::none, QKNorm::rms, QKNorm::layer}) {
            GPTConfig config = small_config();
            config.kv_heads = 1;
            config.positions = positions;
            config.rotary_base = 300;
            config.rotary_share = 0.5;
            config.rotary_pairs = RotaryPairs::halves;
            config.qk_norm = norm;
            config.earlier = norm == QKNorm::rms ? 2 : 0;
            config.pairs = norm == QKNorm::layer ? 9 : 0;
            config.softcap = norm == QKNorm::none ? 0 : 0.5;
            Saved saved(config);
            saved.model.eval();
            CHECK_EQ(logits_of(*load_model(saved.directory).model), logits_of(saved.model));
        }
    }
}

TEST_CASE("model directory: models saved before there were more settings") {
    Saved saved;
    saved.model.eval();
    saved.change_config([](Json& json) {
        for (const char* name : {"tokenizer", "hidden", "activation", "positions", "norm_eps",
                                 "kv_heads", "rotary_base", "rotary_share", "rotary_pairs",
                                 "qk_norm", "earlier", "pairs", "softcap"}) {
            CHECK_EQ(json.erase(name), 1);
        }
    });
    CHECK_EQ(logits_of(*load_model(saved.directory).model), logits_of(saved.model));
}

TEST_CASE("model directory: saving again replaces; only the weights can be saved") {
    Saved saved;
    const std::string before = slurp(saved.directory / "model.safetensors");
    save_model(saved.directory, saved.model, saved.tokenizer);
    CHECK_EQ(slurp(saved.directory / "model.safetensors"), before);
    saved.model.final_norm.weight.fill_(3);
    save_weights(saved.directory, saved.model);
    CHECK_EQ(logits_of(*load_model(saved.directory).model), logits_of(saved.model));
}

TEST_CASE("model directory: nothing of the tokenizer of the previous model stays") {
    const Saved saved;
    const auto pairs = BytePairTokenizer::from_merges({});
    const auto more = BytePairTokenizer::from_text(pairs.vocab_json(), pairs.merges_text(), {},
                                                   R"({"<tool>": 257})");
    const auto has = [&](const char* name) {
        return std::filesystem::exists(saved.directory / name);
    };
    Generator first(1), second(1);
    GPTConfig config = small_config();
    config.vocab = more.vocab_size();
    save_model(saved.directory, GPT(config, first), more);
    CHECK_FALSE(has("tokenizer.json"));
    CHECK(has("added_tokens.json"));
    config.vocab = pairs.vocab_size();
    save_model(saved.directory, GPT(config, second), pairs);
    CHECK_FALSE(has("added_tokens.json"));
    CHECK_EQ(load_model(saved.directory).tokenizer->vocab_size(), 257);
}

TEST_CASE("model directory: files that are missing, or no files") {
    Saved saved;
    CHECK_EQ(message_of<IoError>([&] { load_model(saved.scratch / "none"); }),
             "'" + (saved.scratch / "none").native() + "': no such directory");
    CHECK_THROWS_AS(load_model(saved.directory / "config.json"), IoError);
    for (const std::string name : kFiles) {
        CAPTURE(name);
        std::filesystem::rename(saved.directory / name, saved.scratch / "aside");
        CHECK(saved.fails_with("'" + (saved.directory / name).native() + "': No such file"));
        std::filesystem::create_directory(saved.directory / name);
        CHECK(saved.fails_with("'" + (saved.directory / name).native() + "': it is a directory"));
        std::filesystem::remove(saved.directory / name);
        std::filesystem::rename(saved.scratch / "aside", saved.directory / name);
    }
    CHECK_EQ(saved.error(), "no error");
}

TEST_CASE("model directory: files that are damaged") {
    Saved saved;
    for (const std::string name : kFiles) {
        const std::string whole = slurp(saved.directory / name);
        for (std::size_t size :
             {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 2}) {
            CAPTURE(name);
            CAPTURE(size);
            spill(saved.directory / name, whole.substr(0, size));
            const bool names_file = saved.fails_with(name);
            CHECK(names_file);
        }
        spill(saved.directory / name, whole);
    }
    spill(saved.directory / "config.json", "no json");
    CHECK(saved.fails_with("config.json: not JSON"));
    spill(saved.directory / "config.json", "[1, 2]");
    CHECK(saved.fails_with("config.json: not a JSON object"));
    spill(saved.directory / "config.json", std::string(100'000, '['));
    CHECK(saved.fails_with("config.json: nested deeper than 100 levels"));
}

TEST_CASE("model directory: configurations that cannot be") {
    Saved saved;
    const std::string whole = slurp(saved.directory / "config.json");
    const auto with = [&](const std::string& name, const Json& value, const std::string& words) {
        CAPTURE(name);
        spill(saved.directory / "config.json", whole);
        saved.change_config([&](Json& json) { json[name] = value; });
        CHECK(saved.fails_with(words));
    };
    with("layers", "two", "config.json: \"layers\" has an invalid value: \"two\"");
    with("layers", 2.5, "config.json: \"layers\" has an invalid value: 2.5");
    with("layers", nullptr, "config.json: \"layers\" has an invalid value: null");
    with("bias", 1, "config.json: \"bias\" has an invalid value: 1");
    with("model", "mlp",
         "config.json: \"model\" is \"mlp\"; must be one of \"gpt\", \"llama\", \"qwen3\", "
         "\"gpt_neox\", \"gpt_neo\", \"bag\", \"transformer\", \"vit\", \"masked\", \"span\" and "
         "\"table\"");
    with("model", 7, "config.json: \"model\" has an invalid value: 7");
    with("heads", 3, "config.json: GPT: 3 heads do not divide dim 8 (remainder 2)");
    with("layers", 0, "GPT: layers must be positive, got 0");
    with("layers", -5, "GPT: layers must be positive, got -5");
    with("dropout", 1.5, "config.json: Dropout: p must be in [0, 1], got 1.5");
    with("dim", 0, "GPT: dim must be positive, got 0");
    with("activation", "sigmoid",
         "config.json: \"activation\" is \"sigmoid\"; must be one of \"relu\", ");
    with("positions", 7, "config.json: \"positions\" has an invalid value: 7");
    with("positions", "spiral",
         "\"positions\" is \"spiral\"; must be one of \"learned\", \"sinusoidal\"");
    with("kv_heads", 3,
         "config.json: MultiHeadAttention: 3 heads of keys and values do not divide 2 heads");
    with("kv_heads", 1, "tensor \"blocks.0.attention.qkv.weight\" is f32 [24, 8]; the ");
    with("qk_norm", "rms", "tensor \"blocks.0.attention.query_norm.weight\" is missing");
    with("positions", "rotary",
         "tensor \"position_embedding.weight\" does not belong to the model");
    with("hidden", 31, "tensor \"blocks.0.feed_forward.up.weight\" is f32 [32, 8]; the ");
    with("hidden", -32, "config.json: ");
    with("norm_eps", "small", "\"norm_eps\" has an invalid value: \"small\"");
    with("tokenizer", "words", "\"tokenizer\" is \"words\"; must be one of \"char\", \"bpe\"");
    with("tokenizer", "bpe", "neither vocab.json nor merges.txt exists");
    with("vocab", 6, "the tokenizer has 5 characters, the configuration 6");
    // Refused by arithmetic: none of these may be allocated.
    with("layers", 1'000'000'000, "the configuration needs");
    with("dim", std::int64_t{1} << 40, "the configuration needs");
    with("context", std::int64_t{1} << 60, "the configuration needs");
    with("layers", std::int64_t{1} << 62, "config.json: \"layers\" has an invalid value: ");
    with("layers", 18446744073709551615U, "config.json: \"layers\" has an invalid value: ");
    spill(saved.directory / "config.json", whole);
    saved.change_config([](Json& json) { json.erase("dim"); });
    CHECK(saved.fails_with("config.json: \"dim\" is missing"));
    spill(saved.directory / "config.json", whole);
    saved.change_config([](Json& json) { json["comment"] = "unknown keys are ignored"; });
    CHECK_EQ(saved.error(), "no error");
}

TEST_CASE("model directory: weights of another model") {
    Saved saved;
    const auto file = saved.directory / "model.safetensors";
    const std::string prefix = file.string();
    const auto with = [&](const std::function<void(NamedTensors&)>& change,
                          const std::string& words) {
        NamedTensors tensors = saved.model.named_parameters();
        change(tensors);
        write_safetensors(file, tensors);
        CHECK(saved.fails_with(prefix + ": tensor " + words));
    };
    with([](NamedTensors& t) { t.erase(t.begin() + 2); },
         "\"blocks.0.attention_norm.weight\" is missing");
    with([](NamedTensors& t) { t.emplace_back("extra", ones({2})); },
         "\"extra\" does not belong to the model");
    with(
        [](NamedTensors& t) {
            t[0].second = ones({5, 9});
        },
        "\"token_embedding.weight\" is f32 [5, 9]; the configuration needs f32 [5, 8]");
    with(
        [](NamedTensors& t) {
            t[0].second = ones({5, 8}, DType::f64);
        },
        "\"token_embedding.weight\" is f64 [5, 8]; the configuration needs f32 [5, 8]");
    write_safetensors(file, saved.model.named_parameters());
    saved.change_config([](Json& json) { json["tied_head"] = false; });
    CHECK(saved.fails_with("tensor \"head.weight\" is missing"));
}

TEST_CASE("model directory: a tokenizer of another size") {
    Saved saved;
    spill(saved.directory / "tokenizer.json", CharTokenizer::from_text("abc").to_json());
    CHECK(saved.fails_with("the tokenizer has 3 characters, the configuration 5"));
    spill(saved.directory / "tokenizer.json", "{\"type\":\"char\"}");
    CHECK(saved.fails_with("tokenizer.json: tokenizer: no \"vocab\""));
}

TEST_CASE("model directory: one of a later format") {
    Saved saved;
    saved.change_config([](Json& json) { json["format"] = 2; });
    CHECK(saved.fails_with("config.json: a model of format 2; this Tapestry reads format 1"));
    for (const Json& bad : {Json("x"), Json(1e300), Json::object()}) {
        saved.change_config([&](Json& json) { json["format"] = bad; });
        CHECK(saved.fails_with("config.json: \"format\" "));
    }
}

TEST_CASE("model directory: a file that is not what was saved is an error with its name") {
    Saved saved;
    for (const std::string name : kFiles) {
        const std::string good = slurp(saved.directory / name);
        // Changes that still parse: an extra space, a bit of the last number.
        std::string bad = good;
        if (name == "model.safetensors") {
            bad.back() = static_cast<char>(bad.back() ^ 1);
        } else {
            bad += " ";
        }
        spill(saved.directory / name, bad);
        CHECK(
            saved.fails_with("'" + (saved.directory / name).native() + "': not what was saved: "));
        spill(saved.directory / name, good);
    }
    CHECK_EQ(saved.error(), "no error");
}

TEST_CASE("model directory: files next to it do not matter") {
    const Saved saved;
    for (const char* text : {"{}", "{\"format\":9}", ""}) {
        spill(saved.directory / ".." / kManifestName, text);
        CHECK_EQ(saved.error(), "no error");
    }
}

TEST_CASE("model directory: a save that fails keeps the previous model") {
    Saved saved;
    const auto before = logits_of(saved.model);
    saved.model.final_norm.weight.fill_(3);
    std::string message;
    for (const unsigned bytes : {0U, 20U, 100U, 5000U}) {
        {
            const SizeLimit limit(bytes);
            message = message_of<IoError>(
                [&] { save_model(saved.directory, saved.model, saved.tokenizer); });
        }
        CHECK(message.find("File too large") != std::string::npos);
        CHECK_EQ(logits_of(*load_model(saved.directory).model), before);
        CHECK_EQ(std::distance(std::filesystem::directory_iterator(saved.directory), {}), 4);
    }
    save_model(saved.directory, saved.model, saved.tokenizer);
    CHECK_EQ(logits_of(*load_model(saved.directory).model), logits_of(saved.model));
    spill(saved.scratch / "file", "x");
    check_message<IoError>(
        [&] { save_model(saved.scratch / "file", saved.model, saved.tokenizer); }, "file");
    check_message<IoError>(
        [&] { save_model(saved.scratch / "file" / "model", saved.model, saved.tokenizer); },
        "Not a directory");
    CHECK_EQ(slurp(saved.scratch / "file"), "x");
}

TEST_CASE("model directory: whether a save would succeed can be asked, and changes nothing") {
    Saved saved;
    const auto before = logits_of(saved.model);
    saved.model.final_norm.weight.fill_(3);
    check_can_save(saved.directory, saved.model, saved.tokenizer);
    CHECK_EQ(logits_of(*load_model(saved.directory).model), before);
    CHECK_EQ(std::distance(std::filesystem::directory_iterator(saved.directory), {}), 4);
    const auto check = [&] { check_can_save(saved.directory, saved.model, saved.tokenizer); };
    {
        const SizeLimit limit(5000);
        check_message<IoError>(check, "File too large");
    }
    CHECK_EQ(std::distance(std::filesystem::directory_iterator(saved.directory), {}), 4);
    spill(saved.scratch / "file", "x");
    check_message<IoError>(
        [&] { check_can_save(saved.scratch / "file", saved.model, saved.tokenizer); }, "file");
}
