// An encoder-decoder saved and loaded: the same bits; and errors in its files that a GPT
// (model_directory_test.cpp) cannot have.
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <set>

using namespace tapestry;
using test::check_message;
using test::message_of;
using test::Scratch;
using test::slurp;
using test::spill;
using Json = nlohmann::ordered_json;

namespace {

const char* const kFiles[] = {"config.json", "model.safetensors", "tokenizer.json"};

MarkedVocabulary five_letters() { return CharTokenizer::from_text("abcde"); }

TransformerConfig small_config() {
    return {.source_vocab = 8,
            .target_vocab = 8,
            .dim = 8,
            .heads = 2,
            .layers = 2,
            .share_embeddings = true,
            .padding_id = 0};
}

struct Saved {
    Scratch scratch;
    std::filesystem::path directory = scratch / "model";
    Generator generator{1};
    Transformer model;

    explicit Saved(const TransformerConfig& config = small_config()) : model(config, generator) {
        save_model(directory, model, five_letters());
        model.eval();
    }
    std::string error() const {
        return message_of<IoError>([&] { load_transformer(directory); });
    }
    void fails_with(const std::string& words) const {
        const std::string message = error();
        INFO("message: " << message);
        INFO("wanted:  " << words);
        CHECK(message.find(words) != std::string::npos);
    }
    std::filesystem::path config() const { return directory / "config.json"; }
};

std::vector<float> logits_of(const Transformer& model) {
    return model(tensor<std::int64_t>({{3, 4, 5, 0}}), tensor<std::int64_t>({{1, 7, 6}}))
        .to_vector<float>();
}

}  // namespace

TEST_CASE("transformer directory: what is loaded computes the same bits, every setting kept") {
    const auto comes_back = [](const TransformerConfig& config) {
        const Saved saved(config);
        const LoadedTransformer loaded = load_transformer(saved.directory);
        CHECK_FALSE(loaded.model->is_training());
        CHECK_EQ(logits_of(*loaded.model), logits_of(saved.model));
        CHECK_EQ(loaded.model->named_parameters().size(), saved.model.named_parameters().size());
        const TransformerConfig& c = loaded.model->config();
        CHECK_EQ(c.dropout, config.dropout);
        CHECK_EQ(c.label_smoothing, config.label_smoothing);
        CHECK_EQ(c.padding_id, config.padding_id);
        CHECK_EQ(c.max_length, config.max_length);
        CHECK(model_kind(saved.directory) == ModelKind::transformer);
        CHECK_EQ(std::distance(std::filesystem::directory_iterator(saved.directory), {}), 4);
    };
    comes_back(small_config());
    TransformerConfig config = small_config();
    config.share_embeddings = config.tied_head = config.bias = false;
    config.norm_first = true;
    config.hidden = 12;
    config.dropout = 0.25;
    config.label_smoothing = 0.05;
    config.padding_id = -1;
    for (const Activation activation : {Activation::gelu_erf, Activation::swiglu}) {
        for (const Positions positions : {Positions::learned, Positions::rotary}) {
            config.activation = activation;
            config.positions = positions;
            config.max_length = positions == Positions::learned ? 10 : 0;
            comes_back(config);
        }
    }
    config.kv_heads = 1;
    config.qk_norm = QKNorm::layer;
    config.rotary_base = 500;
    config.rotary_share = 0.5;
    config.rotary_pairs = RotaryPairs::halves;
    comes_back(config);
}

TEST_CASE("transformer directory: one that was written before heads could share keys") {
    const Saved saved;
    Json json = Json::parse(slurp(saved.config()));
    for (const char* later :
         {"kv_heads", "rotary_base", "rotary_share", "rotary_pairs", "qk_norm"}) {
        CHECK_EQ(json.erase(later), 1);
    }
    std::filesystem::remove(saved.directory / kManifestName);  // it would detect the change
    spill(saved.config(), json.dump());
    CHECK_EQ(logits_of(*load_transformer(saved.directory).model), logits_of(saved.model));
}

