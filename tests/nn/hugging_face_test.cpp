// GPT-2 as Hugging Face stores it: a directory made by PyTorch gives PyTorch's numbers, an exported
// model loads with the same bits, and inconsistencies are reported by name.
#include <doctest/doctest.h>
#include <tapestry/core/copy.h>
#include <tapestry/core/create.h>
#include <tapestry/core/random.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/ops/cast.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>

using namespace tapestry;
using test::check_message;
using test::message_of;
using test::Scratch;
using test::slurp;
using test::spill;
using Ids = std::vector<std::int64_t>;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

const fs::path kFixture = test::source_dir() / "tests/fixtures/gpt2";

Ids fixture_tokens() {
    std::istringstream text(slurp(kFixture / "tokens.txt"));
    return {std::istream_iterator<std::int64_t>(text), {}};
}

std::vector<float> logits_of(const LanguageModel& model, std::int64_t length = 6) {
    const std::int64_t vocab = common_settings(model.model_config()).vocab;
    Ids ids;
    for (std::int64_t i = 0; i < length; ++i) ids.push_back(i * 3 % vocab);
    return model(tensor(ids, {1, length})).to_vector<float>();
}

/// A model whose biases and norms differ from their initial values.
struct Ours {
    Generator generator{5};
    GPT model;

    explicit Ours(const GPTConfig& config) : model(config, generator) {
        for (auto& parameter : model.parameters()) {
            const Tensor noise = randn(parameter.shape(), generator);
            float* data = parameter.mutable_data<float>();
            for (std::int64_t i = 0; i < parameter.numel(); ++i) {
                data[i] += 0.2F * noise.data<float>()[i];
            }
        }
        model.eval();
    }
};

GPTConfig small_config() { return {.vocab = 9, .context = 8, .layers = 2, .heads = 2, .dim = 8}; }

/// A copy of the fixture to change: without tokenizer, with only the tensors that can be read.
struct Copy {
    Scratch scratch;
    fs::path directory = scratch / "gpt2";
    fs::path config_file = directory / "config.json";
    fs::path weights_file = directory / "model.safetensors";
    NamedTensors tensors;

    Copy() {
        fs::create_directory(directory);
        fs::copy_file(kFixture / "config.json", config_file);
        tensors = read_safetensors(kFixture / "model.safetensors", [](const std::string& name) {
                      return !name.ends_with(".attn.bias");
                  }).tensors;
        save();
    }
    void save() const { write_safetensors(weights_file, tensors, {{"format", "pt"}}); }
    void config(const std::function<void(Json&)>& change) const {
        Json json = Json::parse(slurp(kFixture / "config.json"));
        change(json);
        spill(config_file, json.dump());
    }
    Tensor& tensor(const std::string& name) {
        for (auto& [key, value] : tensors) {
            if (key == name) return value;
        }
        throw ValueError(name);
    }
    double loss() const {
        const Ids ids = fixture_tokens();
        return evaluate_windows(*load_model(directory).model, ids).loss;
    }
    void refused(const std::string& words) const {
        const std::string message = message_of<IoError>([&] { load_model(directory); });
        INFO("message: " << message);
        INFO("wanted:  " << words);
        CHECK(message.find(words) != std::string::npos);
    }
    void refused_setting(const char* name, const Json& value, const std::string& words) const {
        config([&](Json& json) { json[name] = value; });
        refused(config_file.string() + ": " + words);
    }
};

double expected_loss() { return Json::parse(slurp(kFixture / "expected.json")).at("loss"); }

}  // namespace

