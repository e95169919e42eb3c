#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/interrupt.h>
#include <tapestry/examples/cli/metrics_file.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/progress.h>
#include <tapestry/examples/cli/tokens.h>
#include <tapestry/examples/cli/train_report.h>
#include <tapestry/examples/cli/training.h>
#include <tapestry/examples/cli/trap.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/ops/ceiling.h>
#include <tapestry/ops/update.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace tapestry::cli {
namespace {

namespace fs = std::filesystem;

// The same seed for weights, batches, evaluation and samples would tie them together: each has a
// stream of its own.
enum class Stream : std::uint64_t { weights, batches, evaluation, samples };
Generator generator_for(std::uint64_t seed, Stream stream) {
    return Generator(seed * 4 + static_cast<std::uint64_t>(stream));
}

// The model to go on from, or nothing.
LoadedModel load_start(const TrainSettings& s) {
    if (s.start.empty()) return {};
    LoadedModel start = load_model(s.start);
    tokenizer_of(start, s.start);  // throws if there is none
    return start;
}

// A text and a directory to put the model in, looked at before any work is done.
class Training {
public:
    explicit Training(const TrainSettings& settings)
        : s_(settings),
          text_(read_text(settings.text)),
          start_(load_start(settings)),
          tokenizer_(start_.tokenizer
                         ? std::move(start_.tokenizer)
                         : std::make_unique<CharTokenizer>(CharTokenizer::from_text(text_))),
          data_(tokenizer_->encode(text_, settings.text), {.name = settings.text}),
          weights_(generator_for(settings.seed, Stream::weights)),
          batches_(generator_for(settings.seed, Stream::batches)) {
        choose_config();
        data_.check_context(s_.model.context);
        check_memory(s_.model, s_.batch);
        make_model();
        trap_.emplace(s_.trap_nan, *model_, weights_, *tokenizer_, fs::path(s_.out) / "trap");
        check_can_save(s_.out, *model_, *tokenizer_);  // a model that is there stays until a save
        metrics_ = std::make_unique<MetricsFile>(fs::path(s_.out) / "metrics.jsonl");
    }

    int run() {
        try {
            return trap_->guard([this] { return finish(train_model()); });
        } catch (const DivergedError& error) {
            if (page_) page_->end(TrainingState::diverged, error.what());
            throw;
        } catch (const std::exception& error) {
            if (page_) page_->end(TrainingState::failed, error.what());
            throw;
        }
    }

private:
    std::int64_t train_model() {
        announce();
        AdamW optimizer(decay_groups(*model_, s_.weight_decay),
                        {.lr = s_.schedule.rate, .beta1 = 0.9, .beta2 = s_.beta2});
        s_.schedule.steps = s_.loop.steps;
        s_.loop.schedule = warmup_cosine_schedule(s_.schedule);
        step_floor_ = step_flops(s_.model, s_.batch * s_.loop.accumulate) / measure_flops();
        progress_.emplace(s_.loop.steps, s_.batch * s_.model.context * s_.loop.accumulate,
                          step_floor_);
        if (!s_.no_report) make_page();
        catch_interrupts();
        TrainCallbacks callbacks;
        callbacks.loss = [this] {
            const Batch b =
                trap_->note(data_.random_batch(Split::train, s_.batch, s_.model.context, batches_));
            return model_->loss(b.inputs, b.targets);
        };
        callbacks.evaluate = [this] { return evaluate_now(); };
        callbacks.report = [this](const StepMetrics& m) {
            trap_->stepped(m.step);
            return report(m);
        };
        if (page_) {
            callbacks.before_update = [this](std::int64_t step) {
                if (s_.loop.evaluates_after(step)) {
                    page_->before_evaluated_update(step == s_.loop.steps);
                }
            };
        }
        return train(optimizer, s_.loop, callbacks);
    }

    void make_page() {
        page_.emplace(
            fs::path(s_.out) / "report.html", *model_,
            TrainReport::Hooks{
                .recipe = [this] { return recipe(); },
                // As many tokens as are written with the cache.
                .sample =
                    [this] { return sample_text(std::min<std::int64_t>(120, s_.model.context)); },
                .warn =
                    [this](const std::string& message) {
                        progress_->finish();
                        fmt::print(stderr, "tapestry: the report: {}\n", message);
                    }});
    }

    TrainingRecipe recipe() const {
        TrainingRecipe r = s_.recipe;
        r.title = "Training on " + s_.text;
        r.subtitle = fmt::format(
            "GPT: {}; {} parameters; {} {}s to learn from, {} held out; {} "
            "threads",
            model_->settings(), model_->parameter_count(), data_.ids(Split::train).size(),
            unit_of(*tokenizer_), data_.ids(Split::validation).size(), num_threads());
        r.expected = expected_losses(data_, *tokenizer_);
        r.steps = s_.loop.steps;
        r.tokens_per_step = s_.batch * s_.model.context * s_.loop.accumulate;
        r.step_floor = step_floor_;
        r.clip = s_.loop.clip;
        // A model to go on from brings its own.
        set_option(r, "--layers", std::to_string(s_.model.layers));
        set_option(r, "--heads", std::to_string(s_.model.heads));
        set_option(r, "--dim", std::to_string(s_.model.dim));
        set_option(r, "--context", std::to_string(s_.model.context));
        set_option(r, "--dropout", fmt::format("{}", s_.model.dropout));
        return r;
    }

    void choose_config() {
        if (!start_.model) {
            s_.model.vocab = tokenizer_->vocab_size();
            return;
        }
        const double dropout = s_.model.dropout;
        s_.model = start_.model->config();
        if (s_.dropout_given) s_.model.dropout = dropout;
    }