TEST_CASE("transformer directory: the vocabulary, marks and characters") {
    const Saved saved;
    const MarkedVocabulary v = load_transformer(saved.directory).vocabulary;
    CHECK_EQ(v.begin, 1);
    CHECK_EQ(v.end, 2);
    CHECK_EQ(v.size(), 8);
    CHECK_EQ(v.encode("bad"), std::vector<std::int64_t>{4, 3, 6});
    CHECK_EQ(v.text_of(4), "b");
    CHECK_THROWS_AS(v.text_of(2), IndexError);
    CHECK_THROWS_AS(v.text_of(8), IndexError);
    check_message<ValueError>([&] { v.encode("bax", "target"); },
                              "target: character 'x' (U+0078) at position 2");
}

TEST_CASE("transformer directory: a vocabulary that is not the model's is not saved") {
    Saved saved;
    const auto refused = [&](const MarkedVocabulary& vocabulary, const std::string& words) {
        check_message<ValueError>(
            [&] { save_model(saved.scratch / "new", saved.model, vocabulary); }, words);
        check_message<ValueError>(
            [&] { check_can_save(saved.scratch / "new", saved.model, vocabulary); }, words);
        CHECK_FALSE(std::filesystem::exists(saved.scratch / "new"));
    };
    MarkedVocabulary v = five_letters();
    v.tokenizer = std::make_shared<CharTokenizer>(CharTokenizer::from_text("abcd"));
    refused(v, "3 marks and 4 characters are 7 ids, but the model reads 8 and writes 8");
    v = five_letters();
    v.end = 1;
    refused(v, "begin 1 and end 1 are not two ids below 3");
    v.end = 3;
    refused(v, "begin 1 and end 3 are not two ids below 3");
    v.end = 0;
    refused(v, "padding must be -1 or a separate mark below 3, got 0");
}

TEST_CASE("transformer directory: of another kind") {
    const Saved saved;
    check_message<IoError>([&] { load_model(saved.directory); },
                           "config.json: the model is an encoder-decoder, expected a GPT");
    Generator generator(1);
    const GPT gpt({.vocab = 5, .context = 4, .layers = 1, .heads = 1, .dim = 4}, generator);
    save_model(saved.scratch / "gpt", gpt, CharTokenizer::from_text("abcde"));
    CHECK(model_kind(saved.scratch / "gpt") == ModelKind::gpt);
    check_message<IoError>([&] { load_transformer(saved.scratch / "gpt"); },
                           "config.json: the model is a GPT, expected an encoder-decoder");
    CHECK(model_kind(test::source_dir() / "tests/fixtures/gpt2") == ModelKind::gpt);
    check_message<IoError>([&] { model_kind(saved.scratch / "none"); }, "no such directory");
    spill(saved.config(), "{}");
    check_message<IoError>([&] { model_kind(saved.directory); }, "\"model\" is missing");
    spill(saved.config(), R"({"model": "bert"})");
    check_message<IoError>([&] { model_kind(saved.directory); },
                           "\"model\" is \"bert\"; must be one of \"gpt\", \"llama\", ");
}

TEST_CASE("transformer directory: files that are missing or damaged") {
    const Saved saved;
    for (const std::string name : kFiles) {
        CAPTURE(name);
        const std::string whole = slurp(saved.directory / name);
        for (const std::size_t size : {std::size_t{0}, whole.size() / 2, whole.size() - 2}) {
            spill(saved.directory / name, whole.substr(0, size));
            saved.fails_with(name);
        }
        std::filesystem::remove(saved.directory / name);
        saved.fails_with("'" + (saved.directory / name).native() + "': No such file");
        spill(saved.directory / name, whole);
    }
    CHECK_EQ(saved.error(), "no error");
}

