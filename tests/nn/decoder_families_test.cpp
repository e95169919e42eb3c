// Families of decoders as Hugging Face stores them: directories made by PyTorch give PyTorch's
// numbers and are written back, and what would give others is refused by name.
// tests/fixtures/make_decoder_fixtures.py has made them.
#include <doctest/doctest.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/llama/llama.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>
#include <map>

using namespace tapestry;
using test::check_message;
using test::message_of;
using test::Scratch;
using test::slurp;
using test::spill;
using Json = nlohmann::ordered_json;
using Numbers = std::vector<double>;
namespace fs = std::filesystem;

namespace {

struct Family {
    const char* name;
    const char* phrase;
    std::int64_t blocks, heads;
    std::int64_t head_dim;
};
constexpr std::array<Family, 3> kFamilies{{{"qwen3", "a Qwen3", 2, 4, 6},
                                           {"gpt_neox", "a GPT-NeoX", 2, 2, 8},
                                           {"gpt_neo", "a GPT-Neo", 4, 4, 4}}};

fs::path fixture(const Family& family) {
    return test::source_dir() / "tests/fixtures" / family.name;
}

void copy_fixture(const Family& family, const fs::path& to) {
    for (const char* name : {"config.json", "model.safetensors"}) {
        fs::copy_file(fixture(family) / name, to / name);
    }
}

void change_config(const fs::path& directory, const std::function<void(Json&)>& change) {
    Json config = Json::parse(slurp(directory / "config.json"));
    change(config);
    spill(directory / "config.json", config.dump());
}

// What files of old versions hold besides parameters, some of it in types that are not read.
bool is_buffer(const std::string& name) {
    return name.ends_with(".attention.bias") || name.ends_with(".attn.bias") ||
           name.ends_with("masked_bias") || name.ends_with("inv_freq");
}

// All but buffers.
std::map<std::string, Tensor> tensors_in(const fs::path& file) {
    const auto wanted = [](const std::string& name) { return !is_buffer(name); };
    std::map<std::string, Tensor> found;
    for (const auto& [name, tensor] : read_safetensors(file, wanted).tensors) {
        found.emplace(name, tensor);
    }
    return found;
}

double largest_gap(const Numbers& a, const Numbers& b) {
    REQUIRE(a.size() == b.size());
    double gap = 0;
    for (std::size_t i = 0; i < a.size(); ++i) gap = std::max(gap, std::abs(a[i] - b[i]));
    return gap;
}

void append(Numbers& to, const Numbers& more) { to.insert(to.end(), more.begin(), more.end()); }

// What the fixture has for one of our parameters.
class Expected {
public:
    explicit Expected(const Family& family)
        : family_(family), all_(tensors_in(fixture(family) / "expected.safetensors")) {}

    Tensor at(const std::string& name) const {
        INFO(name);
        REQUIRE(all_.contains(name));
        return all_.at(name);
    }
    Numbers numbers(const std::string& name) const { return at(name).to_vector<double>(); }

    Numbers of(const std::string& ours) const {
        const std::string name = family_.name;
        const auto dot = ours.rfind('.');
        const std::string leaf = ours.substr(dot), part = ours.substr(0, dot);
        if (!ours.starts_with("blocks.")) return numbers(top().at(name).at(part) + leaf);
        const std::string block = part.substr(7, 1), inner = part.substr(9);
        const std::string layer = layers().at(name) + block + ".";
        if (inner != "attention.qkv") return numbers(layer + parts().at(name).at(inner) + leaf);
        if (name == "gpt_neox") return by_kind(at(layer + "attention.query_key_value" + leaf));
        Numbers all;
        for (const char* one : {"q", "k", "v"}) {
            append(all, numbers(layer + (name == "qwen3" ? "self_attn." : "attn.attention.") + one +
                                "_proj" + leaf));
        }
        return all;
    }

private:
    using Names = std::map<std::string, std::map<std::string, std::string>>;