TEST_CASE("hugging face: PyTorch's loss and logits") {
    const LoadedModel loaded = load_model(kFixture);
    CHECK_FALSE(loaded.model->is_training());
    const GPTConfig& c = as<GPT>(*loaded.model).config();
    CHECK_EQ(c.vocab, 377);
    CHECK_EQ(c.context, 12);
    CHECK_EQ(c.hidden, 80);
    CHECK_EQ(c.dropout, 0.1);
    CHECK(c.activation == Activation::gelu_tanh);
    CHECK(c.bias);
    CHECK(c.tied_head);
    REQUIRE(loaded.tokenizer != nullptr);
    CHECK_EQ(loaded.tokenizer->kind(), "bpe");

    const Json expected = Json::parse(slurp(kFixture / "expected.json"));
    const Ids tokens = fixture_tokens();
    const WindowLoss result = evaluate_windows(*loaded.model, tokens);
    CHECK_EQ(result.tokens, expected.at("tokens"));
    CHECK(std::abs(result.loss - expected.at("loss").get<double>()) < 1e-5);
    const auto wanted = expected.at("logits").get<std::vector<double>>();
    const Tensor ids = tensor(Ids(tokens.begin(), tokens.begin() + 12), {1, 12});
    const auto logits = (*loaded.model)(ids).to_vector<double>();
    double worst = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        worst = std::max(worst, std::abs(logits[i] - wanted[i]));
    }
    CHECK_EQ(wanted.size(), 3 * 377);
    CHECK_LT(worst, 2e-5);
}

TEST_CASE("evaluate_windows: every id but the first is predicted once, within its window") {
    Generator generator(3);
    GPT model({.vocab = 7, .context = 4, .layers = 1, .heads = 1, .dim = 8}, generator);
    Ids ids;
    for (std::int64_t i = 0; i < 200; ++i) ids.push_back(i * i % 7);
    for (const std::size_t size : {2U, 4U, 5U, 6U, 9U, 17U, 200U}) {
        const std::span<const std::int64_t> part(ids.data(), size);
        double sum = 0;
        for (std::size_t at = 0; at + 1 < size; at += 4) {  // one window at a time
            const std::size_t n = std::min<std::size_t>(4, size - 1 - at);
            const auto length = static_cast<std::int64_t>(n);
            const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(at);
            const auto end = begin + length;
            const Tensor inputs = tensor(Ids(begin, end), {1, length});
            const Tensor targets = tensor(Ids(begin + 1, end + 1), {1, length});
            sum += model.loss(inputs, targets).item() * static_cast<double>(n);
        }
        const WindowLoss result = evaluate_windows(model, part);
        CHECK_EQ(result.tokens, static_cast<std::int64_t>(size) - 1);
        CHECK_EQ(result.loss, doctest::Approx(sum / static_cast<double>(size - 1)).epsilon(1e-6));
    }
    CHECK(model.is_training());
    check_message<ValueError>([&] { evaluate_windows(model, Ids{1}); },
                              "needs at least 2 ids, got 1");
    CHECK_THROWS_AS(evaluate_windows(model, Ids{1, 7, 2}), IndexError);
}

TEST_CASE("hugging face: other spellings of the same model") {
    Copy copy;
    CHECK(copy.loss() == doctest::Approx(expected_loss()).epsilon(1e-6));
    const double loss = copy.loss();
    SUBCASE("with a prefix, and the head a second time") {
        for (auto& [name, tensor] : copy.tensors) name.insert(0, "transformer.");
        copy.tensors.emplace_back("lm_head.weight", copy.tensors[0].second);
        copy.save();
    }
    SUBCASE("masks as buffers of any type, with a prefix") {
        copy.tensors.emplace_back("transformer.h.0.attn.bias", ones({1, 1, 12, 12}));
        copy.tensors.emplace_back("h.1.attn.bias", ones({1, 1, 12, 12}, DType::boolean));
        copy.save();
    }
    SUBCASE("settings of old and of other versions") {
        copy.config([](Json& json) {
            json.erase("n_positions");
            json.erase("architectures");
            json.erase("layer_norm_epsilon");
            json["activation_function"] = "gelu_pytorch_tanh";
            json["scale_attn_weights"] = true;
            json["reorder_and_upcast_attn"] = true;  // to f32, which it is
            json["task_specific_params"] = {{"text-generation", {{"do_sample", true}}}};
        });
    }
    SUBCASE("no model_type") {
        copy.config([](Json& json) { json.erase("model_type"); });
    }
    SUBCASE("an untied head with the same weights") {
        copy.config([](Json& json) { json["tie_word_embeddings"] = false; });
        copy.tensors.emplace_back("lm_head.weight", copy.tensors[0].second);
        copy.save();
        CHECK_FALSE(as<GPT>(*load_model(copy.directory).model).config().tied_head);
    }
    CHECK_EQ(copy.loss(), loss);
}

