// The task of docs/tutorials/6-your-own-task.md, whose program has this class (own_task_test
// compares them), and a short run of it.
#pragma once

#include <tapestry/core/checksum.h>
#include <tapestry/core/file.h>
#include <tapestry/nn/data/labelled_texts.h>
#include <tapestry/nn/io/custom_directory.h>
#include <tapestry/nn/train/task.h>
#include <tapestry/tapestry.h>
#include <tapestry/tests/nn/small_run.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry::test {

// ---- the page's ---------------------------------------------------------------------------------

/// Reads letters without the spaces between them, and says of each whether one was before it.
class Spacer : public Module {
public:
    Embedding table;  // a row per letter of ASCII
    Encoder encoder;
    Linear head;

    Spacer(const CustomConfig& c, Generator& generator)
        : Module("Spacer"),
          table(128, c.dim, generator),
          encoder({.layers = c.layers,
                   .layer = {.dim = c.dim,
                             .heads = c.heads,
                             .dropout = c.dropout,
                             .norm_first = true,
                             .positions = Positions::rotary},
                   .final_norm = true},
                  generator),
          head(c.dim, c.classes, generator) {
        register_module("table", table);
        register_module("encoder", encoder);
        register_module("head", head);
    }

    Tensor operator()(const Tensor& letters, ComputeType type) const {  // [B, T] -> [B, T, 2]
        const ModuleScope scope(name());
        Tensor x = table(letters);
        if (type == ComputeType::bf16) x = to(x, DType::bf16);
        return head(encoder(x));
    }
};

class SpacesTask : public Task {
public:
    /// For a run: the model, with new weights or those of config.start, and the examples.
    static std::unique_ptr<Task> begin(TrainingConfig& config, TaskStart start,
                                       Generator& weights) {
        auto sizes = std::get<CustomConfig>(config.model_config());
        sizes.classes = 2;
        std::unique_ptr<SpacesTask> from;
        if (!config.start.empty() && !start.is_continued) {  // a continued run brings its weights
            from = open(config.start);
            const CustomConfig wanted = std::exchange(sizes, from->config_);
            keep_run_settings(sizes, wanted, config);
        }
        auto task = std::make_unique<SpacesTask>(sizes, weights);
        if (from) copy_parameters(*from->model_, *task->model_);
        config.set_model(task->config_);
        check_memory(config);
        task->read(config);
        return task;
    }

    /// From a directory: the model, without examples.
    static std::unique_ptr<SpacesTask> open(const std::filesystem::path& directory) {
        std::unique_ptr<SpacesTask> task;
        load_custom_model(directory, "spaces", [&](const CustomConfig& sizes) -> Module& {
            task = std::make_unique<SpacesTask>(sizes, default_generator());
            return task->model();
        });
        return task;
    }
    static std::unique_ptr<Task> load(const std::filesystem::path& directory) {
        return open(directory);
    }

    SpacesTask(const CustomConfig& sizes, Generator& generator) : config_(sizes) {
        model_ = std::make_unique<Spacer>(sizes, generator);
        config_.parameters = model_->parameter_count();
    }

    // ---- the model and its loss
    using Task::model;
    Module& model() override { return *model_; }
    ModelConfig model_config() const override { return config_; }
    void compute_in(ComputeType type) override { config_.compute = type; }
    CountedLoss loss(const Batch& batch) const override {
        const Tensor logits = (*model_)(batch.inputs, config_.compute);
        const std::int64_t letters = batch.targets.numel();
        return cross_entropy(reshape(logits, {letters, 2}), reshape(batch.targets, {letters}));
    }
    void check_batch(const Batch& batch) const override {
        require(batch.inputs.rank() == 2 && batch.inputs.shape() == batch.targets.shape(),
                "letters {} and spaces {}", batch.inputs.shape(), batch.targets.shape());
        for (const auto& [ids, count] : {std::pair{batch.inputs, 128}, {batch.targets, 2}}) {
            for (const std::int64_t id : ids.to_vector<std::int64_t>()) {
                require(id >= 0 && id < count, "{} is not one of {}", id, count);
            }
        }
    }

    // ---- the examples
    const std::string& data_hash() const override { return hash_; }
    Batch next_batch(Generator& generator) const override {
        return windows(0, next_rows(run_.order, learned(), run_.batch, generator));
    }
    std::int64_t validation_batches() const override { return 1; }
    Batch validation_batch(std::int64_t, Generator&) const override {
        std::vector<std::int64_t> all(static_cast<std::size_t>(held_out()));
        std::iota(all.begin(), all.end(), 0);
        return windows(learned(), all);
    }

    // ---- the directory
    void write_description(Commit& commit, const std::string& folder) const override {
        tapestry::write_description(commit, folder, config_);
    }
    std::vector<std::string> description_files() const override { return {"config.json"}; }

