// The playground as functions for a page to call: numbers and texts in, texts out, no exceptions.
// On failure a function returns null or 0, and playground_error() gives the reason. Results stay
// valid until the next call. The live_...() functions serve pages of `tapestry inspect`. Compiled
// for WebAssembly only. Read next: web/worker.js and nn/pages/web/live_worker.js, which call them.
#include <tapestry/core/error.h>
#include <tapestry/examples/school/playground/playground.h>
#include <tapestry/examples/school/playground/taken_away.h>
#include <tapestry/examples/stories/stories.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/step_on_text.h>
#include <tapestry/nn/train/training_config.h>

#include <emscripten.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using tapestry::GPT;
using tapestry::StepMetrics;
using tapestry::TrainingConfig;
using tapestry::TrainingState;
using tapestry::examples::BrokenRule;
using tapestry::examples::Flaw;
using tapestry::examples::Playground;
using tapestry::examples::TakenAway;

std::string answer;  ///< the latest result, until the next call
std::string error;   ///< why the latest failing call failed

template <class F>
bool succeeds(const F& f) {
    try {
        f();
        return true;
    } catch (const std::exception& thrown) {
        error = thrown.what();
        return false;
    }
}

template <class F>
const char* text_of(const F& f) {
    return succeeds([&] { answer = f(); }) ? answer.c_str() : nullptr;
}

/// A text for the page, to which a NUL would be its end: U+2400 is the picture of one.
std::string without_nul(const std::string& text) {
    std::string shown;
    for (const char c : text) c == '\0' ? shown += "\u2400" : shown += c;
    return shown;
}

/// Parses "0,3,5".
std::vector<std::int64_t> numbers_in(std::string_view text) {
    std::vector<std::int64_t> all;
    for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
        std::int64_t number = 0;
        const auto read = std::from_chars(at, end, number);
        tapestry::require(read.ec == std::errc{}, "expected a list of numbers, got '{}'", text);
        all.push_back(number);
        at = read.ptr;
    }
    return all;
}

// ---- the playground

std::unique_ptr<Playground> playground;
std::string differs;
std::array<double, 8> numbers;
std::vector<double> weights;

Playground& started() {
    tapestry::require(playground != nullptr, "there is no training yet");
    return *playground;
}

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* playground_error() { return error.c_str(); }

/// Children's stories as training text.
EMSCRIPTEN_KEEPALIVE const char* playground_stories(int seed, int bytes) {
    return text_of([&] {
        return tapestry::examples::write_stories(static_cast<std::uint64_t>(seed),
                                                 static_cast<std::size_t>(bytes))
            .text;
    });
}

/// Other settings keep the defaults of `tapestry train`.
/// `text`: `bytes` bytes, which may include 0. `rotary`: whether positions turn queries and keys,
/// otherwise they are learned vectors.
EMSCRIPTEN_KEEPALIVE int playground_start(const char* text, int bytes, int layers, int heads,
                                          int dim, int context, int batch, int steps,
                                          int eval_every, double lr, double dropout, int seed,
                                          int rotary) {
    return succeeds([&] {
        TrainingConfig config{.text = "text.txt"};
        config.model = {.context = context, .layers = layers, .heads = heads, .dim = dim};
        config.model.dropout = dropout;
        if (rotary != 0) config.model.positions = tapestry::Positions::rotary;
        config.batch = batch;
        config.steps = steps;
        config.eval_every = eval_every;
        config.eval_batches = 10;
        config.lr = lr;
        config.min_lr = lr / 10;
        config.seed = static_cast<std::uint64_t>(seed);
        playground = std::make_unique<Playground>(
            std::string(text, static_cast<std::size_t>(bytes)), config);
    });
}

EMSCRIPTEN_KEEPALIVE int playground_is_finished() {
    return !playground || playground->is_finished();
}