    // Rows of head 0's query, head 0's key, head 0's value, head 1's query, ...: all queries first.
    Numbers by_kind(const Tensor& mixed) const {
        const auto rows = static_cast<std::size_t>(mixed.size(0));
        const Numbers all = mixed.to_vector<double>();
        const std::size_t width = all.size() / rows;
        Numbers sorted;
        for (std::int64_t kind = 0; kind < 3; ++kind) {
            for (std::int64_t head = 0; head < family_.heads; ++head) {
                for (std::int64_t row = 0; row < family_.head_dim; ++row) {
                    const std::int64_t at = (3 * head + kind) * family_.head_dim + row;
                    const auto begin = all.begin() + at * static_cast<std::int64_t>(width);
                    sorted.insert(sorted.end(), begin, begin + static_cast<std::int64_t>(width));
                }
            }
        }
        return sorted;
    }

    static std::map<std::string, std::string> layers() {
        return {{"qwen3", "model.layers."},
                {"gpt_neox", "gpt_neox.layers."},
                {"gpt_neo", "transformer.h."}};
    }
    static Names top() {
        return {
            {"qwen3", {{"token_embedding", "model.embed_tokens"}, {"final_norm", "model.norm"}}},
            {"gpt_neox",
             {{"token_embedding", "gpt_neox.embed_in"},
              {"final_norm", "gpt_neox.final_layer_norm"},
              {"head", "embed_out"}}},
            {"gpt_neo",
             {{"token_embedding", "transformer.wte"},
              {"position_embedding", "transformer.wpe"},
              {"final_norm", "transformer.ln_f"}}}};
    }
    static Names parts() {
        return {{"qwen3",
                 {{"attention_norm", "input_layernorm"},
                  {"attention.output", "self_attn.o_proj"},
                  {"attention.query_norm", "self_attn.q_norm"},
                  {"attention.key_norm", "self_attn.k_norm"},
                  {"feed_forward_norm", "post_attention_layernorm"},
                  {"feed_forward.gate", "mlp.gate_proj"},
                  {"feed_forward.up", "mlp.up_proj"},
                  {"feed_forward.down", "mlp.down_proj"}}},
                {"gpt_neox",
                 {{"attention_norm", "input_layernorm"},
                  {"attention.output", "attention.dense"},
                  {"feed_forward_norm", "post_attention_layernorm"},
                  {"feed_forward.up", "mlp.dense_h_to_4h"},
                  {"feed_forward.down", "mlp.dense_4h_to_h"}}},
                {"gpt_neo",
                 {{"attention_norm", "ln_1"},
                  {"attention.output", "attn.attention.out_proj"},
                  {"feed_forward_norm", "ln_2"},
                  {"feed_forward.up", "mlp.c_fc"},
                  {"feed_forward.down", "mlp.c_proj"}}}};
    }

    const Family& family_;
    std::map<std::string, Tensor> all_;
};

}  // namespace

TEST_CASE("decoder families: logits, loss and all gradients are PyTorch's") {
    for (const Family& family : kFamilies) {
        CAPTURE(family.name);
        const LoadedModel loaded = load_model(fixture(family));
        const LanguageModel& model = *loaded.model;
        CHECK(row_of(model.model_config()).phrase == std::string(family.phrase));
        loaded.model->to(DType::f64);  // the weights are exact in f32, so all digits must agree
        const Expected expected(family);
        const Tensor ids = reshape(expected.at("ids"), {1, 17});
        Tape tape;
        const Tensor logits = model(slice(ids, 1, 0, 16));  // [1, T, V]
        CHECK(largest_gap(logits.to_vector<double>(), expected.numbers("logits")) < 1e-9);
        const Tensor loss = cross_entropy(logits, slice(ids, 1, 1, 17));
        CHECK(std::abs(loss.item<double>() - expected.at("loss").item<double>()) < 1e-9);
        tape.backward(loss);
        std::size_t compared = 0;
        for (const auto& one : model.named_parameters()) {
            const std::string& name = one.first;
            CAPTURE(name);
            const double gap =
                largest_gap(one.second.grad().to_vector<double>(), expected.of(name));
            CHECK(gap < 1e-9);
            ++compared;
        }
        CHECK(compared == model.named_parameters().size());
        CHECK(compared > static_cast<std::size_t>(8 * family.blocks));
    }
}

