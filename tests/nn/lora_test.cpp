// LoRA: the definition's numbers, what trains and what does not, and runs. Adapters in files are in
// peft_test.cpp.
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/nn/module/freeze.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/int8_rows.h>
#include <tapestry/ops/low_rank_linear.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/lora_support.h>

#include <cmath>
#include <functional>

using namespace tapestry;
using test::Adapted;
using test::change_adapter;
using test::check_message;
using test::expected;
using test::largest_gap;
using test::logits_of;
using test::LoraPlace;
using test::slurp;
using Json = nlohmann::ordered_json;
using Ids = std::vector<std::int64_t>;
namespace fs = std::filesystem;

namespace {

// "blocks.1.attention.qkv.lora_value" -> "base_model.model.model.layers.1.self_attn.v_proj"
std::string name_in_fixture(const std::string& path) {
    const std::string part = path.ends_with("lora_query")   ? "self_attn.q_proj"
                             : path.ends_with("lora_value") ? "self_attn.v_proj"
                                                            : "mlp.down_proj";
    return fmt::format("base_model.model.model.layers.{}.{}", path[7], part);
}

std::string bytes_in(const fs::path& out) {
    return slurp(out / "model.safetensors") + slurp(out / "adapter" / kAdapterWeightsName);
}

}  // namespace

TEST_CASE("LoRA: logits, loss, gradients and a step are the definition's, merged and not") {
    Adapted adapted;
    CHECK(adapted.count == 6);
    LanguageModel& model = *adapted.loaded.model;
    const Json is = expected();
    const auto logits = is["logits_of_last"].get<std::vector<double>>();
    CHECK(largest_gap(adapted.last(model), logits) < 1e-9);
    CHECK(largest_gap(adapted.last(*merged(model)), logits) < 1e-9);
    {
        Tape tape;
        const Tensor loss = model.loss(adapted.inputs, adapted.targets);
        CHECK(std::abs(loss.item<double>() - is["loss"].get<double>()) < 1e-9);
        tape.backward(loss);
    }
    const double rate = is["rate"].get<double>();
    for (const auto& one : model.named_parameters()) {  // clang 14 cannot capture bindings
        const std::string& name = one.first;
        const Tensor& parameter = one.second;
        INFO(name);
        if (!parameter.requires_grad()) {
            CHECK(!parameter.grad().defined());
            continue;
        }
        const std::string path = name.substr(0, name.rfind('.'));
        const std::string theirs =
            name_in_fixture(path) + (name.ends_with(".a") ? ".lora_A.weight" : ".lora_B.weight");
        CHECK(largest_gap(parameter.grad().to_vector<double>(),
                          is["gradients"][theirs].get<std::vector<double>>()) < 1e-9);
        Tensor(parameter).copy_(parameter.detach() - parameter.grad() * rate);
    }
    const auto next = is["next_logits_of_last"].get<std::vector<double>>();
    CHECK(largest_gap(adapted.last(model), next) < 1e-9);
    CHECK(largest_gap(adapted.last(*merged(model)), next) < 1e-9);
}

TEST_CASE("LoRA: the rank-stabilised scale is alpha / sqrt(r)") {
    const test::Scratch scratch;
    change_adapter(scratch / "a", [](Json& config) { config["use_rslora"] = true; });
    const Adapted adapted(scratch / "a");
    const double loss = adapted.loaded.model->loss(adapted.inputs, adapted.targets).item<double>();
    CHECK(std::abs(loss - expected()["rank_stabilized_loss"].get<double>()) < 1e-9);
}