/// Step number, loss, learning rate, gradient norm, total training seconds, seconds of the step,
/// validation loss (NaN if not evaluated).
EMSCRIPTEN_KEEPALIVE const double* playground_step() {
    const auto take = [] {
        const StepMetrics m = started().step();
        numbers = {
            static_cast<double>(m.step), m.loss, m.lr, m.grad_norm, m.seconds, m.step_seconds,
            m.val_loss.value_or(NAN)};
    };
    return succeeds(take) ? numbers.data() : nullptr;
}

EMSCRIPTEN_KEEPALIVE int playground_change(double lr, double dropout) {
    return succeeds([&] { started().change(lr, dropout); });
}

EMSCRIPTEN_KEEPALIVE int playground_more(int steps) {
    return succeeds([&] { started().take_more(steps); });
}

EMSCRIPTEN_KEEPALIVE const char* playground_sample(const char* prompt, int tokens,
                                                   double temperature) {
    return text_of([&] { return without_nul(started().sample(prompt, tokens, temperature)); });
}

/// `state`: a TrainingState as a number.
EMSCRIPTEN_KEEPALIVE const char* playground_report(int state, const char* message) {
    return text_of([&] { return started().report(static_cast<TrainingState>(state), message); });
}

EMSCRIPTEN_KEEPALIVE const char* playground_look(const char* sentence) {
    return text_of([&] { return started().look(sentence); });
}

EMSCRIPTEN_KEEPALIVE const char* playground_digest() {
    return text_of([] { return started().digest(); });
}

/// Takes the next step; its operations as a JSON array.
EMSCRIPTEN_KEEPALIVE const char* playground_operations() {
    return text_of([] { return started().step_by_operations(); });
}

/// `layers` and `heads`: numbers separated by commas.
EMSCRIPTEN_KEEPALIVE int playground_take_away(int positions, int norms, int residuals,
                                              const char* layers, const char* heads) {
    return succeeds([&] {
        started().take_away({.positions = positions != 0,
                             .norms = norms != 0,
                             .residuals = residuals != 0,
                             .layers = numbers_in(layers),
                             .heads = numbers_in(heads)});
    });
}

/// A line per gradient that can be broken: op, operand index, and its description.
EMSCRIPTEN_KEEPALIVE const char* playground_rules() {
    return text_of([] {
        std::string lines;
        for (const auto& rule :
             tapestry::examples::breakable_rules(started().session().config().model)) {
            lines += fmt::format("{}\t{}\t{}\n", rule.op, rule.operand, rule.what);
        }
        return lines;
    });
}

/// `flaw`: a Flaw as a number; an empty op restores all rules.
EMSCRIPTEN_KEEPALIVE void playground_break_rule(const char* op, int operand, int flaw) {
    std::optional<BrokenRule> rule;
    if (*op != '\0') rule = {op, static_cast<std::size_t>(operand), static_cast<Flaw>(flaw)};
    if (playground) playground->break_rule(std::move(rule));
}

/// The checker's report as text.
EMSCRIPTEN_KEEPALIVE const char* playground_check() {
    return text_of([] { return fmt::format("{}", started().check_gradients()); });
}

EMSCRIPTEN_KEEPALIVE int playground_save(const char* directory) {
    return succeeds([&] { started().save(directory); });
}

EMSCRIPTEN_KEEPALIVE int playground_open(const char* directory, const char* text) {
    return succeeds([&] {
        auto opened = tapestry::examples::open_run(directory, text);
        std::string what = fmt::format("{}", fmt::join(opened.differs, " "));
        playground = std::make_unique<Playground>(std::move(opened));
        differs = std::move(what);
    });
}

/// How this library differs from the one that trained the opened run: "isa version".
EMSCRIPTEN_KEEPALIVE const char* playground_differs() { return differs.c_str(); }

/// Attention weights [T, T] of all layers and heads, one after another.
EMSCRIPTEN_KEEPALIVE const double* playground_heads(const char* sentence) {
    const auto take = [&] {
        weights.clear();
        for (const tapestry::Tensor& layer : started().heads(sentence)) {
            const std::vector<double> values = layer.to_vector<double>();
            weights.insert(weights.end(), values.begin(), values.end());
        }
    };
    return succeeds(take) ? weights.data() : nullptr;
}