TEST_CASE("decoder families: a cache gives the logits of the whole sequence") {
    for (const Family& family : kFamilies) {
        CAPTURE(family.name);
        const LoadedModel loaded = load_model(fixture(family));
        loaded.model->to(DType::f64);
        const NoGradGuard no_grad;
        const Tensor ids = reshape(Expected(family).at("ids"), {1, 17});
        const Tensor whole = (*loaded.model)(ids);
        for (const std::int64_t step : {1, 3, 17}) {
            std::vector<KeyValueCache> caches;
            for (std::int64_t at = 0; at < 17; at += step) {
                const std::int64_t end = std::min<std::int64_t>(17, at + step);
                const Tensor part = (*loaded.model)(slice(ids, 1, at, end), {.caches = &caches});
                CHECK(largest_gap(part.to_vector<double>(),
                                  slice(whole, 1, at, end).to_vector<double>()) < 1e-12);
            }
        }
    }
}

TEST_CASE(
    "decoder families: a directory is written back, with the same names, numbers and config") {
    for (const Family& family : kFamilies) {
        CAPTURE(family.name);
        const LoadedModel loaded = load_model(fixture(family));
        const Scratch scratch;
        export_hugging_face(scratch / "out", *loaded.model, nullptr);
        const auto before = tensors_in(fixture(family) / "model.safetensors");
        const auto after = tensors_in(scratch / "out/model.safetensors");
        for (const auto& one : before) {
            CAPTURE(one.first);
            REQUIRE(after.contains(one.first));
            CHECK_EQ(after.at(one.first).shape(), one.second.shape());
            CHECK(after.at(one.first).to_vector<double>() == one.second.to_vector<double>());
        }
        CHECK(read_safetensors(scratch / "out/model.safetensors").tensors.size() == before.size());

        // Every setting that the original has, and that this program reads, has its value.
        const Json was = Json::parse(slurp(fixture(family) / "config.json"));
        const Json is = Json::parse(slurp(scratch / "out/config.json"));
        std::size_t same = 0;
        for (const auto& one : was.items()) {
            const auto found = is.find(one.key());
            if (found == is.end() || one.value().is_null()) continue;
            CAPTURE(one.key());
            const bool is_free = one.key() == "torch_dtype" || one.key() == "attention_types" ||
                                 one.key().ends_with("_token_id");
            if (is_free) continue;
            CHECK(*found == one.value());
            ++same;
        }
        CHECK(same >= 11);
        for (const char* needed : {"architectures", "model_type", "vocab_size"}) {
            CHECK(is.contains(needed));
        }

        const LoadedModel again = load_model(scratch / "out");
        const Tensor ids = tensor<std::int64_t>({{3, 70, 9, 200, 5, 6, 7}});
        const auto logits = (*loaded.model)(ids).to_vector<float>();
        CHECK((*again.model)(ids).to_vector<float>() == logits);
        // In 16 bits, too.
        again.model->to(DType::bf16);
        export_hugging_face(scratch / "half", *again.model, nullptr);
        const auto narrow = tensors_in(scratch / "half/model.safetensors");
        CHECK(narrow.begin()->second.dtype() == DType::bf16);
        CHECK_EQ((*load_model(scratch / "half").model)(ids).shape(), Shape{1, 7, 384});
    }
}