    // ---- what people see
    std::vector<std::string> texts(const Batch& batch, std::int64_t row) const override {
        std::vector<std::string> letters;
        for (std::int64_t i = 0; i < batch.inputs.size(1); ++i) {
            letters.emplace_back(1, static_cast<char>(batch.inputs[row][i].item<std::int64_t>()));
        }
        return letters;
    }
    std::string name_of(std::int64_t id) const override { return id == 1 ? "space" : "no space"; }
    Batch batch_of_prompt(const std::string& prompt,
                          const std::optional<std::string>&) const override {
        Letters letters(prompt);
        require(!letters.ids.empty(), "the prompt has no letters");
        const std::int64_t count = std::ssize(letters.ids);
        return {tensor(letters.ids, {1, count}), tensor(letters.spaces, {1, count})};
    }
    std::string data_text() const override { return fmt::format("{}: {}", run_.text, amounts()); }
    std::string amounts() const override {
        return fmt::format("{} windows to learn from, {} held out", learned(), held_out());
    }
    std::string shape_text() const override {
        return fmt::format("{} layers of {} heads, dim {}", config_.layers, config_.heads,
                           config_.dim);
    }
    std::string unit() const override { return "letters"; }
    std::string_view symbol() const override { return "space"; }
    std::vector<ExpectedLoss> expected_losses() const override {
        const double spaces =
            static_cast<double>(std::count(letters_.spaces.begin(), letters_.spaces.end(), 1));
        const double p = spaces / static_cast<double>(letters_.ids.size());
        std::vector<ExpectedLoss> all{{"guessing", std::log(2.0), "A space as often as none."}};
        if (!(p > 0 && p < 1)) return all;  // 0 ln 0 has no value as a number
        all.push_back({"counting", -p * std::log(p) - (1 - p) * std::log(1 - p),
                       "Knows how often a space comes, and does not look at the letters."});
        return all;
    }
    std::string sample(std::int64_t, Generator&) const override {
        std::string text;
        for (const std::string& letter : texts(windows(learned(), {0}), 0)) text += letter;
        return spaced(text);
    }

    /// A text with the spaces that the model puts before its letters.
    std::string spaced(const std::string& text) const {
        const NoGradGuard no_grad;
        const Batch batch = batch_of_prompt(text, {});
        const Tensor best = argmax((*model_)(batch.inputs, config_.compute), -1);  // [1, T]
        std::string all;
        for (std::int64_t i = 0; const std::string& letter : texts(batch, 0)) {
            const bool has_space = best[0][i].item<std::int64_t>() == 1;
            all += (has_space && i > 0 ? " " : "") + letter;
            ++i;
        }
        return all;
    }

private:
    /// The letters of a text, and of each whether a space is before it.
    struct Letters {
        std::vector<std::int64_t> ids, spaces;
        Letters() = default;
        explicit Letters(const std::string& text) {
            bool after_space = true;
            for (const char c : text) {
                const bool is_space = c == ' ' || c == '\n';
                require(c >= 0, "the text is not ASCII");
                if (!is_space) ids.push_back(static_cast<unsigned char>(c));
                if (!is_space) spaces.push_back(after_space ? 1 : 0);
                after_space = is_space;
            }
        }
    };

    void read(const TrainingConfig& config) {
        run_ = config;
        const std::string text = read_file(config.text);
        hash_ = checksum_of(text);
        letters_ = Letters(text);
        require(learned() > 0 && held_out() > 0, "{}: too short for windows of {} letters",
                config.text, config_.context);
    }
    std::int64_t all_windows() const { return std::ssize(letters_.ids) / config_.context; }
    std::int64_t held_out() const { return all_windows() / 10; }
    std::int64_t learned() const { return all_windows() - held_out(); }

    Batch windows(std::int64_t first, const std::vector<std::int64_t>& which) const {
        Batch batch{zeros({std::ssize(which), config_.context}, DType::i64), {}};
        batch.targets = zeros_like(batch.inputs);
        auto* ids = batch.inputs.mutable_data<std::int64_t>();
        auto* spaces = batch.targets.mutable_data<std::int64_t>();
        for (const std::int64_t i : which) {
            const auto at = static_cast<std::ptrdiff_t>((first + i) * config_.context);
            ids = std::copy_n(letters_.ids.begin() + at, config_.context, ids);
            spaces = std::copy_n(letters_.spaces.begin() + at, config_.context, spaces);
        }
        return batch;
    }

    CustomConfig config_;
    std::unique_ptr<Spacer> model_;
    TrainingConfig run_;
    std::string hash_;
    Letters letters_;
};

// ---- end ----------------------------------------------------------------------------------------

inline void register_spaces() {
    static const bool is_registered = [] {
        register_task({.name = "spaces",
                       .summary = "a model finds the spaces between words",
                       .begin = SpacesTask::begin,
                       .load = SpacesTask::load});
        return true;
    }();
    CHECK(is_registered);
}

inline TrainingConfig spaces_config(const RunPlace& place) {
    TrainingConfig config = place.config();
    config.task = "spaces";
    config.set_model(
        CustomConfig{.name = "spaces", .context = 8, .dim = 16, .layers = 1, .heads = 2});
    return config;
}

}  // namespace tapestry::test
