// The task "mask": a model predicts masked tokens of a text from those on both sides, as BERT
// learns. Read next: nn/data/mask_tokens.h, which tokens are masked;
// nn/models/masked_language_model.h, the model.
#pragma once

#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/io/encoder_directory.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/task.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// How a masked token is written in a text.
inline constexpr std::string_view kMaskText = "[MASK]";

/// A text whose masks are filled in.
struct FilledText {
    std::string text;  ///< with the likeliest token at each mask
    /// For each mask the likeliest tokens and their probabilities, the likeliest first.
    std::vector<std::vector<std::pair<std::string, double>>> found;
};

/// How well masked tokens are predicted.
struct MaskScores {
    double loss = 0;             ///< mean cross-entropy in nats
    std::int64_t tokens = 0;     ///< masked tokens
    std::int64_t right = 0;      ///< of these, predicted as the likeliest
    std::string unit = "token";  ///< or "character"
};

/// A model of masked tokens, its tokenizer, and, unless it was loaded from a directory, a text.
///
/// A batch is drawn from the text as for a language model; in each sequence 15 % of the tokens are
/// then chosen, of which 8 in 10 become [MASK], 1 another token. Targets are -100 elsewhere.
class MaskTask final : public Task {
public:
    /// TaskRow::begin. Throws as read_corpus and MaskedLanguageModel do.
    static std::unique_ptr<Task> begin(TrainingConfig& config, TaskStart start, Generator& weights);
    /// TaskRow::load.
    static std::unique_ptr<Task> load(const std::filesystem::path& directory);

    /// A model and its tokenizer, without a text.
    explicit MaskTask(LoadedMaskedModel loaded);

    using Task::model;
    Module& model() override { return *model_; }
    ModelConfig model_config() const override { return model_->config(); }
    void compute_in(ComputeType type) override { model_->compute_in(type); }
    double step_flops(std::int64_t rows) const override;
    CountedLoss loss(const Batch& batch) const override;
    void check_batch(const Batch& batch) const override;

    const std::string& data_hash() const override { return examples().corpus.hash; }
    Batch next_batch(Generator& generator) const override;
    std::int64_t validation_batches() const override { return examples().config.eval_batches; }
    Batch validation_batch(std::int64_t i, Generator& generator) const override;

    void write_description(Commit& commit, const std::string& folder) const override;
    std::vector<std::string> description_files() const override;

    std::vector<std::string> texts(const Batch& batch, std::int64_t row) const override;
    std::string name_of(std::int64_t id) const override;
    std::string data_text() const override;
    std::string amounts() const override;
    std::string shape_text() const override;
    std::string_view symbol() const override { return tokenizer_->unit(); }
    std::string_view use() const override { return "fill"; }
    std::vector<ExpectedLoss> expected_losses() const override;
    std::string sample(std::int64_t length, Generator& generator) const override;

    /// A text with masks, and the same with the tokens that belong there, as a batch. Throws
    /// ValueError for texts that do not fit each other or the model.
    Batch batch_of(std::string_view text, std::string_view whole) const;
    /// Fills every [MASK] of a text, each by itself, with `most` alternatives. The model must be in
    /// evaluation mode. Throws ValueError for a text without a mask or one too long, and as the
    /// tokenizer does.
    FilledText fill(std::string_view text, std::int64_t most) const;
    /// Scores on random pieces of config.text or config.data (as evaluate_on_text does), masked as
    /// in training.
    MaskScores score(const TrainingConfig& config, Split split, const EvaluateOptions& options,
                     std::uint64_t seed) const;

private:
    struct Examples {
        TrainingConfig config;
        Corpus corpus;
        TextData data;
    };

    const Examples& examples() const;
    std::int64_t mask_id() const { return model_->config().vocab - 1; }
    std::vector<std::int64_t> ids_of(std::string_view text) const;
    FilledText fill_ids(std::vector<std::int64_t> ids, std::int64_t most) const;
    Batch masked(const Batch& batch, Generator& generator) const;

    std::optional<Examples> examples_;
    std::unique_ptr<MaskedLanguageModel> model_;
    std::shared_ptr<Tokenizer> tokenizer_;
};

/// "loss 1.4632 nats per masked character (perplexity 4.320), accuracy 0.6120 over 1536 of
/// input.txt", and a line end.
std::string to_text(const MaskScores& scores, const std::string& of);

/// One JSON object.
std::string to_json(const MaskScores& scores);

/// load_task(directory) as what it is.
std::unique_ptr<MaskTask> load_mask_task(const std::filesystem::path& directory);

}  // namespace tapestry