TEST_CASE("hugging face: narrow tensors, and the head a second time") {
    for (const DType dtype : {DType::bf16, DType::f16}) {
        CAPTURE(dtype);
        Copy copy;
        for (auto& [name, tensor] : copy.tensors) tensor = cast(tensor, dtype);
        copy.save();
        const double loss = copy.loss();
        copy.tensors.emplace_back("lm_head.weight", copy.tensors[0].second);
        copy.save();
        CHECK_EQ(copy.loss(), loss);
    }
}

TEST_CASE("hugging face: settings that change what is computed") {
    Copy copy;
    const auto loss_with = [&](const char* name, const Json& value) {
        copy.config([&](Json& json) { json[name] = value; });
        return copy.loss();
    };
    std::set<double> losses{copy.loss()};
    for (const char* activation : {"gelu", "relu", "silu"}) {
        losses.insert(loss_with("activation_function", activation));
    }
    losses.insert(loss_with("layer_norm_epsilon", 0.1));
    losses.insert(loss_with("n_head", 4));
    CHECK_EQ(losses.size(), 6);
    CHECK_EQ(loss_with("activation_function", "swish"), loss_with("activation_function", "silu"));
    CHECK_EQ(loss_with("activation_function", "gelu_fast"), loss_with("n_ctx", 5));
}

TEST_CASE("hugging face: the three dropouts of a GPT-2 are read, used, kept and written apart") {
    Copy copy;
    const Scratch scratch;
    const auto check = [&](double resid, const Json& embd, const Json& attn, double of_embd,
                           double of_attn) {
        copy.config([&](Json& json) {
            json["resid_pdrop"] = resid;
            json["embd_pdrop"] = embd;
            json["attn_pdrop"] = attn;
        });
        const LoadedModel loaded = load_model(copy.directory);
        const LoadedModel other = load_model(kFixture);
        save_model(scratch / "ours", *loaded.model, *other.tokenizer);
        const LoadedModel ours = load_model(scratch / "ours");
        for (const LoadedModel* one : {&loaded, &ours}) {
            const GPT& model = as<GPT>(*one->model);
            CHECK_EQ(model.config().dropout, resid);
            CHECK_EQ(model.embedding_dropout.settings(), fmt::format("p = {}", of_embd));
            CHECK_EQ(attention_dropout(model.config()), of_attn);
        }
        export_hugging_face(scratch / "theirs", *ours.model, nullptr);
        const Json written = Json::parse(slurp(scratch / "theirs/config.json"));
        CHECK_EQ(written["resid_pdrop"], resid);
        CHECK_EQ(written["embd_pdrop"], of_embd);
        CHECK_EQ(written["attn_pdrop"], of_attn);
    };
    check(0, 0, 0, 0, 0);
    check(0.2, 0.2, 0.2, 0.2, 0.2);
    check(0, 0.3, nullptr, 0.3, 0.1);
    check(0.1, 0, 0.2, 0, 0.2);
}