TEST_CASE("decoder families: old and new spellings, and the defaults of transformers") {
    const Tensor ids = tensor<std::int64_t>({{3, 70, 9, 200, 5, 6, 7, 8}});
    const auto logits_after = [&](const Family& family, const std::function<void(Json&)>& change) {
        const Scratch scratch;
        copy_fixture(family, scratch.path());
        change_config(scratch.path(), change);
        return (*load_model(scratch.path()).model)(ids).to_vector<float>();
    };
    const auto same = [&](const Family& family, const std::function<void(Json&)>& change) {
        CHECK(logits_after(family, change) == logits_after(family, [](Json&) {}));
    };
    const auto &qwen3 = kFamilies[0], &neox = kFamilies[1], &neo = kFamilies[2];
    same(qwen3, [](Json& c) {
        c.erase("rope_theta");
        c["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1000000}};
        c["layer_types"] = {"full_attention", "full_attention"};
    });
    same(neox, [](Json& c) {  // as transformers 5 writes it
        c.erase("rotary_emb_base");
        c.erase("rotary_pct");
        c["rope_parameters"] = {{"rope_theta", 10000}, {"partial_rotary_factor", 0.5}};
        c["attention_bias"] = true;
    });
    same(neox, [](Json& c) { c.erase("rotary_emb_base"); });
    same(neox, [](Json& c) {
        for (const char* usual :
             {"use_parallel_residual", "hidden_act", "layer_norm_eps", "tie_word_embeddings"}) {
            c.erase(usual);
        }
    });
    same(neo, [](Json& c) { c.erase("attention_layers"); });
    same(neo, [](Json& c) { c.erase("attention_types"); });
    same(neo, [](Json& c) { c["intermediate_size"] = 64; });
    // And what must matter does.
    CHECK(logits_after(neo, [](Json& c) { c["window_size"] = 5; }) !=
          logits_after(neo, [](Json&) {}));
    CHECK(logits_after(neox, [](Json& c) { c["use_parallel_residual"] = false; }) !=
          logits_after(neox, [](Json&) {}));
    CHECK(logits_after(neox, [](Json& c) { c["rotary_pct"] = 0.25; }) !=
          logits_after(neox, [](Json&) {}));
    CHECK(logits_after(neox, [](Json& c) { c["hidden_act"] = "gelu_new"; }) !=
          logits_after(neox, [](Json&) {}));
}

TEST_CASE("decoder families: what would compute something else is refused by its name") {
    const auto &qwen3 = kFamilies[0], &neox = kFamilies[1], &neo = kFamilies[2];
    struct Change {
        const Family& family;
        std::function<void(Json&)> change;
        std::vector<std::string> parts;
    };
    const std::vector<Change> changes{
        {qwen3, [](Json& c) { c["use_sliding_window"] = true; }, {"use_sliding_window"}},
        {qwen3,
         [](Json& c) {
             c["layer_types"] = {"full_attention", "sliding_attention"};
         },
         {"layer_types", "sliding_attention"}},
        {qwen3,
         [](Json& c) {
             c["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}};
         },
         {"rope_scaling"}},
        {qwen3,
         [](Json& c) { c["partial_rotary_factor"] = 0.5; },
         {"partial_rotary_factor", "0.5"}},
        {qwen3, [](Json& c) { c["hidden_act"] = "gelu"; }, {"hidden_act", "gelu"}},
        {qwen3, [](Json& c) { c.erase("head_dim"); }, {"config.json", "parameters"}},
        {qwen3, [](Json& c) { c["attention_bias"] = true; }, {"q_proj.bias", "missing"}},
        {qwen3,
         [](Json& c) {
             c["quantization_config"] = {{"bits", 4}};
         },
         {"quantization_config"}},
        {neox, [](Json& c) { c["rope_theta"] = 50000; }, {"rotary_emb_base", "10000", "50000"}},
        {neox, [](Json& c) { c["partial_rotary_factor"] = 1.0; }, {"rotary_pct", "0.5", "1"}},
        {neox, [](Json& c) { c["rotary_pct"] = 0.4; }, {"config.json", "rotated in pairs"}},
        {neox, [](Json& c) { c["hidden_act"] = "mish"; }, {"hidden_act", "mish", "gelu_new"}},
        {neox, [](Json& c) { c["attention_bias"] = false; }, {"attention.dense.bias"}},
        {neox, [](Json& c) { c["tie_word_embeddings"] = true; }, {"embed_out.weight"}},
        {neox, [](Json& c) { c["num_attention_heads"] = 3; }, {"3 heads"}},
        {neox, [](Json& c) { c["intermediate_size"] = 44; }, {"mlp.dense_", "40", "44"}},
        {neo,
         [](Json& c) {
             c.erase("attention_types");
             c["attention_layers"] = {"local", "global", "global", "local"};
         },
         {"attention_types", "block 1", "global"}},
        {neo,
         [](Json& c) {
             c["attention_layers"] = {"global", "global", "global", "global"};
         },
         {"disagree"}},
        {neo,
         [](Json& c) {
             c.erase("attention_layers");
             c["attention_types"] = {{{"global", "local"}, 3}};
         },
         {"6 blocks", "4"}},
        {neo,
         [](Json& c) {
             c.erase("attention_layers");
             c["attention_types"] = {{{"global", "local"}, 1'000'000'000}};
         },
         {"attention_types", "more than"}},
        {neo, [](Json& c) { c["window_size"] = 0; }, {"window_size"}},
        {neo, [](Json& c) { c.erase("num_heads"); }, {"num_heads"}},
        {neo, [](Json& c) { c["num_layers"] = 1'000'000'000; }, {"4 blocks", "1000000000"}},
        {neox,
         [](Json& c) { c["num_hidden_layers"] = 1'000'000'000; },
         {"config.json", "parameters"}}};
    for (const Change& one : changes) {
        const std::vector<std::string>& parts = one.parts;
        CAPTURE(parts.front());
        const Scratch scratch;
        copy_fixture(one.family, scratch.path());
        change_config(scratch.path(), one.change);
        const std::string message = message_of<IoError>([&] { load_model(scratch.path()); });
        for (const std::string& part : parts) {
            CHECK_MESSAGE(message.find(part) != std::string::npos, message);
        }
    }
}

TEST_CASE("decoder families: weights in shards") {
    const Tensor ids = tensor<std::int64_t>({{3, 70, 9}});
    const fs::path gpt2 = test::source_dir() / "tests/fixtures/gpt2";
    for (const fs::path& from : {fixture(kFamilies[0]), gpt2}) {
        const auto logits = (*load_model(from).model)(ids).to_vector<float>();
        const Scratch scratch;
        fs::copy_file(from / "config.json", scratch / "config.json");
        NamedTensors parts[2];
        const auto all = tensors_in(from / "model.safetensors");
        Json map;
        for (const auto& [name, tensor] : all) {
            const std::size_t part = parts[0].size() < all.size() / 2 ? 0 : 1;
            parts[part].emplace_back(name, tensor);
            map[name] = fmt::format("model-0000{}-of-00002.safetensors", part + 1);
        }
        const auto write_index = [&] {
            spill(scratch / "model.safetensors.index.json", Json{{"weight_map", map}}.dump());
        };
        write_index();
        const fs::path first = scratch / "model-00001-of-00002.safetensors";
        write_safetensors(first, parts[0]);
        const auto refused = [&](const char* message) {
            check_message<IoError>([&] { load_model(scratch.path()); }, message);
        };
        refused("the shard model-00002-of-00002.safetensors is missing");
        write_safetensors(scratch / "model-00002-of-00002.safetensors", parts[1]);
        CHECK((*load_model(scratch.path()).model)(ids).to_vector<float>() == logits);
        parts[1].push_back(parts[0].front());
        write_safetensors(scratch / "model-00002-of-00002.safetensors", parts[1]);
        refused("is in another shard, too");
        for (const char* name :
             {"../model.safetensors", "/etc/passwd", ".safetensors", "a/b.safetensors", "x"}) {
            map[all.begin()->first] = name;
            write_index();
            refused("which is no file of weights beside it");
        }
        map = Json::object();
        write_index();
        refused("names no file");
        map = 3;
        write_index();
        refused("index.json");
    }
}

TEST_CASE("decoder families: what a family's files cannot express is not exported") {
    const Scratch scratch;
    const auto refused = [&](const char* kind, const std::function<void(LlamaConfig&)>& change,
                             const char* message) {
        auto config = std::get<LlamaConfig>(model_row(kind).defaults);
        config.vocab = 7;
        config.dim = 16;
        config.layers = 2;
        config.heads = 2;
        change(config);
        const Llama model(config);
        check_message<ValueError>([&] { export_hugging_face(scratch / "out", model, nullptr); },
                                  message);
        CHECK_FALSE(fs::exists(scratch / "out"));
    };
    refused(
        "llama", [](auto& c) { c.norm = NormKind::layer; }, "a Llama have no place for norm layer");
    refused(
        "llama", [](auto& c) { c.qk_norm = QKNorm::rms; }, "no place for qk_norm rms");
    refused(
        "qwen3", [](auto& c) { c.rotary_share = 0.5; }, "no place for rotary_share 0.5");
    refused(
        "qwen3", [](auto& c) { c.window = 3; }, "no place for window 3");
    refused(
        "qwen3", [](auto& c) { c.output_bias = true; }, "no place for output_bias yes");
    refused(
        "gpt_neox", [](auto& c) { c.kv_heads = 1; }, "no place for kv_heads 1");
    refused(
        "gpt_neox", [](auto& c) { c.head_dim = 16; }, "no place for head_dim 16");
    refused(
        "gpt_neo", [](auto& c) { c.attention_scale = 0; }, "no place for attention_scale 0.3535");
    refused(
        "gpt_neo", [](auto& c) { c.activation = Activation::swiglu; },
        "no place for activation swiglu");
}