TEST_CASE("LoRA: the gradient of a gradient, where only B learns or all do") {
    for (const bool all : {false, true}) {
        CAPTURE(all);
        Generator generator(2);
        const auto drawn = [&](const Shape& shape) { return randn(shape, generator, DType::f64); };
        Tensor x = drawn({3, 5}), w = drawn({4, 5}), a = drawn({2, 5}), b = drawn({4, 2});
        b.set_requires_grad();
        if (all) {
            for (Tensor* one : {&x, &w, &a}) one->set_requires_grad();
        }
        const auto second = [&](bool at_once) {
            Tape tape;
            const Tensor y = at_once ? low_rank_linear(x, w, {}, {{a, b, 0.5}})
                                     : linear(x, w) + linear(linear(x, a) * 0.5, b);
            const Tensor first = tape.gradient(sum(y * y * y), {b}, {.create_graph = true})[0];
            return tape.gradient(sum(first * first), {b})[0].to_vector<double>();
        };
        CHECK(largest_gap(second(true), second(false)) < 1e-9);
    }
}

TEST_CASE("LoRA: targets, by their names or Hugging Face's; those that match nothing are listed") {
    Generator generator(1);
    const auto updates_of = [&](LanguageModel& model, const std::vector<std::string>& targets) {
        add_lora(model, {.update = {.rank = 2}, .targets = targets}, generator);
        std::vector<std::string> paths;
        for (const auto& one : lora_updates(model)) paths.push_back(one.first);
        return paths;
    };
    const LlamaConfig small{
        .vocab = 20, .context = 8, .layers = 1, .heads = 2, .dim = 16, .tied_head = true};
    using Paths = std::vector<std::string>;
    Llama usual(small, generator), named(small, generator), tied(small, generator);
    Llama all(small, generator);
    CHECK(updates_of(all, {"all-linear"}).size() == 7);
    CHECK(updates_of(usual, {}) ==
          Paths{"blocks.0.attention.qkv.lora_query", "blocks.0.attention.qkv.lora_value"});
    CHECK(updates_of(named, {"k_proj", "up"}) ==
          Paths{"blocks.0.attention.qkv.lora_key", "blocks.0.feed_forward.up.lora"});
    check_message<ValueError>([&] { updates_of(tied, {"lm_head"}); },
                              "LoRA: the head's weight is the token embedding's (tied)");
    check_message<ValueError>([&] { updates_of(tied, {"quary"}); },
                              "LoRA: no matrix of a Llama has the name \"quary\"; there are query, "
                              "key, value, output, gate, up, down");
    // Refused before the model is changed.
    Llama grouped({.vocab = 20, .context = 8, .layers = 1, .heads = 2, .kv_heads = 1, .dim = 16},
                  generator);
    check_message<ValueError>([&] { add_lora(grouped, {.update = {.rank = 0}}, generator); },
                              "LoRA: the rank must be at least 1, got 0");
    check_message<ValueError>([&] { add_lora(grouped, {.update = {.dropout = 1}}, generator); },
                              "LoRA: the dropout must be in [0, 1), got 1");
    CHECK(lora_updates(grouped).empty());
    CHECK(grouped.parameters().front().requires_grad());
    // Above the eight rows of values, as PEFT allows.
    CHECK(updates_of(grouped, {"value"}) == Paths{"blocks.0.attention.qkv.lora_value"});
    Llama wide({.vocab = 20, .context = 8, .layers = 1, .heads = 2, .kv_heads = 1, .dim = 16},
               generator);
    add_lora(wide, {.update = {.rank = 40}}, generator);
    CHECK(lora_updates(wide).front().second->a.shape() == Shape{40, 16});
    GPT gpt({.vocab = 20, .context = 8, .layers = 1, .heads = 2, .dim = 16, .tied_head = false},
            generator);
    CHECK(updates_of(gpt, {"c_attn", "head"}) == Paths{"blocks.0.attention.qkv.lora", "head.lora"});
    GPT both({.vocab = 20, .context = 8, .layers = 1, .heads = 2, .dim = 16}, generator);
    CHECK(updates_of(both, {"c_proj"}) ==
          Paths{"blocks.0.attention.output.lora", "blocks.0.feed_forward.down.lora"});
    LlamaConfig neo_config = small;
    neo_config.family = LlamaFamily::gpt_neo;
    neo_config.kv_heads = 2;
    Llama neo(neo_config, generator);
    CHECK(updates_of(neo, {"k_proj", "out_proj", "c_fc", "c_proj"}) ==
          Paths{"blocks.0.attention.qkv.lora_key", "blocks.0.attention.output.lora",
                "blocks.0.feed_forward.up.lora", "blocks.0.feed_forward.down.lora"});
    check_message<ValueError>([&] { updates_of(gpt, {}); }, "has updates already");
}

