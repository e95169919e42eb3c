// Llama as Hugging Face stores it: a directory made by PyTorch gives PyTorch's numbers, and what
// would give others is refused by name. tests/fixtures/make_llama_fixture.py has made it.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/chat/chat_encoder.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/nn/models/llama/llama.h>
#include <tapestry/nn/train/step_on_text.h>
#include <tapestry/ops/loss.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>

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

const fs::path kFixture = test::source_dir() / "tests/fixtures/llama";

Json expected() { return Json::parse(slurp(kFixture / "expected.json")); }

void copy_fixture(const fs::path& to) {
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
        fs::copy_file(kFixture / name, to / name);
    }
}

void change_config(const fs::path& directory, const std::function<void(Json&)>& change) {
    Json config = Json::parse(slurp(directory / "config.json"));
    change(config);
    spill(directory / "config.json", config.dump());
}

// With an added token that no model's tokenizer is known to have.
void copy_with_own_end(const fs::path& to) {
    copy_fixture(to);
    Json tokenizer = Json::parse(slurp(to / "tokenizer.json"));
    Json mark = tokenizer["added_tokens"][0];
    mark["id"] = 376;
    mark["content"] = "[EOS]";
    tokenizer["added_tokens"].push_back(mark);
    spill(to / "tokenizer.json", tokenizer.dump());
}

double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double gap = 0;
    for (std::size_t i = 0; i < a.size(); ++i) gap = std::max(gap, std::abs(a[i] - b[i]));
    return gap;
}

}  // namespace

TEST_CASE("hugging face: a Llama's logits, loss and gradients are PyTorch's") {
    const LoadedModel loaded = load_model(kFixture);
    const Llama& model = as<Llama>(*loaded.model);
    CHECK(model.config().kv_heads == 2);
    CHECK(model.config().rotary_base == 1e5);
    CHECK(model.config().tied_head);
    loaded.model->to(DType::f64);  // the weights are exact in f32, so all digits must agree
    const Json is = expected();
    const auto ids = is["ids"].get<Ids>();
    const std::int64_t length = std::ssize(ids) - 1;
    const Tensor inputs = tensor(Ids(ids.begin(), ids.end() - 1), {1, length});
    const Tensor targets = tensor(Ids(ids.begin() + 1, ids.end()), {1, length});
    Tape tape;
    const Tensor logits = model(inputs);  // [1, T, V]
    const auto all = logits.to_vector<double>();
    CHECK(largest_gap({all.end() - model.config().vocab, all.end()},
                      is["logits_of_last"].get<std::vector<double>>()) < 1e-9);
    const Tensor loss = cross_entropy(logits, targets);
    CHECK(std::abs(loss.item<double>() - is["loss"].get<double>()) < 1e-9);
    tape.backward(loss);
    const std::int64_t width = 4;  // of a head
    const auto gradient = [&](const std::string& name, std::size_t from) {
        for (const auto& [own, parameter] : model.named_parameters()) {
            if (own != name) continue;
            const auto all_of_it = parameter.grad().to_vector<double>();
            return std::vector<double>(all_of_it.begin() + static_cast<std::ptrdiff_t>(from),
                                       all_of_it.end());
        }
        FAIL("no parameter " << name);
        return std::vector<double>();
    };
    const auto compare = [&](const std::string& theirs, const std::string& ours,
                             std::int64_t row = 0) {
        CAPTURE(theirs);
        const auto want = is["gradients"][theirs].get<std::vector<double>>();
        auto got = gradient(ours, static_cast<std::size_t>(row * model.config().dim));
        got.resize(want.size());
        CHECK(largest_gap(got, want) < 1e-9);
    };
    compare("model.norm.weight", "final_norm.weight");
    compare("model.layers.0.self_attn.k_proj.weight", "blocks.0.attention.qkv.weight", 6 * width);
    compare("model.layers.1.self_attn.q_proj.weight", "blocks.1.attention.qkv.weight");
    compare("model.layers.1.self_attn.v_proj.weight", "blocks.1.attention.qkv.weight", 8 * width);
    compare("model.layers.0.mlp.gate_proj.weight", "blocks.0.feed_forward.gate.weight");
}