TEST_CASE("hugging face: a tokenizer under either pair of names, or none, but no half") {
    Copy copy;
    const auto& directory = copy.directory;
    CHECK(load_model(directory).tokenizer == nullptr);
    fs::copy_file(kFixture / "vocab.json", directory / "vocab.json");
    copy.refused(directory.string() +
                 ": incomplete vocabulary: found vocab.json but not merges.txt; a byte-pair "
                 "tokenizer needs both");
    fs::rename(directory / "vocab.json", directory / "encoder.json");
    copy.refused("incomplete vocabulary: found encoder.json but not vocab.bpe");
    fs::copy_file(kFixture / "merges.txt", directory / "vocab.bpe");
    CHECK_EQ(load_model(directory).tokenizer->encode("the cat").size(),
             load_model(kFixture).tokenizer->encode("the cat").size());
    fs::remove(directory / "encoder.json");
    copy.refused("incomplete vocabulary: found vocab.bpe but not encoder.json");
    fs::rename(directory / "vocab.bpe", directory / "merges.txt");
    copy.refused("incomplete vocabulary: found merges.txt but not vocab.json");
    spill(directory / "vocab.json", "{}");
    copy.refused((directory / "vocab.json").string() + ": the byte 0x00 has no token");
    fs::copy_file(kFixture / "vocab.json", directory / "vocab.json",
                  fs::copy_options::overwrite_existing);
    spill(directory / "merges.txt", "#version: 0.2\nt h\n");
    copy.refused((directory / "merges.txt").string() + ": line 2: 'th' is not in ");
    spill(directory / "merges.txt", "");
    CHECK_EQ(load_model(directory).tokenizer->encode("cat").size(), 3);
    // A table may be padded, but every token needs a row.
    copy.config([](Json& json) { json["vocab_size"] = 300; });
    copy.refused("the tokenizer has 377 tokens, the configuration 300");
}

TEST_CASE("hugging face: a tokenizer that puts a space before every text is refused") {
    Copy copy;
    const fs::path settings = copy.directory / "tokenizer_config.json";
    spill(settings, "{\"add_prefix_space\": true}");
    CHECK(load_model(copy.directory).tokenizer == nullptr);  // it has none: nothing to refuse
    for (const char* name : {"vocab.json", "merges.txt"}) {
        fs::copy_file(kFixture / name, copy.directory / name);
    }
    copy.refused(settings.string() +
                 ": \"add_prefix_space\" is true, which is not supported; set it to false, and "
                 "begin the text with a space instead");
    spill(settings, "{\"add_prefix_space\": 1}");
    copy.refused("\"add_prefix_space\" has an invalid value: 1");
    for (const char* others :
         {"{\"add_prefix_space\": false}", "{\"add_prefix_space\": null}",
          "{\"model_max_length\": 1000000000000000019884624838656, \"errors\": \"replace\"}"}) {
        spill(settings, others);
        CHECK_EQ(load_model(copy.directory).tokenizer->encode("the cat").size(),
                 load_model(kFixture).tokenizer->encode("the cat").size());
    }
}

TEST_CASE("hugging face: byte pairs that are not split as GPT-2's need their tokenizer.json") {
    Copy copy;
    for (const char* name : {"vocab.json", "merges.txt"}) {
        fs::copy_file(kFixture / name, copy.directory / name);
    }
    const fs::path settings = copy.directory / "tokenizer_config.json";
    for (const char* name : {"Qwen2Tokenizer", "Qwen2TokenizerFast"}) {
        spill(settings, fmt::format(R"({{"tokenizer_class": "{}"}})", name));
        copy.refused(
            settings.string() +
            ": \"tokenizer_class\" is Qwen2Tokenizer, which splits words otherwise than "
            "GPT-2's; vocab.json and merges.txt do not say how, so tokenizer.json is needed");
    }
    for (const char* name : {"GPT2TokenizerFast", "GPTNeoXTokenizer", "CodeGenTokenizer"}) {
        spill(settings, fmt::format(R"({{"tokenizer_class": "{}"}})", name));
        CHECK_EQ(load_model(copy.directory).tokenizer->encode("the cat").size(),
                 load_model(kFixture).tokenizer->encode("the cat").size());
    }
}