TEST_CASE("LoRA: a step at the beginning changes nothing but the updates") {
    Generator generator(1);
    Llama model({.vocab = 20, .context = 8, .layers = 2, .heads = 2, .dim = 16, .recompute = true},
                generator);
    const Tensor ids = randint(0, 20, {2, 8}, generator);
    const auto before = model(ids).to_vector<float>();
    const NamedTensors weights = model.state_dict();
    add_lora(model, {.update = {.rank = 2}}, generator);
    CHECK(model(ids).to_vector<float>() == before);
    CHECK(lora_text(model) ==
          fmt::format("LoRA: rank 2, scale 8, 4 updates: 256 of {} parameters trained ({:.2f}%)",
                      model.parameter_count(),
                      25600 / static_cast<double>(model.parameter_count())));
    AdamW optimizer(model, {.lr = 0.1});
    for (int i = 0; i < 2; ++i) {
        optimizer.zero_grad();
        Tape tape;
        tape.backward(model.loss(ids, ids));
        optimizer.step();
    }
    CHECK(model(ids).to_vector<float>() != before);
    const NamedTensors after = model.state_dict();
    for (const auto& [name, tensor] : weights) {
        const auto found = std::find_if(after.begin(), after.end(),
                                        [&key = name](const auto& x) { return x.first == key; });
        REQUIRE(found != after.end());
        CHECK(found->second.to_vector<float>() == tensor.to_vector<float>());
    }
}

TEST_CASE("LoRA: on all seven matrices the tape keeps little more than on three") {
    const auto kept = [](const std::vector<std::string>& targets, std::vector<float>& gradient) {
        Generator generator(1);
        Llama model({.vocab = 20,
                     .context = 256,
                     .layers = 1,
                     .heads = 2,
                     .kv_heads = 1,
                     .dim = 64,
                     .hidden = 96},
                    generator);
        add_lora(model, {.update = {.rank = 2}, .targets = targets}, generator);
        for (const auto& one : lora_updates(model)) {
            Tensor(one.second->b).copy_(randn(one.second->b.shape(), generator));
        }
        const Tensor ids = randint(0, 20, {32, 256}, generator);  // activations of 2 MB each
        Tape tape;
        const Tensor loss = model.loss(ids, ids);
        const std::size_t bytes = tape.saved_bytes();
        tape.backward(loss);
        gradient = lora_updates(model).front().second->a.grad().to_vector<float>();
        return static_cast<double>(bytes);
    };
    std::vector<float> of_three, of_seven;
    const double three = kept({"query", "key", "value"}, of_three);
    const double seven = kept({"query", "key", "value", "output", "gate", "up", "down"}, of_seven);
    MESSAGE("kept: " << three << " bytes for three matrices, " << seven << " for seven");
    // Each update keeps [tokens, r]; the attention's output, 2 MB, is computed again.
    CHECK(seven - three < 0.3 * (32 * 256 * 64 * sizeof(float)));
    CHECK(std::any_of(of_seven.begin(), of_seven.end(), [](float x) { return x != 0; }));
}

// ---- runs ---------------------------------------------------------------------------------------