TEST_CASE("hugging face: a Llama in our format and back, with its tokenizer") {
    const LoadedModel loaded = load_model(kFixture);
    REQUIRE(loaded.tokenizer != nullptr);
    CHECK(loaded.tokenizer->kind() == "json");
    // The table has rows that no token has.
    CHECK(token_texts(*loaded.tokenizer, Ids{0, 380}) ==
          std::vector<std::string>{"<|endoftext|>", "[380]"});
    const Scratch scratch;
    save_model(scratch / "ours", *loaded.model, *loaded.tokenizer);
    const LoadedModel again = load_model(scratch / "ours");
    CHECK(again.tokenizer->hash() == loaded.tokenizer->hash());
    const Ids text = again.tokenizer->encode("the cat 42");
    const Tensor ids = tensor(text, {1, std::ssize(text)});
    CHECK((*again.model)(ids).to_vector<float>() == (*loaded.model)(ids).to_vector<float>());
}

TEST_CASE("hugging face: what a directory declares as ends of texts is taken for them") {
    struct Declared {
        const char* ids;         // config.json's eos_token_id
        const char* generation;  // generation_config.json
        const char* settings;    // tokenizer_config.json
        Ids eos;
        std::int64_t end;
    };
    const std::vector<Declared> cases{
        {"376", "", "", {376}, 376},
        {"376", R"({"eos_token_id": 0})", "", {0}, 0},
        {"376", R"({"do_sample": true})", "", {376}, 376},
        {"0", R"({"eos_token_id": [376, 0, 2]})", "", {0, 376, 2}, 0},
        {"5", R"({"eos_token_id": [376, 0]})", "", {376, 0}, 376},
        {"2", "", R"({"eos_token": "[EOS]"})", {2}, 0},  // a turn's end, not a text's
        {"[2, 376]", "", "", {2, 376}, 376},
        {"5", "", "", {5}, 0},  // no added token
        {"null", "", R"({"eos_token": "[EOS]"})", {376}, 376},
        {"null", "", R"({"eos_token": {"content": "[EOS]"}})", {376}, 376},
        {"null", "", R"({"eos_token": null})", {}, 0},
        {"null", "", "", {}, 0}};
    for (const Declared& one : cases) {
        CAPTURE(one.ids);
        CAPTURE(one.generation);
        CAPTURE(one.settings);
        const Scratch scratch;
        copy_with_own_end(scratch.path());
        change_config(scratch.path(),
                      [&](Json& config) { config["eos_token_id"] = Json::parse(one.ids); });
        if (*one.generation != 0) spill(scratch / "generation_config.json", one.generation);
        if (*one.settings != 0) spill(scratch / "tokenizer_config.json", one.settings);
        const LoadedModel loaded = load_model(scratch.path());
        CHECK(loaded.conventions.eos == one.eos);
        CHECK(loaded.tokenizer->declared_ends() == one.eos);
        CHECK(loaded.tokenizer->end_of_text() == one.end);
        // Kept in our format, and in an export.
        save_model(scratch / "ours", *loaded.model, *loaded.tokenizer, loaded.conventions);
        CHECK(load_model(scratch / "ours").tokenizer->end_of_text() == one.end);
        CHECK(load_tokenizer(scratch / "ours")->declared_ends() == one.eos);
        export_hugging_face(scratch / "theirs", *loaded.model, loaded.tokenizer.get(),
                            loaded.conventions);
        CHECK(load_model(scratch / "theirs").tokenizer->end_of_text() == one.end);
    }
    const Scratch scratch;
    copy_fixture(scratch.path());
    change_config(scratch.path(), [](Json& config) { config.erase("eos_token_id"); });
    spill(scratch / "tokenizer_config.json", R"({"eos_token": 3})");
    check_message<IoError>([&] { load_model(scratch.path()); },
                           "\"eos_token\" is neither a text nor an object");
}

TEST_CASE("hugging face: an end with an unusual name ends answers, which may have line breaks") {
    const Scratch scratch;
    copy_fixture(scratch.path());
    std::string tokenizer = slurp(scratch / "tokenizer.json");
    const std::string usual = "<|endoftext|>";
    for (std::size_t at = tokenizer.find(usual); at != tokenizer.npos; at = tokenizer.find(usual)) {
        tokenizer.replace(at, usual.size(), "[EOS]");
    }
    spill(scratch / "tokenizer.json", tokenizer);
    const LoadedModel loaded = load_model(scratch.path());
    const ChatEncoder encoder(chosen_template({}, *loaded.tokenizer), *loaded.tokenizer);
    CHECK(encoder.end() == 0);
    const std::vector<ChatMessage> messages{{"user", "a"}, {"assistant", "b\nc"}};
    CHECK(loaded.tokenizer->decode(encoder.encode(messages).ids) ==
          "User: a\nAssistant: b\nc[EOS]");
    export_hugging_face(scratch / "theirs", *loaded.model, loaded.tokenizer.get(),
                        loaded.conventions);
    const Json settings = Json::parse(slurp(scratch / "theirs/tokenizer_config.json"));
    CHECK(settings["eos_token"] == "[EOS]");
}