TEST_CASE("hugging face: a config.json without model_type is a GPT-2's, unless it says otherwise") {
    const Copy copy;
    const double loss = copy.loss();
    const auto with = [&](const char* architecture) {
        copy.config([&](Json& json) {
            json.erase("model_type");
            json["architectures"] = Json::array({architecture});
        });
    };
    with("GPT2LMHeadModel");
    CHECK_EQ(copy.loss(), loss);
    with("LlamaForCausalLM");
    copy.refused("\"model_type\" is missing; of a LlamaForCausalLM it cannot be guessed");
}

TEST_CASE("hugging face: settings that are refused") {
    const Copy copy;
    copy.refused_setting("model_type", "bert",
                         "\"model_type\" is \"bert\"; must be one of \"gpt2\", \"llama\", ");
    copy.refused_setting("model_type", 7, "\"model_type\" has an invalid value: 7");
    copy.refused_setting("scale_attn_by_inverse_layer_idx", true,
                         "\"scale_attn_by_inverse_layer_idx\" is true, which is not supported");
    copy.refused_setting("scale_attn_weights", false, "\"scale_attn_weights\" is false");
    copy.refused_setting("add_cross_attention", true, "\"add_cross_attention\" is true");
    copy.refused_setting("activation_function", "mish",
                         "\"activation_function\" is \"mish\"; must be one of gelu_new, ");
    copy.refused_setting("n_head", 5, "GPT: 5 heads do not divide dim 24");
    copy.refused_setting("n_head", 0, "GPT: heads must be positive, got 0");
    copy.refused_setting("n_head", "3", "\"n_head\" has an invalid value: \"3\"");
    copy.refused_setting("n_embd", 24.5, "\"n_embd\" has an invalid value: 24.5");
    copy.refused_setting("n_layer", nullptr, "\"n_layer\" has an invalid value: null");
    copy.refused_setting("n_layer", -1, "GPT: layers must be positive, got -1");
    copy.refused_setting("resid_pdrop", 1.5, "Dropout: p must be in [0, 1], got 1.5");
    copy.refused_setting("attn_pdrop", -0.5, "\"attn_pdrop\" is -0.5; must be at least 0");
    copy.refused_setting("tie_word_embeddings", "yes",
                         "\"tie_word_embeddings\" has an invalid value: \"yes\"");
    copy.refused_setting("n_layer", 1'000'000'000'000, "the configuration needs");
    copy.refused_setting("n_positions", 1'000'000'000'000, "the configuration needs");
    copy.refused_setting("n_inner", 1'000'000'000'000, "the configuration needs");
    copy.refused_setting("n_inner", -80, "");  // the message of the first layer that fails
    copy.refused_setting("layer_norm_epsilon", -1, "the norms' epsilon must be >= 0, got -1");
    copy.config([](Json& json) { json.erase("vocab_size"); });
    copy.refused("\"vocab_size\" is missing");
    copy.config([](Json& json) { json.erase("n_positions"), json.erase("n_ctx"); });
    copy.refused("\"n_positions\" is missing");
    spill(copy.config_file, "{\"model_type\": ");
    copy.refused("not JSON");
}

TEST_CASE("hugging face: a configuration that its tensors do not bear out") {
    const Copy copy;
    const std::string weights = copy.weights_file.string() + ": tensor ";
    const auto refused = [&](const char* name, const Json& value, const std::string& words) {
        copy.config([&](Json& json) { json[name] = value; });
        copy.refused(weights + words);
    };
    refused("vocab_size", 376, "\"wte.weight\" is f32 [377, 24]; the configuration needs f32 [376");
    refused("n_positions", 13, "\"wpe.weight\" is f32 [12, 24]; the configuration needs f32 [13");
    refused("n_inner", nullptr,
            "\"h.0.mlp.c_fc.weight\" is f32 [24, 80]; the configuration needs "
            "f32 [24, 96]");
    refused("n_embd", 27, "\"wte.weight\" is f32 [377, 24]");
    refused("n_layer", 1, "\"h.1.");
    refused("n_layer", 3, "\"h.2.ln_1.weight\" is missing");
    refused("tie_word_embeddings", false, "\"lm_head.weight\" is missing");
}