TEST_CASE("transformer directory: configurations that cannot be") {
    const Saved saved;
    const std::string whole = slurp(saved.config());
    const auto with = [&](const char* name, const Json& value, const std::string& words) {
        CAPTURE(name);
        Json json = Json::parse(whole);
        json[name] = value;
        spill(saved.config(), json.dump());
        saved.fails_with(words);
    };
    with("layers", "two", "config.json: \"layers\" has an invalid value: \"two\"");
    with("norm_first", 1, "config.json: \"norm_first\" has an invalid value: 1");
    with("begin_id", 1.5, "config.json: \"begin_id\" has an invalid value: 1.5");
    with("begin_id", 2, "config.json: begin 2 and end 2 are not two ids below 3");
    with("end_id", -1, "config.json: begin 1 and end -1 are not two ids below 3");
    with("padding_id", 3, "config.json: padding must be -1 or a separate mark below 3, got 3");
    with("padding_id", -2, "config.json: padding must be -1 or a separate mark below 3, got -2");
    with("first_character_id", 4, "4 marks and 5 characters are 9 ids, but the model reads 8");
    with("target_vocab", 9, "the model reads 8 and writes 9");
    with("tokenizer", "bpe", "neither vocab.json nor merges.txt exists");
    with("tokenizer", "words", "\"tokenizer\" is \"words\"; must be one of \"char\", \"bpe\"");
    with("heads", 3, "config.json: MultiHeadAttention: 3 heads do not divide dim 8");
    with("layers", 0, "Transformer: layers must be positive, got 0");
    with("dropout", 1.5, "config.json: Dropout: p must be in [0, 1], got 1.5");
    with("label_smoothing", 2,
         "config.json: Transformer: label smoothing must be in [0, 1], got 2");
    with("activation", "tanh", "\"activation\" is \"tanh\"; must be one of \"relu\"");
    with("positions", "learned", "max_length of learned positions must be positive, got 0");
    with("hidden", 31, "tensor \"encoder.0.feed_forward.up.weight\" is f32 [32, 8]; the config");
    with("share_embeddings", false, "tensor \"target_embedding.weight\" is missing");
    with("tied_head", false, "tensor \"head.weight\" is missing");
    // Refused by arithmetic: none of these may be allocated.
    with("layers", 1'000'000'000, "the configuration needs");
    with("dim", std::int64_t{1} << 40, "the configuration needs");
    with("hidden", std::int64_t{1} << 50, "the configuration needs");
    const Json all = Json::parse(whole);
    const std::set<std::string> later{"activation",   "positions",    "kv_heads", "rotary_base",
                                      "rotary_share", "rotary_pairs", "qk_norm"};
    for (const auto& entry : all.items()) {
        if (entry.key() == "format") continue;
        const bool defaulted = later.contains(entry.key());
        Json json = all;
        json.erase(entry.key());
        spill(saved.config(), json.dump());
        if (!defaulted) saved.fails_with("\"" + entry.key() + "\" is missing");
    }
}

TEST_CASE("transformer directory: weights and characters of another model") {
    const Saved saved;
    const auto file = saved.directory / "model.safetensors";
    const auto with = [&](const std::function<void(NamedTensors&)>& change,
                          const std::string& words) {
        NamedTensors tensors = saved.model.named_parameters();
        change(tensors);
        write_safetensors(file, tensors);
        saved.fails_with(file.string() + ": tensor " + words);
    };
    with([](NamedTensors& t) { t.pop_back(); }, "\"decoder.");
    with([](NamedTensors& t) { t.emplace_back("extra", ones({2})); },
         "\"extra\" does not belong to the model");
    with(
        [](NamedTensors& t) {
            t[0].second = ones({8, 9});
        },
        "\"source_embedding.weight\" is f32 [8, 9]; the configuration needs f32 [8, 8]");
    spill(saved.directory / "tokenizer.json", CharTokenizer::from_text("abc").to_json());
    saved.fails_with("config.json: 3 marks and 3 characters are 6 ids");
}

TEST_CASE(
    "transformer directory: saving again replaces, and a save that cannot be is said before") {
    Saved saved;
    saved.model.encoder.parameters().front().fill_(3);
    save_model(saved.directory, saved.model, five_letters());
    CHECK_EQ(logits_of(*load_transformer(saved.directory).model), logits_of(saved.model));
    const std::string before = slurp(saved.directory / "model.safetensors");
    saved.model.encoder.parameters().front().fill_(4);
    check_can_save(saved.directory, saved.model, five_letters());
    CHECK_EQ(slurp(saved.directory / "model.safetensors"), before);
    spill(saved.scratch / "file", "x");
    check_message<IoError>(
        [&] { check_can_save(saved.scratch / "file", saved.model, five_letters()); }, "file");
}