TEST_CASE("hugging face: a Llama is called one where another kind is needed") {
    check_message<IoError>([] { load_transformer(kFixture); },
                           "the model is a Llama, expected an encoder-decoder");
}

TEST_CASE("hugging face: other spellings of the same Llama") {
    const Tensor ids = tensor<std::int64_t>({{3, 70, 9, 200}});
    const auto usual = (*load_model(kFixture).model)(ids).to_vector<float>();
    const Scratch scratch;
    copy_fixture(scratch.path());
    change_config(scratch.path(), [](Json& config) {  // as transformers 5 writes it
        config.erase("rope_theta");
        config.erase("rope_scaling");
        config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 100000}};
        config["head_dim"] = 4;
    });
    CHECK((*load_model(scratch.path()).model)(ids).to_vector<float>() == usual);
    change_config(scratch.path(), [](Json& config) {  // a scaling that is none
        config["rope_scaling"] = {{"rope_type", "default"}};
    });
    CHECK((*load_model(scratch.path()).model)(ids).to_vector<float>() == usual);

    SafetensorsFile file = read_safetensors(kFixture / "model.safetensors");
    NamedTensors more(file.tensors.begin(), file.tensors.end());
    more.emplace_back("model.layers.0.self_attn.rotary_emb.inv_freq", zeros({2}));
    for (const auto& [name, tensor] : file.tensors) {
        if (name == "model.embed_tokens.weight") more.emplace_back("lm_head.weight", tensor);
    }
    write_safetensors(scratch / "model.safetensors", more);
    CHECK((*load_model(scratch.path()).model)(ids).to_vector<float>() == usual);
    more.back().second = more.back().second.clone();
    more.back().second.mutable_data<float>()[5] += 1;
    write_safetensors(scratch / "model.safetensors", more);
    check_message<IoError>([&] { load_model(scratch.path()); },
                           "\"lm_head.weight\" is not \"model.embed_tokens.weight\"");
}

TEST_CASE("hugging face: a Llama that would compute something else is refused") {
    const std::vector<std::pair<std::function<void(Json&)>, std::vector<std::string>>> changes{
        {[](Json& c) {
             c["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
         },
         {"rope_scaling"}},
        {[](Json& c) {
             c["rope_parameters"] = {{"rope_type", "llama3"}};
         },
         {"llama3"}},
        {[](Json& c) {
             c["rope_parameters"] = {{"rope_theta", 500000}};
         },
         {"rope_theta", "100000", "500000"}},
        {[](Json& c) { c["attention_bias"] = true; }, {"q_proj.bias", "missing"}},
        {[](Json& c) { c["mlp_bias"] = true; }, {"mlp", "bias", "missing"}},
        {[](Json& c) { c["head_dim"] = 8; }, {"k_proj", "[8, 24]", "[16, 24]"}},
        {[](Json& c) { c["hidden_act"] = "gelu"; }, {"hidden_act", "gelu"}},
        {[](Json& c) { c["num_attention_heads"] = 5; }, {"config.json", "5 heads"}},
        {[](Json& c) { c["num_hidden_layers"] = 3; }, {"model.layers.2"}},
        {[](Json& c) { c["num_hidden_layers"] = 1; }, {"model.layers.1"}},
        {[](Json& c) { c["intermediate_size"] = 44; }, {"mlp", "40", "44"}},
        {[](Json& c) { c["vocab_size"] = 300; }, {"tokenizer", "300"}},
        {[](Json& c) { c["tie_word_embeddings"] = false; }, {"lm_head.weight"}},
        {[](Json& c) { c.erase("hidden_size"); }, {"hidden_size"}},
        {[](Json& c) { c["model_type"] = "mistral"; }, {"model_type", "mistral"}}};
    for (const auto& one : changes) {
        const std::vector<std::string>& parts = one.second;
        CAPTURE(parts.front());
        const Scratch scratch;
        copy_fixture(scratch.path());
        change_config(scratch.path(), one.first);
        const std::string message = message_of<IoError>([&] { load_model(scratch.path()); });
        for (const std::string& part : parts) {
            CHECK_MESSAGE(message.find(part) != std::string::npos, message);
        }
    }
}