TEST_CASE("hugging face: tensors that are missing, unknown, twice there, or of another type") {
    Copy copy;
    const NamedTensors good = copy.tensors;
    const auto refused = [&](const std::function<void()>& change, const std::string& words) {
        copy.tensors = good;
        change();
        copy.save();
        copy.refused(copy.weights_file.string() + ": tensor " + words);
    };
    const auto erase = [&](const std::string& name) {
        copy.tensors.erase(std::find_if(copy.tensors.begin(), copy.tensors.end(),
                                        [&](const auto& entry) { return entry.first == name; }));
    };
    refused([&] { erase("h.1.attn.c_proj.bias"); }, "\"h.1.attn.c_proj.bias\" is missing");
    refused([&] { erase("wpe.weight"); }, "\"wpe.weight\" is missing");
    refused([&] { copy.tensors.emplace_back("h.0.attn.extra", ones({2})); },
            "\"h.0.attn.extra\" does not belong to the model");
    refused([&] { copy.tensors.emplace_back("h.2.attn.masked_bias", ones({1})); },
            "\"h.2.attn.masked_bias\" does not belong to the model");
    refused([&] { copy.tensors.emplace_back("transformer.ln_f.bias", ones({24})); },
            "\"ln_f.bias\" occurs twice, with and without a prefix");
    refused(
        [&] {
            copy.tensor("h.0.mlp.c_fc.weight") = ones({80, 24});
        },
        "\"h.0.mlp.c_fc.weight\" is f32 [80, 24]; the configuration needs f32 [24, 80]");
    refused([&] { copy.tensor("ln_f.bias") = ones({24}, DType::f64); },
            "\"ln_f.bias\" is f64 [24]; the configuration needs f32 [24]");
    refused(
        [&] {
            copy.tensors.emplace_back("lm_head.weight", ones({377, 24}));
        },
        "\"lm_head.weight\" is not \"wte.weight\", but the configuration ties them");
    fs::remove(copy.weights_file);
    copy.refused(fmt::format("cannot read '{}': No such file", copy.weights_file.string()));
    spill(copy.directory / "pytorch_model.bin", "x");
    copy.refused(
        "found pytorch_model.bin, but only model.safetensors and its shards are supported");
}

TEST_CASE("hugging face: our model there and back has the same bits") {
    GPTConfig config = small_config();
    SUBCASE("as it is") {}
    SUBCASE("an untied head") { config.tied_head = false; }
    SUBCASE("another width, another activation, another epsilon") {
        config.hidden = 20;
        config.activation = Activation::gelu_erf;
        config.norm_eps = 1e-3;
    }
    SUBCASE("relu, dropout") {
        config.activation = Activation::relu;
        config.dropout = 0.25;
    }
    SUBCASE("relu_squared") { config.activation = Activation::relu_squared; }
    SUBCASE("silu") { config.activation = Activation::silu; }
    SUBCASE("without biases") { config.bias = false; }
    const Ours ours(config);
    const Scratch scratch;
    export_hugging_face(scratch / "out", ours.model, nullptr);
    const LoadedModel loaded = load_model(scratch / "out");
    CHECK(loaded.tokenizer == nullptr);
    CHECK_EQ(logits_of(*loaded.model), logits_of(ours.model));
    const GPTConfig& c = as<GPT>(*loaded.model).config();
    CHECK_EQ(c.hidden, config.hidden);
    CHECK_EQ(c.dropout, config.dropout);
    CHECK_EQ(c.norm_eps, config.norm_eps);
    CHECK(c.activation == config.activation);
    CHECK_EQ(c.tied_head, config.tied_head);
    // Exporting again gives the same files.
    export_hugging_face(scratch / "again", *loaded.model, nullptr);
    CHECK_EQ(slurp(scratch / "again" / "config.json"), slurp(scratch / "out" / "config.json"));
    export_hugging_face(scratch / "out", *loaded.model, nullptr);
    CHECK(slurp(scratch / "again" / "model.safetensors") ==
          slurp(scratch / "out" / "model.safetensors"));
}