    // A new one also for known weights: its dropout follows the seed of this training.
    void make_model() {
        model_ = std::make_unique<GPT>(s_.model, weights_);
        if (!start_.model) return;
        const Tensors from = start_.model->parameters();
        Tensors to = model_->parameters();
        for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
        start_.model.reset();
    }

    void announce() {
        fmt::print("{}: {} {}s, {}{}; training on {}, validating on {}\n", s_.text,
                   data_.ids(Split::all).size(), unit_of(*tokenizer_), tokenizer_->vocab_size(),
                   s_.start.empty() ? " different" : " in the vocabulary",
                   data_.ids(Split::train).size(), data_.ids(Split::validation).size());
        fmt::print("GPT: {} layers, {} heads, dim {}, context {}: {} parameters; {} threads\n",
                   s_.model.layers, s_.model.heads, s_.model.dim, s_.model.context,
                   model_->parameter_count(), num_threads());
        if (s_.show_samples) {
            fmt::print("\nbefore training: validation loss {:.4f}; it writes\n{}\n\n",
                       evaluate_now(), sample_text(300));
        }
        std::fflush(stdout);
    }

    double evaluate_now() {
        Generator generator = generator_for(s_.seed, Stream::evaluation);  // the same batches anew
        return evaluate(*model_, data_, Split::validation,
                        {.batches = s_.eval_batches, .batch = s_.batch}, generator);
    }

    bool report(const StepMetrics& m) {
        progress_->show(m);
        step_seconds_ += m.step_seconds;
        nlohmann::ordered_json json{{"step", m.step},
                                    {"loss", m.loss},
                                    {"lr", m.lr},
                                    {"grad_norm", m.grad_norm},
                                    {"tokens_per_s", progress_->tokens_per_second()},
                                    {"seconds", m.seconds}};
        if (m.val_loss) {
            json["val_loss"] = *m.val_loss;
            save(m);
        }
        metrics_->write(json.dump());
        if (page_) page_->add(m);
        last_ = m;
        if (m.val_loss) last_val_loss_ = *m.val_loss;
        return !interrupted();
    }

    // A step can ruin the weights after a loss that still was a number: these are not worth saving.
    void save(const StepMetrics& m) {
        require<DivergedError>(std::isfinite(sum_of_squares(model_->parameters())) &&
                                   std::isfinite(m.val_loss.value_or(0)),
                               "train: step {}: the weights or the validation loss are no longer "
                               "finite, they were not saved; a lower learning rate or stronger "
                               "clipping may help",
                               m.step);
        if (saved_) return save_weights(s_.out, *model_);
        save_model(s_.out, *model_, *tokenizer_);
        saved_ = true;
    }

    int finish(std::int64_t done) {
        progress_->finish();
        save(last_);
        const double tokens = static_cast<double>(done * s_.batch * s_.model.context) *
                              static_cast<double>(s_.loop.accumulate);
        const double share = static_cast<double>(done) * step_floor_ / step_seconds_;
        nlohmann::ordered_json end{{"event", "end"},
                                   {"step", done},
                                   {"loss", last_.loss},
                                   {"seconds", last_.seconds},
                                   {"tokens_per_s", tokens / last_.seconds},
                                   {"share", share},
                                   {"interrupted", interrupted()}};
        if (last_val_loss_) end["val_loss"] = *last_val_loss_;
        if (page_) {
            page_->end(interrupted() ? TrainingState::interrupted : TrainingState::finished);
            end["report_seconds"] = page_->seconds();
        }
        metrics_->write(end.dump());
        if (s_.show_samples && !interrupted()) {
            fmt::print("\nafter training: it writes\n{}\n\n", sample_text(300));
        }
        const std::string val =
            last_val_loss_ ? fmt::format("{:.4f}", *last_val_loss_) : "not taken";
        const std::string speed = fmt::format("{:.0f} tokens/s, {:.0f}% of the ceiling",
                                              tokens / last_.seconds, 100 * share);
        fmt::print("{} steps in {} ({}): loss {:.4f}, validation loss {}\n", done,
                   clock_text(last_.seconds), speed, last_.loss, val);
        fmt::print("saved in {}\n", s_.out);
        if (page_) fmt::print("{}", page_->summary());
        return interrupted() ? kInterrupted : kSuccess;
    }

    std::string sample_text(std::int64_t tokens) {
        model_->eval();
        Generator generator = generator_for(s_.seed, Stream::samples);
        const auto prompt = data_.ids(Split::all).subspan(0, 1);
        const auto ids =
            sample(*model_, {prompt.begin(), prompt.end()}, {.tokens = tokens}, generator);
        model_->train();
        std::string text;
        DrawnText drawn(*tokenizer_);
        for (const std::int64_t id : prompt) text += drawn.next(id);
        for (const std::int64_t id : ids) text += drawn.next(id);
        return text + drawn.finish();
    }

    TrainSettings s_;
    std::string text_;
    LoadedModel start_;
    std::unique_ptr<Tokenizer> tokenizer_;
    TextData data_;
    Generator weights_;
    Generator batches_;
    std::unique_ptr<GPT> model_;
    std::unique_ptr<MetricsFile> metrics_;
    std::optional<Trap> trap_;
    bool saved_ = false;
    double step_floor_ = 0;    // seconds that the arithmetic of a step takes at least
    double step_seconds_ = 0;  // of all steps, evaluations excluded
    std::optional<Progress> progress_;
    std::optional<TrainReport> page_;
    StepMetrics last_;
    std::optional<double> last_val_loss_;
};

}  // namespace

int run_training(const TrainSettings& settings) {
    set_num_threads(settings.threads);
    return Training(settings).run();
}

}  // namespace tapestry::cli
