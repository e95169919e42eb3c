// Adapters in PEFT's format: what is read, what is refused, and the names and rows that each
// family's files have. What LoRA computes is in lora_test.cpp.
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/tests/nn/lora_support.h>

#include <functional>
#include <set>

using namespace tapestry;
using test::Adapted;
using test::change_adapter;
using test::check_message;
using test::expected;
using test::kAdapter;
using test::kBase;
using test::largest_gap;
using test::logits_of;
using test::LoraPlace;
using test::slurp;
using test::spill;
using Json = nlohmann::ordered_json;
using Ids = std::vector<std::int64_t>;
namespace fs = std::filesystem;

TEST_CASE("LoRA: adapters that this does not compute are refused by name") {
    const test::Scratch scratch;
    const auto refused = [&](const std::function<void(Json&)>& change, const char* words) {
        fs::remove_all(scratch / "a");
        change_adapter(scratch / "a", change);
        const LoadedModel loaded = load_model(kBase);
        check_message<IoError>([&] { load_adapter(scratch / "a", *loaded.model); }, words);
        CHECK(lora_updates(*loaded.model).empty());
    };
    refused([](Json& c) { c["use_dora"] = true; }, "\"use_dora\" is true, which changes what");
    refused(
        [](Json& c) {
            c["rank_pattern"] = {{"q_proj", 4}};
        },
        "is [3, 24], but the rank and query of blocks.0.attention.qkv need [4, 24]");
    refused(
        [](Json& c) {
            c["rank_pattern"] = {{"q_proj", "4"}};
        },
        "\"rank_pattern\": 'q_proj' is \"4\"; must be a number above 0");
    refused(
        [](Json& c) {
            c["alpha_pattern"] = {{"layers\\.[0-3]\\..*", 4}};
        },
        "adapter_config.json: \"alpha_pattern\": 'layers\\.[0-3]\\..*': '[' is not supported; "
        "replace the key by the names of the modules, or their ends");
    refused([](Json& c) { c["brand_new"] = 3; }, "\"brand_new\" is 3, which changes what");
    refused([](Json& c) { c["bias"] = "all"; }, "\"bias\" is \"all\"; only \"none\" is supported");
    refused([](Json& c) { c["peft_type"] = "IA3"; }, "\"peft_type\" is \"IA3\"; only \"LORA\"");
    refused([](Json& c) { c["init_lora_weights"] = "pissa"; },
            "\"init_lora_weights\" is \"pissa\": such an adapter belongs to weights that differ");
    refused([](Json& c) { c["r"] = 4; },
            "is [3, 24], but the rank and query of "
            "blocks.0.attention.qkv need [4, 24]");
    refused([](Json& c) { c.erase("r"); }, "\"r\" is missing");
    change_adapter(scratch / "eva", [](Json& c) {  // how training began, which changes nothing
        c["init_lora_weights"] = "eva";
        c["eva_config"] = {{"rho", 2.0}};
    });
    CHECK(Adapted(scratch / "eva").count == 6);
}