TEST_CASE("hugging face: what is written is what transformers expects") {
    const Ours ours(small_config());
    const Scratch scratch;
    export_hugging_face(scratch / "out", ours.model, nullptr);
    const Json config = Json::parse(slurp(scratch / "out" / "config.json"));
    CHECK_EQ(config.at("architectures"), Json::array({"GPT2LMHeadModel"}));
    CHECK_EQ(config.at("model_type"), "gpt2");
    CHECK_EQ(config.at("n_inner"), nullptr);
    CHECK_EQ(config.at("activation_function"), "gelu_new");
    CHECK_EQ(config.at("eos_token_id"), nullptr);
    const SafetensorsFile file = read_safetensors(scratch / "out" / "model.safetensors");
    CHECK_EQ(file.metadata, std::map<std::string, std::string>{{"format", "pt"}});
    std::map<std::string, Tensor> tensors(file.tensors.begin(), file.tensors.end());
    CHECK_EQ(tensors.size(), 2 + 2 * 12 + 2);
    CHECK(tensors.count("lm_head.weight") == 0);
    // [in, out]: the transpose of ours, also for square matrices.
    const auto& layer = *ours.model.blocks.layers[1];
    const auto same_transposed = [](const Tensor& stored, const Tensor& weight) {
        return stored.shape() == views::transpose(weight, 0, 1).shape() &&
               stored.to_vector<float>() == views::transpose(weight, 0, 1).to_vector<float>();
    };
    CHECK(same_transposed(tensors.at("transformer.h.1.attn.c_attn.weight"),
                          layer.attention.qkv->weight));
    CHECK(same_transposed(tensors.at("transformer.h.1.attn.c_proj.weight"),
                          layer.attention.output.weight));
    CHECK(same_transposed(tensors.at("transformer.h.1.mlp.c_fc.weight"),
                          layer.feed_forward.up.weight));
    CHECK(same_transposed(tensors.at("transformer.h.1.mlp.c_proj.weight"),
                          layer.feed_forward.down.weight));
    CHECK_EQ(tensors.at("transformer.wpe.weight").shape(), Shape{8, 8});
    CHECK_EQ(tensors.at("transformer.ln_f.bias").to_vector<float>(),
             ours.model.final_norm.bias.to_vector<float>());
}

