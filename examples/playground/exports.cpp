// The playground as functions that a page can call: numbers and texts in, texts out, no exceptions.
// Where one fails it returns null or 0, and playground_error() says why. What is returned stands
// until the next call. Compiled for WebAssembly alone. Read next: web/worker.js, which calls them.
#include <tapestry/examples/playground/playground.h>
#include <tapestry/examples/stories/stories.h>

#include <emscripten.h>

#include <array>
#include <cmath>
#include <exception>
#include <optional>

namespace {

using tapestry::StepMetrics;
using tapestry::TrainingConfig;
using tapestry::TrainingState;
using tapestry::examples::Playground;

std::optional<Playground> playground;
std::string answer, error;
std::array<double, 8> numbers;

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

}  // extern "C"