TEST_CASE("LoRA: a run leaves the merged model, and an adapter that gives the same on its base") {
    for (const char* kind : {"llama", "gpt"}) {
        CAPTURE(kind);
        const LoraPlace place(kind);
        train_shared(place, place.lora_config(), {});
        const LoadedModel out = load_model(place.out);
        LoadedModel base = load_model(place.base);
        const auto plain = logits_of(*base.model);
        CHECK(load_adapter(place.out / "adapter", *base.model) == (kind[0] == 'l' ? 4 : 1));
        const auto unmerged = logits_of(*base.model), merged = logits_of(*out.model);
        double moved = 0;
        for (std::size_t i = 0; i < merged.size(); ++i) {
            CHECK(unmerged[i] == doctest::Approx(merged[i]).epsilon(1e-5));
            moved = std::max(moved, std::abs(double{merged[i]} - double{plain[i]}));
        }
        CHECK(moved > 1e-4);
        const Json config = Json::parse(slurp(place.out / "adapter" / kAdapterConfigName));
        CHECK(config["fan_in_fan_out"] == (kind[0] == 'g'));
        CHECK(config["target_modules"][0] == (kind[0] == 'g' ? "attn.c_attn" : "q_proj"));
        CHECK(config["r"] == 2);
    }
}

TEST_CASE("LoRA: interrupted, resumed and by several processes, the same bytes") {
    const LoraPlace whole;
    train_shared(whole, whole.lora_config(), {});
    const std::string expected = bytes_in(whole.out);
    for (const int processes : {1, 3}) {
        CAPTURE(processes);
        LoraPlace parts;
        parts.base = whole.base;
        train_shared(parts, parts.lora_config(), {.processes = processes, .last = 3});
        CHECK((bytes_in(parts.out) != expected));
        train_shared(parts, parts.lora_config(), {.processes = 4 - processes, .resume = true});
        CHECK((bytes_in(parts.out) == expected));
    }
}

namespace {

// The run's model computes nearly what the same run over an f32 base has learned.
void check_near_f32(const LoraPlace& run) {
    const LoraPlace wide;
    TrainingConfig exact = wide.lora_config();
    exact.start = run.base.string();
    train_shared(wide, exact, {});
    const auto a = logits_of(*load_model(run.out).model);
    const auto b = logits_of(*load_model(wide.out).model);
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 0.05);
}

}  // namespace

TEST_CASE("LoRA: over a bf16 base the updates are f32, and a resumed run gives the same bytes") {
    const LoraPlace whole;
    TrainingConfig config = whole.lora_config();
    config.model.weights = ComputeType::bf16;
    const Session session(config);
    std::size_t trained = 0;
    for (const auto& one : session.module().named_parameters()) {  // clang 14, as above
        INFO(one.first);
        const bool trains = one.second.requires_grad();
        CHECK(one.second.dtype() == (trains ? DType::f32 : DType::bf16));
        trained += trains ? 1 : 0;
    }
    CHECK(trained == 8);
    train_shared(whole, config, {});
    LoraPlace parts;
    parts.base = whole.base;
    train_shared(parts, config, {.last = 3});
    CHECK((bytes_in(parts.out) != bytes_in(whole.out)));
    train_shared(parts, config, {.resume = true});
    CHECK((bytes_in(parts.out) == bytes_in(whole.out)));
    check_near_f32(whole);
}

