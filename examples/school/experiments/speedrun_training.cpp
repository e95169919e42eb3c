// Read speedrun_training.h first.
#include <tapestry/examples/school/experiments/speedrun_training.h>

#include <tapestry/core/clock.h>
#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/examples/stories/stories.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/nn/train/make_optimizer.h>
#include <tapestry/nn/train/streams.h>

#include <algorithm>

namespace tapestry::experiments {
namespace {

constexpr std::size_t kStories = 1000000;  // bytes
constexpr std::size_t kPieces = 40;        // of a curve

// A session without its files.
class Training {
public:
    Training(const SpeedrunText& text, const TrainingConfig& config, std::uint64_t seed)
        : text_(text),
          config_(config),
          seed_(seed),
          weights_(stream(seed, Stream::weights)),
          batches_(stream(seed, Stream::batches)),
          model_(with_vocab(config.model, text.vocab), weights_),
          optimizer_(make_optimizer(model_, config)),
          loop_(*optimizer_, without_evaluations(config),
                {.loss =
                     [this] {
                         const Batch batch =
                             text_.data.batch(config_.order, Split::train, config_.batch,
                                              config_.model.context, batches_);
                         return model_.loss(batch.inputs, batch.targets);
                     },
                 .evaluate = {},
                 .report = {}}) {}

    StepMetrics step() { return loop_.next(); }

    double loss(Split split) {
        Generator generator = stream(seed_, Stream::evaluation);
        return evaluate(model_, text_.data, split,
                        {.batches = config_.eval_batches, .batch = config_.batch}, generator);
    }

private:
    static GPTConfig with_vocab(GPTConfig config, std::int64_t vocab) {
        config.vocab = vocab;
        return config;
    }
    static TrainOptions without_evaluations(const TrainingConfig& config) {
        TrainOptions options = config.loop();
        options.eval_every = 0;
        return options;
    }

    const SpeedrunText& text_;
    TrainingConfig config_;
    std::uint64_t seed_;
    Generator weights_, batches_;
    GPT model_;
    std::unique_ptr<Optimizer> optimizer_;
    TrainLoop loop_;
};

}  // namespace

std::shared_ptr<const SpeedrunText> speedrun_text(const Setting& setting) {
    const std::string text =
        setting.text.empty() ? examples::write_stories(1, kStories).text : read_text(setting.text);
    const CharTokenizer tokenizer = CharTokenizer::from_text(text);
    return std::make_shared<const SpeedrunText>(SpeedrunText{
        tokenizer.vocab_size(), TextData(tokenizer.encode(text), {.test_fraction = 0.05})});
}

Measured train_on(const SpeedrunText& text, TrainingConfig config, std::uint64_t seed) {
    Training training(text, config, seed);
    Measured m;
    std::vector<double>& curve = m.curves["loss"];
    const std::int64_t piece = std::max<std::int64_t>(1, config.steps / kPieces);
    double sum = 0;
    for (std::int64_t step = 1; step <= config.steps; ++step) {
        sum += training.step().loss;
        if (step % piece != 0) continue;
        curve.push_back(sum / static_cast<double>(piece));
        sum = 0;
    }
    m.numbers = {{"validation", training.loss(Split::validation)},
                 {"test", training.loss(Split::test)}};
    return m;
}

Measured time_steps(const SpeedrunText& text, TrainingConfig config, std::int64_t steps,
                    std::uint64_t seed) {
    Training training(text, config, seed);
    std::vector<double> ms;
    for (std::int64_t i = 0; i < steps + 5; ++i) {
        const double seconds = training.step().step_seconds;
        if (i >= 5) ms.push_back(1000 * seconds);  // the first make room
    }
    const auto middle = ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2);
    std::nth_element(ms.begin(), middle, ms.end());
    Measured m;
    m.numbers["ms"] = *middle;
    return m;
}

Measured time_training(const SpeedrunText& text, TrainingConfig config, std::uint64_t seed) {
    Training training(text, config, seed);
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < config.steps; ++i) training.step();
    const double loss = training.loss(Split::validation);
    Measured m;
    m.numbers = {{"seconds", seconds_since(start)}, {"validation", loss}};
    return m;
}

}  // namespace tapestry::experiments