TEST_CASE("hugging face: tokenizers go along") {
    const Scratch scratch;
    const LoadedModel bpe = load_model(kFixture);
    export_hugging_face(scratch / "bpe", *bpe.model, bpe.tokenizer.get());
    auto names = std::vector<std::string>{};
    for (const auto& entry : fs::directory_iterator(scratch / "bpe")) {
        names.push_back(entry.path().filename().native());
    }
    std::sort(names.begin(), names.end());
    CHECK_EQ(names, std::vector<std::string>{"config.json", "merges.txt", "model.safetensors",
                                             kManifestName, "tokenizer_config.json", "vocab.json"});
    const Json settings = Json::parse(slurp(scratch / "bpe" / "tokenizer_config.json"));
    CHECK_EQ(settings.at("eos_token"), "<|endoftext|>");
    CHECK_EQ(settings.at("tokenizer_class"), "GPT2Tokenizer");
    const LoadedModel again = load_model(scratch / "bpe");
    CHECK_EQ(again.tokenizer->encode("the cat's"), bpe.tokenizer->encode("the cat's"));
    CHECK_EQ(Json::parse(slurp(scratch / "bpe" / "config.json")).at("eos_token_id"), 376);
    CHECK_EQ(logits_of(*again.model), logits_of(*bpe.model));

    // Into the same directory: the old tokenizer's files go, which transformers would read.
    const Ours ours(small_config());
    const auto characters = CharTokenizer::from_text("abcdefghi");
    export_hugging_face(scratch / "bpe", ours.model, &characters);
    for (const char* name : {"vocab.json", "merges.txt", "tokenizer_config.json"}) {
        CHECK_FALSE(fs::exists(scratch / "bpe" / name));
    }
    const LoadedModel chars = load_model(scratch / "bpe");
    REQUIRE(chars.tokenizer != nullptr);
    CHECK_EQ(chars.tokenizer->kind(), "char");
    CHECK_EQ(chars.tokenizer->decode(Ids{2, 0, 1}), "cab");
    export_hugging_face(scratch / "bpe", ours.model, nullptr);
    CHECK(load_model(scratch / "bpe").tokenizer == nullptr);
}

TEST_CASE("hugging face: our format and back, with byte pairs") {
    const Scratch scratch;
    const LoadedModel bpe = load_model(kFixture);
    save_model(scratch / "ours", *bpe.model, *bpe.tokenizer);
    const LoadedModel again = load_model(scratch / "ours");
    CHECK_EQ(again.tokenizer->encode("the cat's"), bpe.tokenizer->encode("the cat's"));
    CHECK_EQ(logits_of(*again.model), logits_of(*bpe.model));
    fs::remove(scratch / "ours" / "merges.txt");
    check_message<IoError>([&] { load_model(scratch / "ours"); }, "incomplete vocabulary");
    fs::remove(scratch / "ours" / "vocab.json");
    check_message<IoError>([&] { load_model(scratch / "ours"); }, "neither vocab.json nor merges");
}

TEST_CASE("hugging face: what GPT-2 has no words for is not exported") {
    const Scratch scratch;
    const auto refused = [&](const GPTConfig& config, const std::string& words) {
        const Ours ours(config);
        check_message<ValueError>([&] { export_hugging_face(scratch / "o", ours.model, nullptr); },
                                  words);
        CHECK_FALSE(fs::exists(scratch / "o"));
    };
    GPTConfig config = small_config();
    config.positions = Positions::rotary;
    refused(config,
            "export: GPT-2's format supports learned positions only, but this model's are ro");
    config.positions = Positions::sinusoidal;
    refused(config, "learned positions only, but this model's are sinusoidal");
    config.positions = Positions::alibi;
    refused(config, "learned positions only, but this model's are alibi");
    config = small_config();
    config.kv_heads = 1;
    refused(config,
            "export: in GPT-2's format each head has separate keys and values, but in this model 2 "
            "heads share 1");
    config = small_config();
    config.qk_norm = QKNorm::rms;
    refused(config,
            "export: GPT-2's format has no norms of queries and keys, but this model's are rms");
    config = small_config();
    config.activation = Activation::swiglu;
    refused(config, "export: GPT-2's format has no name for the activation swiglu");
    config = small_config();
    config.pairs = 4;
    refused(config, "export: GPT-2's format has no tables of earlier tokens, but this model has");
    config = small_config();
    config.softcap = 15;
    refused(config, "export: GPT-2's format has no soft cap of logits, but this model has 15");
    Ours wide(small_config());
    wide.model.to(DType::f64);
    check_message<ValueError>(
        [&] { export_hugging_face(scratch / "o", wide.model, nullptr); },
        "export: parameter token_embedding.weight is f64, neither f32 nor bf16");
    spill(scratch / "file", "x");
    const Ours ours(small_config());
    check_message<IoError>([&] { export_hugging_face(scratch / "file", ours.model, nullptr); },
                           "cannot create directory");
}