TEST_CASE("LoRA: keys of rank_pattern and alpha_pattern name modules as PEFT's re.match does") {
    const std::string name = "model.layers.13.self_attn.q_proj";
    for (const char* key :
         {"q_proj", "self_attn.q_proj", "model.layers.13.self_attn.q_proj", "^model.*q_proj",
          "^model.layers.13.self_attn.q_proj$", "layers\\.13\\.self_attn\\.q_proj", ".*q_proj",
          "layers.\\d+.self_attn.q_proj", "layers\\.(3|13)\\..*", "(k_proj|q_proj)",
          "k_proj|q_proj", "layers.(?:\\d|1(2|3)).self_attn.(q|v)_proj", ".*",
          "layers.1\\d*\\.self_attn.+", "q_proj$"}) {
        CAPTURE(key);
        CHECK(ModulePattern(key).matches(name));
    }
    for (const char* key :
         {"proj", "_proj", "k_proj", "^q_proj", "self_attn", "layers.3.self_attn.q_proj", "",
          "layers.\\d.self_attn.q_proj", "(k|v)_proj", "x.*", "q_proj.", "13.*.q_proj.+",
          "model.layers.13.self_attn.q_projx"}) {
        CAPTURE(key);
        CHECK_FALSE(ModulePattern(key).matches(name));
    }
    const auto refused = [](const char* key, const char* words) {
        CAPTURE(key);
        check_message<ValueError>([&] { ModulePattern{key}; }, words);
    };
    refused("layers.[0-3].x", "'[' is not supported");
    refused("layers.\\w+", "'\\w' is not supported");
    refused("q_proj?", "'?' is not supported");
    refused("(?!q)_proj", "'?' is not supported");
    refused("a^b", "'^' is not supported");
    refused("a$|b", "'$' is not supported");
    refused("a+", "only . and \\d can be repeated");
    refused("(q|v)+", "a group cannot be repeated");
    refused("(q|v", "'(' has no ')'");
    refused("q)", "')' has no '('");
    refused("a\\", "'\\' is not supported");
    refused(std::string(100'000, '(').c_str(), "more than 16 groups in one another");
}

TEST_CASE("LoRA: ranks and alphas of single matrices are read, used and written") {
    const test::Scratch scratch;
    change_adapter(scratch / "a", [](Json& c) {  // the same numbers, said otherwise
        const double alpha = c["lora_alpha"].get<double>();
        c["r"] = 5;
        c["rank_pattern"] = {{"(q|v)_proj", 3}, {"layers\\.\\d+\\.mlp.down_proj", 3}};
        c["lora_alpha"] = 2 * alpha;
        c["alpha_pattern"] = {{".*", alpha}};
    });
    const Adapted same(scratch / "a");
    CHECK(same.count == 6);
    const auto logits = expected()["logits_of_last"].get<std::vector<double>>();
    CHECK(largest_gap(same.last(*merged(*same.loaded.model)), logits) < 1e-9);
    // Of different ranks and alphas.
    const LoadedModel two = load_model(kBase);
    Generator generator(3);
    for (LoraSite& site : lora_sites(*two.model)) {
        if (site.target != "query" && site.target != "down") continue;
        const bool is_query = site.target == "query";
        add_update(site, {.rank = is_query ? 2 : 4, .alpha = is_query ? 3.0 : 8.0}, generator);
        site.update->b.copy_(randn(site.update->b.shape(), generator));
    }
    Commit commit(scratch.path());
    write_adapter(commit, "adapter", *two.model, two.model->model_config(),
                  saved_tensors(*two.model), {.name = "base"});
    commit.finish();
    const LoadedModel back = load_model(kBase);
    CHECK(load_adapter(scratch / "adapter", *back.model) == 4);
    const Tensor ids = tensor(Ids{1, 2, 3, 4}, {1, 4});
    CHECK((*back.model)(ids).to_vector<float>() == (*two.model)(ids).to_vector<float>());
    const Json config = Json::parse(slurp(scratch / "adapter" / kAdapterConfigName));
    CHECK(config["r"] == 2);
    CHECK(config["rank_pattern"]["model.layers.1.mlp.down_proj"] == 4);
    CHECK(config["alpha_pattern"].size() == 2);
}

TEST_CASE("LoRA: a whole module in an adapter is called one") {
    const test::Scratch scratch;
    change_adapter(scratch / "a", [](Json&) {});
    NamedTensors all;
    for (const auto& [name, one] : read_safetensors(kAdapter / kAdapterWeightsName).tensors) {
        all.emplace_back(name, one);
    }
    all.emplace_back("base_model.model.model.embed_tokens.weight", zeros({386, 24}));
    write_safetensors(scratch / "a" / kAdapterWeightsName, all, {}, {});
    const LoadedModel loaded = load_model(kBase);
    check_message<IoError>([&] { load_adapter(scratch / "a", *loaded.model); },
                           "embed_tokens.weight\" is not an update but a whole module, as PEFT");
}

TEST_CASE("LoRA: an adapter of another base is one line") {
    Generator generator(1);
    Llama wider({.vocab = 20, .context = 8, .layers = 2, .heads = 2, .dim = 32}, generator);
    check_message<IoError>([&] { load_adapter(kAdapter, wider); },
                           "need [3, 32]: is this the adapter's base model?");
    Llama shallow({.vocab = 20,
                   .context = 8,
                   .layers = 1,
                   .heads = 6,
                   .kv_heads = 2,
                   .dim = 24,
                   .hidden = 40},
                  generator);
    check_message<IoError>([&] { load_adapter(kAdapter, shallow); },
                           "layers.1.mlp.down_proj.lora_A.weight\" belongs to no matrix");
}

TEST_CASE("LoRA: an adapter that torch.save wrote is called one") {
    const test::Scratch scratch;
    fs::copy_file(kAdapter / "adapter_config.json", scratch / "adapter_config.json");
    spill(scratch / "adapter_model.bin", "PK");
    const LoadedModel loaded = load_model(kBase);
    check_message<IoError>([&] { load_adapter(scratch.path(), *loaded.model); },
                           "found adapter_model.bin, but only adapter_model.safetensors is");
}

TEST_CASE("LoRA: adapters of GPT-NeoX and GPT-Neo have PEFT's names, and give the same again") {
    for (const LlamaFamily family : {LlamaFamily::gpt_neox, LlamaFamily::gpt_neo}) {
        const bool is_neox = family == LlamaFamily::gpt_neox;
        CAPTURE(is_neox);
        LoraPlace place;
        TrainingConfig first = place.config();
        LlamaConfig model{
            .family = family, .context = 8, .layers = 1, .heads = 2, .kv_heads = 2, .dim = 16};
        model.activation = Activation::gelu_erf;
        first.set_model(model);
        save_task(place.base, Session(first).task());
        TrainingConfig config = place.lora_config();
        config.lora_targets = is_neox ? std::vector<std::string>{"query_key_value", "dense"}
                                      : std::vector<std::string>{"q_proj", "out_proj"};
        train_shared(place, config, {});
        LoadedModel base = load_model(place.base);
        CHECK(load_adapter(place.out / "adapter", *base.model) == 2);
        const auto unmerged = logits_of(*base.model);
        const auto merged = logits_of(*load_model(place.out).model);
        for (std::size_t i = 0; i < merged.size(); ++i) {
            CHECK(unmerged[i] == doctest::Approx(merged[i]).epsilon(1e-5));
        }
        const Json settings = Json::parse(slurp(place.out / "adapter" / kAdapterConfigName));
        CHECK(settings["target_modules"][0] == (is_neox ? "query_key_value" : "q_proj"));
        CHECK(settings["fan_in_fan_out"] == false);
        const auto tensors = read_safetensors(place.out / "adapter" / kAdapterWeightsName).tensors;
        const std::string name = is_neox ? "gpt_neox.layers.0.attention.query_key_value"
                                         : "transformer.h.0.attn.attention.q_proj";
        CHECK(std::any_of(tensors.begin(), tensors.end(), [&](const auto& one) {
            return one.first == "base_model.model." + name + ".lora_B.weight";
        }));
    }
}

TEST_CASE("LoRA: c_proj in GPT-2's and GPT-Neo's adapters, by PEFT's names") {
    for (const bool is_neo : {false, true}) {
        CAPTURE(is_neo);
        const test::Scratch scratch;
        Generator generator(1);
        std::unique_ptr<LanguageModel> model, base;
        for (auto* one : {&model, &base}) {
            const ModelConfig config =
                is_neo ? ModelConfig(LlamaConfig{.family = LlamaFamily::gpt_neo,
                                                 .vocab = 20,
                                                 .context = 8,
                                                 .layers = 1,
                                                 .heads = 2,
                                                 .kv_heads = 2,
                                                 .dim = 16})
                       : ModelConfig(GPTConfig{
                             .vocab = 20, .context = 8, .layers = 1, .heads = 2, .dim = 16});
            *one = make_model(config, generator);
        }
        add_lora(*model, {.update = {.rank = 2}, .targets = {"c_proj", "c_fc"}}, generator);
        Commit commit(scratch.path());
        write_adapter(commit, "adapter", *model, model->model_config(), saved_tensors(*model), {});
        commit.finish();
        std::set<std::string> names;
        for (const auto& [name, one] :
             read_safetensors(scratch / "adapter" / kAdapterWeightsName).tensors) {
            if (name.ends_with(".lora_A.weight")) names.insert(name);
        }
        const std::string layer = "base_model.model.transformer.h.0.";
        std::set<std::string> wanted{layer + "mlp.c_fc.lora_A.weight",
                                     layer + "mlp.c_proj.lora_A.weight"};
        if (!is_neo) wanted.insert(layer + "attn.c_proj.lora_A.weight");
        CHECK(names == wanted);
        CHECK(load_adapter(scratch / "adapter", *base) == wanted.size());
    }
}

TEST_CASE("LoRA: GPT-NeoX's rows for queries, keys and values come head by head in files") {
    LoraPlace place;
    Generator generator(1);
    Llama model({.family = LlamaFamily::gpt_neox,
                 .vocab = 20,
                 .context = 8,
                 .layers = 1,
                 .heads = 2,
                 .kv_heads = 2,
                 .dim = 4},
                generator);
    add_lora(model, {.update = {.rank = 1}}, generator);
    Ids rows;
    for (std::int64_t i = 0; i < 12; ++i) rows.push_back(i);
    Tensor b = lora_updates(model).front().second->b;
    b.copy_(to(tensor(rows, {12, 1}), DType::f32));
    fs::create_directories(place.out);
    Commit commit(place.out);
    write_adapter(commit, "adapter", model, model.model_config(), model.state_dict(),
                  {.name = "base"});
    commit.finish();
    for (const auto& [name, tensor] :
         read_safetensors(place.out / "adapter" / kAdapterWeightsName).tensors) {
        if (!name.ends_with("lora_B.weight")) continue;
        // [3, H, D] = q00 q01 q10 q11 k00 ... is [H, 3, D] = q00 q01 k00 k01 v00 v01 q10 ...
        CHECK(tensor.to_vector<float>() ==
              std::vector<float>{0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11});
    }
}
