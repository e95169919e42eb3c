// The playground as functions that a page can call: numbers and texts in, texts out, no exceptions.
// Where one fails it returns null or 0, and playground_error() says why. What is returned stands
// until the next call. Compiled for WebAssembly alone. Read next: web/worker.js, which calls them;
// live_exports.cpp, what a page of `tapestry inspect` calls.
#include <tapestry/examples/school/playground/exports.h>
#include <tapestry/examples/school/playground/playground.h>
#include <tapestry/examples/stories/stories.h>

#include <emscripten.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace {

using tapestry::StepMetrics;
using tapestry::TrainingConfig;
using tapestry::TrainingState;
using tapestry::examples::BrokenRule;
using tapestry::examples::Flaw;
using tapestry::examples::Playground;

using tapestry::examples::answer;
using tapestry::examples::error;
using tapestry::examples::numbers_in;
using tapestry::examples::succeeds;
using tapestry::examples::text_of;

std::optional<Playground> playground;
std::string differs;
std::array<double, 8> numbers;
std::vector<double> weights;

Playground& started() {
    tapestry::require(playground.has_value(), "there is no training yet");
    return *playground;
}

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* playground_error() { return error.c_str(); }

/// Children's stories to learn from.
EMSCRIPTEN_KEEPALIVE const char* playground_stories(int seed, int bytes) {
    return text_of([&] {
        return tapestry::examples::write_stories(static_cast<std::uint64_t>(seed),
                                                 static_cast<std::size_t>(bytes))
            .text;
    });
}

/// What is not said is as `tapestry train` has it.
EMSCRIPTEN_KEEPALIVE int playground_start(const char* text, int layers, int heads, int dim,
                                          int context, int batch, int steps, int eval_every,
                                          double lr, double dropout, int seed) {
    return succeeds([&] {
        TrainingConfig config{.text = "text.txt"};
        config.model = {.context = context, .layers = layers, .heads = heads, .dim = dim};
        config.model.dropout = dropout;
        config.batch = batch;
        config.steps = steps;
        config.eval_every = eval_every;
        config.eval_batches = 10;
        config.lr = lr;
        config.min_lr = lr / 10;
        config.seed = static_cast<std::uint64_t>(seed);
        playground.reset();
        playground.emplace(text, config);
    });
}

EMSCRIPTEN_KEEPALIVE int playground_is_finished() {
    return !playground || playground->is_finished();
}

/// Number of the step, loss, learning rate, norm of the gradient, seconds of the training and of
/// the step, validation loss (NaN: not evaluated).
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

EMSCRIPTEN_KEEPALIVE const char* playground_sample(const char* prompt, int tokens,
                                                   double temperature) {
    return text_of([&] { return started().sample(prompt, tokens, temperature); });
}

/// `state` as TrainingState counts.
EMSCRIPTEN_KEEPALIVE const char* playground_report(int state, const char* message) {
    return text_of([&] { return started().report(static_cast<TrainingState>(state), message); });
}

EMSCRIPTEN_KEEPALIVE const char* playground_look(const char* sentence) {
    return text_of([&] { return started().look(sentence); });
}

EMSCRIPTEN_KEEPALIVE const char* playground_digest() {
    return text_of([] { return started().digest(); });
}

/// The next step, operation by operation: a JSON array.
EMSCRIPTEN_KEEPALIVE const char* playground_operations() {
    return text_of([] { return started().step_by_operations(); });
}

/// `layers` and `heads` as numbers with commas between them.
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

/// Of each gradient that could be broken a line: op, number of the operand, and what it is.
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

/// `flaw` as Flaw counts; without an op no rule is broken.
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
        differs = fmt::format("{}", fmt::join(opened.differs, " "));
        playground.reset();
        playground.emplace(std::move(opened));
    });
}

/// In what this library differs from the one that took the opened run's steps: "isa version".
EMSCRIPTEN_KEEPALIVE const char* playground_differs() { return differs.c_str(); }

/// Where heads look: the weights of all layers and heads, [T, T] each, one after the other.
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

/// How many numbers playground_heads() returned.
EMSCRIPTEN_KEEPALIVE int playground_heads_size() { return static_cast<int>(weights.size()); }

/// Of every parameter a line: name, sizes of its values, gradients and updates (root mean squares).
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

/// Validation loss as the model stands, and of the whole model.
EMSCRIPTEN_KEEPALIVE const double* playground_losses() {
    const auto take = [] {
        const auto losses = started().losses();
        numbers = {losses.as_it_stands, losses.whole};
    };
    return succeeds(take) ? numbers.data() : nullptr;
}

/// Layers, heads of each, context, learning rate, dropout, steps; whether positions are added.
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
