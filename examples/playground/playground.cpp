#include <tapestry/examples/playground/playground.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/file.h>
#include <tapestry/core/views.h>
#include <tapestry/examples/playground/sha256.h>
#include <tapestry/nn/generate/drawn_text.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/state_dict.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/nn/train/step_on_text.h>

#include <chrono>
#include <span>
#include <utility>
#include <vector>

namespace tapestry::examples {
namespace {

constexpr std::int64_t kSampleTokens = 120;
constexpr double kSampleTemperature = 0.8;

using Ids = std::vector<std::int64_t>;

std::unique_ptr<Session> begin(const std::string& text, const TrainingConfig& config) {
    write_file_atomically(config.text, text, {.sync = false});
    return std::make_unique<Session>(config);
}

double now_since_1970() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

}  // namespace

Playground::Playground(const std::string& text, const TrainingConfig& config)
    : session_(begin(text, config)), report_(recipe_of(*session_, {}, 0)) {
    watch();
}

void Playground::watch() {
    session_->watch({.before_update = [this, loop = session_->config().loop()](std::int64_t step) {
        if (!loop.evaluates_after(step)) return;
        flow_.emplace(session_->model());
        flow_->before_update();
    }});
}

StepMetrics Playground::step() {
    const StepMetrics metrics = session_->take_step();
    report_.add(metrics);
    if (flow_) {
        ReportedEvaluation evaluation{.step = metrics.step,
                                      .val_loss = metrics.val_loss,
                                      .sample = sample({}, kSampleTokens, kSampleTemperature)};
        evaluation.flow = flow_->after_update();
        report_.add(std::move(evaluation));
        flow_.reset();
    }
    return metrics;
}

void Playground::change(double lr, double dropout) {
    TrainingConfig config = session_->config();
    const double decay = config.lr > 0 ? config.min_lr / config.lr : 0;
    config.lr = lr;
    config.min_lr = decay * lr;
    config.model.dropout = dropout;
    // A tokenizer of the text's characters is made anew, the same.
    auto next = session_->continued(config, nullptr);
    next->set_seconds_before(report_.latest().seconds);
    session_ = std::move(next);
    watch();
}

std::string Playground::sample(const std::string& prompt, std::int64_t tokens, double temperature) {
    const Tokenizer& tokenizer = session_->tokenizer();
    const Ids ids = prompt.empty() ? session_->data().ids(Split::all).read(0, 1)
                                   : tokenizer.encode(prompt, "prompt");
    Generator generator = stream(session_->config().seed, Stream::samples);
    session_->model().eval();
    const Ids drawn = tapestry::sample(session_->model(), ids,
                                       {.tokens = tokens, .temperature = temperature}, generator);
    session_->model().train();
    DrawnText text(tokenizer);
    std::string all;
    for (const std::int64_t id : ids) all += text.next(id);
    for (const std::int64_t id : drawn) all += text.next(id);
    return all + text.finish();
}

std::string Playground::report(TrainingState state, const std::string& message) const {
    return to_json(report_, {.state = state, .message = message, .written = now_since_1970()});
}

std::string Playground::look(const std::string& sentence) {
    const Tokenizer& tokenizer = session_->tokenizer();
    const Ids ids = tokenizer.encode(sentence, "sentence");
    const auto count = std::ssize(ids) - 1;
    const std::int64_t most = session_->config().model.context;
    require(count >= 1 && count <= most, "sentence: {} characters; from 2 to {} are needed",
            count + 1, most + 1);
    const Tensor all = tensor(ids, {1, count + 1});
    const Tensor inputs = views::slice(all, 1, 0, count);
    const Tensor targets = views::slice(all, 1, 1, count + 1);
    GPT& model = session_->model();
    model.zero_grad();
    model.eval();
    Inspector inspector(model);
    {
        Tape tape;
        tape.backward(model.loss(inputs, targets));
        inspector.finish();
    }
    model.train();
    const auto read = std::span(ids).first(ids.size() - 1);
    return to_json(inspector,
                   {.title = "One step", .texts = {{.queries = token_texts(tokenizer, read)}}});
}

std::string Playground::digest() const {
    Sha256 digest;
    for (const auto& [name, tensor] : saved_tensors(session_->model())) {
        const std::vector<float> values = tensor.to_vector<float>();
        digest.add(std::as_bytes(std::span(values.data(), values.size())));
    }
    return digest.hex();
}

}  // namespace tapestry::examples
