// A trained GPT that answers in a page of `tapestry inspect`: what the page shows is asked for anew
// for another prompt, or without some of the heads. The model is a directory in the module's
// memory. Compiled for WebAssembly alone. Read next: nn/pages/web/live_worker.js, which calls them.
#include <tapestry/examples/school/playground/exports.h>
#include <tapestry/examples/school/playground/taken_away.h>
#include <tapestry/nn/generate/drawn_text.h>
#include <tapestry/nn/inspect/watched_step.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/step_on_text.h>
#include <tapestry/nn/train/streams.h>

#include <emscripten.h>
#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace {

using tapestry::GPT;
using tapestry::examples::TakenAway;
using tapestry::examples::text_of;

/// The model without the heads of these numbers, layer * heads + head, as long as this lives.
std::optional<TakenAway> without(GPT& model, const char* heads) {
    const std::vector<std::int64_t> gone = tapestry::examples::numbers_in(heads);
    if (gone.empty()) return std::nullopt;
    return std::make_optional<TakenAway>(model, tapestry::examples::Parts{.heads = gone});
}

}  // namespace

extern "C" {

/// The page's data (nn/pages/page.h) of one step on the prompt.
EMSCRIPTEN_KEEPALIVE const char* live_look(const char* directory, const char* prompt,
                                           const char* heads) {
    return text_of([&] {
        const tapestry::StepOnText taken = tapestry::step_on_text(directory, prompt);
        const auto gone = without(dynamic_cast<GPT&>(*taken.model), heads);
        const tapestry::WatchedStep step(*taken.model, taken.loss);
        return to_json(step.inspector(), taken.page(step.loss()));
    });
}

/// The prompt, and what the model writes after it; the same random numbers every time.
EMSCRIPTEN_KEEPALIVE const char* live_sample(const char* directory, const char* prompt, int tokens,
                                             double temperature, const char* heads) {
    return text_of([&] {
        const tapestry::LoadedModel loaded = tapestry::load_model(directory);
        const tapestry::Tokenizer& tokenizer = require_tokenizer(loaded, directory);
        const auto gone = without(*loaded.model, heads);
        auto generator = tapestry::stream(1, tapestry::Stream::samples);
        return tapestry::sample_text(*loaded.model, tokenizer, prompt,
                                     {.tokens = tokens, .temperature = temperature}, generator);
    });
}

/// Layers, and heads of each: "3 4".
EMSCRIPTEN_KEEPALIVE const char* live_shape(const char* directory) {
    return text_of([&] {
        const tapestry::LoadedModel loaded = tapestry::load_model(directory);
        const tapestry::GPTConfig& config = loaded.model->config();
        return fmt::format("{} {}", config.layers, config.heads);
    });
}

}  // extern "C"
