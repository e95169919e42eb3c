// LoRA's merged matrices are computed one after another while a file of them is written: a save
// needs little more memory than one of them.
#include <tapestry/core/random.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/llama/llama.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/tests/nn/resident_peak.h>
#include <tapestry/tests/nn/small_run.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace tapestry;
using test::check_message;

namespace {

// Updates of all matrices; the matrices are in `type`, and have almost all of the parameters.
std::unique_ptr<Llama> adapted(WeightType type) {
    Generator generator(5);
    LlamaConfig config{
        .vocab = 64, .context = 8, .layers = 6, .heads = 4, .kv_heads = 2, .dim = 512};
    if (type == WeightType::bf16) config.weights = ComputeType::bf16;
    auto model = std::make_unique<Llama>(config, generator);
    add_lora(*model,
             {.update = {.rank = 2},
              .targets = {"query", "key", "value", "output", "gate", "up", "down"}},
             generator);
    for (const auto& one : lora_updates(*model)) {
        Tensor(one.second->b).copy_(randn(one.second->b.shape(), generator) * 0.1);
    }
    if (type == WeightType::int8) keep_frozen_int8(*model);
    return model;
}

std::vector<std::pair<std::string, std::vector<float>>> values_of(const Module& model) {
    std::vector<std::pair<std::string, std::vector<float>>> all;
    for (const auto& one : saved_tensors(model)) {
        all.emplace_back(one.first, tapestry::to(one.second, DType::f32).to_vector<float>());
    }
    return all;
}

CharTokenizer letters() {
    std::u32string all;
    for (char32_t c = U'!'; c < U'!' + 64; ++c) all += c;
    return CharTokenizer(all);
}

}  // namespace

TEST_CASE("merged weights: a save has one matrix in memory at a time") {
    const test::Scratch scratch;
    const CharTokenizer tokenizer = letters();
    for (const auto type : {WeightType::f32, WeightType::bf16, WeightType::int8}) {
        CAPTURE(std::string(name_of_value(type)));
        const auto model = adapted(type);
        const double bytes = 4 * static_cast<double>(weight_count(*model));
        const auto peak =
            test::resident_peak([&] { save_model(scratch / "m", *model, tokenizer); });
        MESSAGE("peak " << peak.value_or(0) / bytes << " of the weights in f32");
        if (peak && !test::kAddressSanitizer) CHECK_LT(*peak, 0.4 * bytes);
        const LoadedModel loaded = load_model(scratch / "m");
        CHECK((values_of(*loaded.model) == values_of(*merged(*model))));
    }
}

TEST_CASE("deferred tensors: values other than announced are refused, and the file stays") {
    const test::Scratch scratch;
    const auto file = scratch / "x.safetensors";
    const Tensor x = tensor({1.0F, 2.0F});
    write_deferred(file, DeferredTensors{{"x", {2}, DType::f32, [&] { return x; }}});
    const std::string before = test::slurp(file);
    write_safetensors(file, NamedTensors{{"x", x}});
    CHECK_EQ(test::slurp(file), before);
    check_message<ValueError>(
        [&] {
            write_deferred(file, DeferredTensors{{"x", {3}, DType::f32, [&] { return x; }}});
        },
        "write_safetensors: tensor 'x' is f32 of shape [2], but was announced as f32 of shape "
        "[3]");
    check_message<ValueError>(
        [&] {
            write_deferred(file, DeferredTensors{{"x", {2}, DType::f64, [&] { return x; }}});
        },
        "but was announced as f64 of shape [2]");
    check_message<ValueError>(
        [&] {
            write_deferred(file, DeferredTensors{{"x", {2}, DType::f32, [] { return Tensor(); }}});
        },
        "write_safetensors: tensor 'x' is undefined");
    check_message<ValueError>(
        [&] {
            write_deferred(file, DeferredTensors{{"x", {2}, DType::f32}});
        },
        "write_safetensors: tensor 'x' has no function that computes it");
    CHECK_EQ(test::slurp(file), before);
}
