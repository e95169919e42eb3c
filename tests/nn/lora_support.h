// The adapter that tests/fixtures/make_lora_fixture.py has made, its base, and runs with LoRA: for
// lora_test.cpp and peft_test.cpp.
#pragma once

#include <doctest/doctest.h>
#include <tapestry/nn/io/adapter_config.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/peft.h>
#include <tapestry/nn/models/llama/llama.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::test {

inline const std::filesystem::path kBase = source_dir() / "tests/fixtures/llama";
inline const std::filesystem::path kAdapter = source_dir() / "tests/fixtures/lora";

inline nlohmann::ordered_json expected() {
    return nlohmann::ordered_json::parse(slurp(kAdapter / "expected.json"));
}

inline double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double gap = 0;
    for (std::size_t i = 0; i < a.size(); ++i) gap = std::max(gap, std::abs(a[i] - b[i]));
    return gap;
}

// The base in f64 with an adapter, and the fixture's tokens.
struct Adapted {
    explicit Adapted(const std::filesystem::path& adapter = kAdapter) : loaded(load_model(kBase)) {
        loaded.model->to(DType::f64);  // the weights are exact in f32, so all digits must agree
        count = load_adapter(adapter, *loaded.model);
        const auto ids = expected()["ids"].get<std::vector<std::int64_t>>();
        const std::int64_t length = std::ssize(ids) - 1;
        inputs = tensor(std::vector<std::int64_t>(ids.begin(), ids.end() - 1), {1, length});
        targets = tensor(std::vector<std::int64_t>(ids.begin() + 1, ids.end()), {1, length});
    }
    std::vector<double> last(const LanguageModel& model) const {
        const auto all = model(inputs).to_vector<double>();
        return {all.end() - 384, all.end()};
    }
    LoadedModel loaded;
    std::size_t count = 0;
    Tensor inputs, targets;
};

// The fixture's adapter with a change.
inline void change_adapter(const std::filesystem::path& to,
                           const std::function<void(nlohmann::ordered_json&)>& change) {
    std::filesystem::create_directories(to);
    std::filesystem::copy_file(kAdapter / kAdapterWeightsName, to / kAdapterWeightsName);
    nlohmann::ordered_json config =
        nlohmann::ordered_json::parse(slurp(kAdapter / kAdapterConfigName));
    change(config);
    spill(to / kAdapterConfigName, config.dump());
}

// A small base, and a run with LoRA on it.
struct LoraPlace : RunPlace {
    explicit LoraPlace(const char* kind = "llama") {
        TrainingConfig first = config();
        if (std::string_view(kind) == "llama") {
            first.set_model(
                LlamaConfig{.context = 8, .layers = 2, .heads = 4, .kv_heads = 2, .dim = 16});
        }
        save_task(base, Session(first).task());
    }
    TrainingConfig lora_config() const {
        TrainingConfig config = this->config();
        config.start = base.string();
        config.lora = 2;
        config.lora_dropout = 0.1;
        config.steps = 6;
        config.warmup = 0;
        config.eval_every = 3;
        config.batch = 8;
        config.micro_batches = 8;
        return config;
    }
    std::filesystem::path base = scratch / "base";
};

inline std::vector<float> logits_of(const LanguageModel& model) {
    return model(tensor(std::vector<std::int64_t>{1, 2, 3, 4}, {1, 4})).to_vector<float>();
}

}  // namespace tapestry::test