TEST_CASE("LoRA: over an int8 base, gradients and results are those of what it stands for") {
    const LoraPlace place;
    Generator generator(4);
    LoadedModel narrow = load_model(place.base), wide = load_model(place.base);
    add_lora(*narrow.model, {.update = {.rank = 2}, .targets = {"query", "down"}}, generator);
    for (const auto& [path, update] : lora_updates(*narrow.model)) {
        Tensor(update->b).copy_(randn(update->b.shape(), generator) * 0.1);
    }
    const std::string before = lora_text(*narrow.model);
    keep_frozen_int8(*narrow.model);
    CHECK(lora_text(*narrow.model) == before);  // int8 weights count
    CHECK(narrow.model->summary().find("16 -> 32, no bias, int8") != std::string::npos);  // qkv
    for (const auto& [name, parameter] : narrow.model->named_parameters()) {
        const bool is_matrix = parameter.rank() == 2 && name.find("lora") == std::string::npos;
        CHECK((!is_matrix || name == "token_embedding.weight" || name == "head.weight"));
    }
    // The same matrices in f32, with the same updates.
    NamedTensors unmerged;
    narrow.model->apply([&](Module& module) {
        const auto* const layer = dynamic_cast<Linear*>(&module);
        if (layer == nullptr || layer->int8() == nullptr) return;
        unmerged.emplace_back(layer->weight_name(), matrix_of(*layer->int8()));
    });
    CHECK(unmerged.size() == 2 * 5);  // qkv, output, up, gate, down
    add_lora(*wide.model, {.update = {.rank = 2}, .targets = {"query", "down"}}, generator);
    NamedTensors theirs = saved_tensors(*narrow.model);
    theirs.insert(theirs.end(), unmerged.begin(), unmerged.end());
    wide.model->load_state_dict(theirs);
    const Tensor ids = tensor(Ids{1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
    const auto gradients = [&](LanguageModel& model) {
        Tape tape;
        tape.backward(model.loss(ids, ids));
        std::vector<double> all;
        for (const auto& [path, update] : lora_updates(model)) {
            for (const Tensor& one : {update->a, update->b}) {
                for (const float x : one.grad().to_vector<float>()) all.push_back(x);
            }
        }
        return all;
    };
    const auto here = gradients(*narrow.model), there = gradients(*wide.model);
    REQUIRE(here.size() == there.size());
    double most = 0;
    for (const double x : there) most = std::max(most, std::abs(x));
    CHECK(most > 1e-4);
    for (std::size_t i = 0; i < here.size(); ++i) CHECK(std::abs(here[i] - there[i]) < 1e-4 * most);
    const auto merged_logits = logits_of(*merged(*narrow.model)), own = logits_of(*narrow.model);
    for (std::size_t i = 0; i < own.size(); ++i) {
        CHECK(own[i] == doctest::Approx(merged_logits[i]).epsilon(1e-4));
    }
}

TEST_CASE("LoRA: over an int8 base, interrupted, resumed, rewound and shared, the same bytes") {
    const LoraPlace whole;
    TrainingConfig config = whole.lora_config();
    config.frozen_weights = WeightType::int8;
    train_shared(whole, config, {});
    const std::string expected = bytes_in(whole.out);
    for (const int processes : {1, 3}) {
        CAPTURE(processes);
        LoraPlace parts;
        parts.base = whole.base;
        train_shared(parts, config, {.processes = processes, .last = 3});
        CHECK((bytes_in(parts.out) != expected));
        const auto third = Replayer(RunHistory(parts.out)).session_before(3);
        CHECK(third->steps() == 2);
        save_task(parts.scratch / "second", third->task());
        train_shared(parts, config, {.processes = 4 - processes, .resume = true});
        CHECK((bytes_in(parts.out) == expected));
    }
    check_near_f32(whole);  // it has the matrices that were trained on
}

TEST_CASE("LoRA: merged with int8 rows, a matrix and its update are there once each") {
    Generator generator(4);
    const auto model = make_model(
        GPTConfig{.vocab = 8, .context = 8, .layers = 1, .heads = 2, .dim = 256}, generator);
    add_lora(*model, {.update = {.rank = 2}, .targets = {"up"}}, generator);
    keep_frozen_int8(*model);
    int found = 0;
    for (const DeferredTensor& one : merged_weights(*model, saved_tensors(*model))) {
        if (!one.name.ends_with(".up.weight")) continue;
        ++found;
        reset_peak_memory();
        const std::size_t before = memory_statistics().current;
        const Tensor w = one.value();
        CHECK(w.shape() == Shape{1024, 256});
        CHECK(memory_statistics().peak - before < 3 * w.bytes());
    }
    CHECK(found == 1);
}

TEST_CASE("LoRA: what int8 weights are not for") {
    const LoraPlace place;
    TrainingConfig config = place.lora_config();
    config.frozen_weights = WeightType::int8;
    config.lora = 0;
    check_message<ValueError>([&] { Session session(config); },
                              "train: --weights int8 is for the weights that --lora freezes");
    config.lora = 2;
    config.model.compute = ComputeType::bf16;
    check_message<ValueError>([&] { Session session(config); },
                              "train: --weights int8 computes in f32");
    LoadedModel base = load_model(place.base);
    check_message<ValueError>([&] { keep_frozen_int8(*base.model); },
                              "LoRA: int8 weights cannot be trained");
    quantize_weights(*base.model, WeightType::int8);
    check_message<ValueError>([&] { add_lora(*base.model, {}); }, "is in int8 already");
    CHECK(base.model->parameters().front().requires_grad());  // nothing was frozen
}

TEST_CASE("LoRA: an earlier step can be rewound to") {
    const LoraPlace place;
    train_shared(place, place.lora_config(), {.last = 5});
    const RunHistory history(place.out);
    const auto session = Replayer(history).session_before(4);
    CHECK(session->steps() == 3);
    save_task(place.scratch / "third", session->task());
    LoraPlace again;
    again.base = place.base;
    train_shared(again, again.lora_config(), {.last = 3});
    CHECK((slurp(again.out / "model.safetensors") ==
           slurp(place.scratch / "third" / "model.safetensors")));
}

TEST_CASE("LoRA: a base that has changed since is noticed, by rewind and by an adapter") {
    const LoraPlace place;
    train_shared(place, place.lora_config(), {.last = 5});
    const LoadedModel base = load_model(place.base);
    const std::string then = base_hash(*base.model);
    const auto step_of_run = [&] {
        const RunHistory history(place.out);
        CHECK(history.config_of(0).start_hash == then);
        return Replayer(history).session_before(1)->steps();
    };
    CHECK(step_of_run() == 0);
    LoadedModel changed = load_model(place.base);
    Tensor(changed.model->named_parameters().front().second).mutable_data<float>()[0] += 1;
    save_model(place.base, *changed.model, *changed.tokenizer);
    const std::string now = base_hash(*changed.model);
    CHECK(now != then);
    check_message<IoError>(
        [&] { load_adapter(place.out / "adapter", *changed.model); },
        fmt::format("adapter_model.safetensors: the adapter was trained on other weights than the "
                    "model has (checksum {}, here {})",
                    then, now));
    check_message<ValueError>(
        step_of_run,
        fmt::format("the model has other weights than when the run began (checksum {}, then {})",
                    now, then));
    save_model(place.base, *base.model, *base.tokenizer);
    CHECK(step_of_run() == 0);
    LoadedModel again = load_model(place.base);
    CHECK(load_adapter(place.out / "adapter", *again.model) == 4);
}

TEST_CASE("LoRA: an adapter that is in the way is refused before the first step") {
    const LoraPlace place;
    fs::create_directories(place.out / "adapter");
    std::ofstream(place.out / "adapter" / kAdapterConfigName) << "{}";
    const auto start = [&] { train_shared(place, place.lora_config(), {.last = 1}); };
    check_message<IoError>(start, "adapter_config.json': a file of that name is there that is not");
    CHECK_FALSE(fs::exists(place.out / kMetricsName));
}

TEST_CASE("LoRA: what a run says and refuses") {
    const LoraPlace place;
    TrainingConfig config = place.lora_config();
    const std::string text = description_of(Session(config));
    CHECK(text.find("\nLoRA: rank 2, scale 8, 4 updates: ") != text.npos);
    CHECK(text.find(" parameters trained (") != text.npos);
    config.train_only = {"head"};
    check_message<ValueError>([&] { Session session(config); },
                              "train: --lora freezes all parameters but its own");
    config = place.lora_config();
    config.start.clear();
    const auto begin = [&](const TrainingConfig& with, const std::vector<std::string>& given) {
        begin_run({.config = with, .given = given, .out = (place.scratch / "new").string()});
    };
    check_message<ValueError>([&] { begin(config, {"lora"}); },
                              "train: --lora adapts a trained model; name its directory with "
                              "--model");
    check_message<ValueError>([&] { begin(place.config(), {"lora_alpha"}); },
                              "train: lora_alpha is a setting of LoRA, which --lora turns on");
}
