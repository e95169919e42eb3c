// The task "text": a language model predicts each token of a text from those before it. Read next:
// nn/io/tokenize.h, how a text becomes ids; nn/models/language_model.h.
#pragma once

#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/text_conventions.h>
#include <tapestry/nn/train/task.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tapestry {

// ---- the text -----------------------------------------------------------------------------------

/// config.text, or config.data that `tapestry tokenize` made of texts. `tokenizer` is that of the
/// model to begin with; null: the data's own, or one of the text's characters. Throws ValueError
/// unless one of text and data is given, and for data made with another tokenizer than `tokenizer`;
/// as load_data and tokenize_text do.
Corpus read_corpus(const TrainingConfig& config, std::unique_ptr<Tokenizer> tokenizer,
                   const TextCache* cache = nullptr);

/// The corpus' ids, split by config.test_fraction.
TextData split_corpus(const Corpus& corpus, const TrainingConfig& config);

/// The former result of read_tokens().
struct TokenizedText {
    std::unique_ptr<Tokenizer> tokenizer;  ///< Corpus::tokenizer
    TextData data;                         ///< split_corpus()
    std::string checksum;                  ///< Corpus::hash
};

/// The former read_corpus() with split_corpus().
[[deprecated("use read_corpus and split_corpus")]] inline TokenizedText read_tokens(
    const TrainingConfig& config, std::unique_ptr<Tokenizer> tokenizer,
    const TextCache* cache = nullptr) {
    Corpus corpus = read_corpus(config, std::move(tokenizer), cache);
    TextData data = split_corpus(corpus, config);
    return {std::move(corpus.tokenizer), std::move(data), std::move(corpus.hash)};
}

// ---- the task -----------------------------------------------------------------------------------

/// A language model, its tokenizer, and, unless it was loaded from a directory, a text.
/// For a file of JSON Lines a ChatTask (chat/chat_task.h) takes its place (task_rows.cpp).
class TextTask : public Task {
public:
    /// TaskRow::begin. Throws IoError and ValueError for files that cannot be read, a text that is
    /// too short or cannot be said in the model's tokens, and more memory than there is.
    static std::unique_ptr<Task> begin(TrainingConfig& config, TaskStart start, Generator& weights);
    /// TaskRow::load.
    static std::unique_ptr<Task> load(const std::filesystem::path& directory);

    /// A model of yours, without a text. The tokenizer may be null if nothing asks for texts. Both
    /// must outlive the task.
    explicit TextTask(LanguageModel& model, const Tokenizer* tokenizer = nullptr);

    LanguageModel& language_model() const { return *model_; }   ///< the model
    const Tokenizer& tokenizer() const;                         ///< of the text
    const Corpus& corpus() const { return examples().corpus; }  ///< the text
    const TextData& data() const { return examples().data; }    ///< its ids, split

    using Task::model;
    Module& model() override { return *model_; }
    ModelConfig model_config() const override { return model_->model_config(); }
    void compute_in(ComputeType type) override { model_->compute_in(type); }
    /// Those of sequences as long as in training, if it has a text.
    double step_flops(std::int64_t rows) const override;
    CountedLoss loss(const Batch& batch) const override;
    void check_batch(const Batch& batch) const override;

    const std::string& data_hash() const override { return corpus().hash; }
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
    std::string_view symbol() const override { return tokenizer().unit(); }
    std::vector<ExpectedLoss> expected_losses() const override;
    std::string sample(std::int64_t length, Generator& generator) const override;
    std::vector<std::string> sentence() const override;
    SentenceProbe look() const override;

    /// The settings for texts in the model's directory.
    const TextConventions& conventions() const { return conventions_; }

protected:
    /// What it learns from.
    struct Examples {
        TrainingConfig config;        ///< completed
        Corpus corpus;                ///< the text
        TextData data;                ///< its ids, split
        TextConventions conventions;  ///< of the model to begin with
    };

    /// A model with a text.
    TextTask(Examples examples, std::unique_ptr<LanguageModel> model);

    const Examples& examples() const;  ///< throws ValueError if it has none
    /// The ids of sentence() and the one that follows.
    virtual std::vector<std::int64_t> sentence_ids() const;

    /// The model to begin with and its tokenizer, either of which may be missing. Throws ValueError
    /// if a run with LoRA began with another one.
    static LoadedModel given_start(TrainingConfig& config, TaskStart& start);
    /// Sets the sizes that follow from the vocabulary or from the model to begin with.
    static void complete(TrainingConfig& config, const LanguageModel* start, std::int64_t vocab);
    /// A new model also for known weights: its dropout follows the seed of this run.
    static std::unique_ptr<LanguageModel> made_model(const ModelConfig& config,
                                                     std::unique_ptr<LanguageModel> start,
                                                     Generator& generator);

private:
    explicit TextTask(LoadedModel loaded);

    std::optional<Examples> examples_;
    std::shared_ptr<LanguageModel> model_;
    std::shared_ptr<const Tokenizer> tokenizer_;  // the corpus', or the directory's
    TextConventions conventions_;
};

/// "; 2 files skipped: ..." for a directory with such; otherwise "".
std::string skipped_text(const Corpus& corpus);

/// Throws ValueError for ids i64 [B, T] that a model of this configuration cannot read.
void check_ids_of_batch(const Batch& batch, const ModelConfig& config);

}  // namespace tapestry