/// Number of values that playground_heads() returned.
EMSCRIPTEN_KEEPALIVE int playground_heads_size() { return static_cast<int>(weights.size()); }

/// A line per parameter: name, root mean squares of its values, gradients and updates.
EMSCRIPTEN_KEEPALIVE const char* playground_flow() {
    return text_of([] {
        std::string lines;
        for (const auto& p : started().flow()) {
            lines +=
                fmt::format("{}\t{}\t{}\t{}\n", p.name, p.value_rms, p.gradient_rms, p.update_rms);
        }
        return lines;
    });
}

/// Validation loss with the chosen parts removed, and of the whole model.
EMSCRIPTEN_KEEPALIVE const double* playground_losses() {
    const auto take = [] {
        const auto losses = started().losses();
        numbers = {losses.as_it_stands, losses.whole};
    };
    return succeeds(take) ? numbers.data() : nullptr;
}

/// Layers, heads per layer, context, learning rate, dropout, steps, and whether the model adds
/// position vectors.
EMSCRIPTEN_KEEPALIVE const double* playground_settings() {
    const auto take = [] {
        const TrainingConfig& config = started().session().config();
        const tapestry::GPTConfig& model = config.model;
        numbers = {static_cast<double>(model.layers),
                   static_cast<double>(model.heads),
                   static_cast<double>(model.context),
                   config.lr,
                   model.dropout,
                   static_cast<double>(config.steps),
                   tapestry::are_added(model.positions) ? 1.0 : 0.0};
    };
    return succeeds(take) ? numbers.data() : nullptr;
}

}  // extern "C"

// ---- a trained GPT behind a page of `tapestry inspect`, which asks for new results for another
// prompt or without some heads. The model is a directory in the module's memory.

namespace {

/// Ablates these heads (layer * heads + head) of the model, which must be a GPT if there are any,
/// while the result lives.
std::optional<TakenAway> without(tapestry::Module& model, const char* heads) {
    const std::vector<std::int64_t> gone = numbers_in(heads);
    if (gone.empty()) return std::nullopt;
    auto* const gpt = dynamic_cast<GPT*>(&model);
    tapestry::require(gpt != nullptr, "heads can be switched off in a GPT, but not in a {}",
                      model.kind());
    return std::make_optional<TakenAway>(*gpt, tapestry::examples::Parts{.heads = gone});
}

}  // namespace

extern "C" {

/// Data (nn/pages/page.h) of one step on the prompt.
EMSCRIPTEN_KEEPALIVE const char* live_look(const char* directory, const char* prompt,
                                           const char* heads) {
    return text_of([&] {
        const tapestry::StepOnText taken = tapestry::step_on_text(directory, prompt);
        const auto gone = without(*taken.model, heads);
        const tapestry::WatchedStep step(*taken.model, taken.loss);
        return to_json(step.inspector(), taken.page(step.loss()));
    });
}

/// The prompt and the model's continuation, with the same random numbers every time.
EMSCRIPTEN_KEEPALIVE const char* live_sample(const char* directory, const char* prompt, int tokens,
                                             double temperature, const char* heads) {
    return text_of([&] {
        const tapestry::LoadedModel loaded = tapestry::load_model(directory);
        const tapestry::Tokenizer& tokenizer = require_tokenizer(loaded, directory);
        const auto gone = without(*loaded.model, heads);
        auto generator = tapestry::stream(1, tapestry::Stream::samples);
        return without_nul(tapestry::sample_text(*loaded.model, tokenizer, prompt,
                                                 {.tokens = tokens, .temperature = temperature},
                                                 generator));
    });
}

/// Number of layers, and of heads per layer: "3 4".
EMSCRIPTEN_KEEPALIVE const char* live_shape(const char* directory) {
    return text_of([&] {
        const tapestry::LoadedModel loaded = tapestry::load_model(directory);
        const auto config = tapestry::common_settings(loaded.model->model_config());
        return fmt::format("{} {}", config.layers, config.heads);
    });
}

}  // extern "C"
