// The task "translate": an encoder-decoder reads a text and writes another. Read next:
// nn/data/text_pairs.h, the files; nn/models/transformer.h, the model; translation_scores.h.
#pragma once

#include <tapestry/nn/data/length_buckets.h>
#include <tapestry/nn/data/marked_vocabulary.h>
#include <tapestry/nn/data/text_pairs.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/nn/train/task.h>
#include <tapestry/nn/train/translate/translation_scores.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// How to look for a translation.
struct TranslateOptions {
    std::int64_t beams = 1;       ///< 1: greedy
    double length_penalty = 0.6;  ///< BeamOptions::length_penalty
};

/// Where the decoder looks while it writes: the mean of the heads of its last layer's
/// cross-attention. Byte pairs that are parts of one character are shown as that character, with
/// the mean of its rows and the sum of its columns.
struct TranslationMap {
    Tensor weights;                    ///< [T, S]
    std::vector<std::string> written;  ///< T tokens, the end's mark included
    std::vector<std::string> read;     ///< S tokens
};

/// An encoder-decoder, its vocabulary, and, unless it was loaded from a directory, pairs of texts.
///
/// The tokens are the characters of both sides, or byte pairs that are learned from both sides of
/// the training part, in one vocabulary. The pairs of every tenth
/// different source, in the order of the file, are held out; of fewer than ten sources the last's.
/// A batch is sources [B, S], padded at the end, and targets [B, T + 1] with a begin and an end,
/// padded after it; the decoder reads the first T and predicts the last T. The loss counts these
/// without padding.
class TranslateTask final : public Task {
public:
    /// TaskRow::begin. Throws as read_text_pairs and Transformer do; IoError, with file and line,
    /// for a side that is longer than the model takes or has a character that it does not know;
    /// ValueError if no source can be held out, and as train_byte_pairs does.
    static std::unique_ptr<Task> begin(TrainingConfig& config, TaskStart start, Generator& weights);
    /// TaskRow::load.
    static std::unique_ptr<Task> load(const std::filesystem::path& directory);

    /// A model and its vocabulary, without pairs. Throws ValueError for a model without padding.
    TranslateTask(std::unique_ptr<Transformer> model, MarkedVocabulary vocabulary);

    const Transformer& transformer() const { return *model_; }            ///< the model
    const MarkedVocabulary& vocabulary() const { return vocabulary_; }    ///< of both sides
    const TransformerConfig& config() const { return model_->config(); }  ///< the model's

    using Task::model;
    Module& model() override { return *model_; }
    ModelConfig model_config() const override { return model_->config(); }
    void compute_in(ComputeType type) override { model_->compute_in(type); }
    double step_flops(std::int64_t rows) const override;
    CountedLoss loss(const Batch& batch) const override;
    void check_batch(const Batch& batch) const override;

    const std::string& data_hash() const override { return examples().hash; }
    Batch next_batch(Generator& generator) const override;
    std::int64_t validation_batches() const override;
    Batch validation_batch(std::int64_t i, Generator& generator) const override;

    void write_description(Commit& commit, const std::string& folder) const override;
    std::vector<std::string> description_files() const override;

    std::vector<std::string> texts(const Batch& batch, std::int64_t row) const override;
    std::vector<PageText> page_texts(const Batch& batch, std::int64_t row) const override;
    std::string name_of(std::int64_t id) const override { return vocabulary_.name_of(id); }
    std::string data_text() const override;
    std::string amounts() const override;
    std::string shape_text() const override;
    std::string unit() const override { return "pairs"; }
    std::string_view symbol() const override { return vocabulary_.unit(); }
    std::string_view use() const override { return "translate"; }
    std::vector<ExpectedLoss> expected_losses() const override;
    std::string sample(std::int64_t length, Generator& generator) const override;
    std::vector<std::string> sentence() const override;
    SentenceProbe look() const override;

    /// The model's translations. It must be in evaluation mode. Throws ValueError for a text that
    /// is empty, too long, or has a character that the model does not know.
    std::vector<std::string> translate(const std::vector<std::string>& sources,
                                       const TranslateOptions& options = {}) const;
    /// Where it looks while it writes this target, or as much of it as the model takes.
    TranslationMap align(std::string_view source, std::string_view target) const;
    /// Pairs as a batch. Throws ValueError as translate does, for either side.
    Batch batch_of(const std::vector<TextPair>& pairs) const;
    /// How well it translates the sources of a file. Throws IoError, with file and line, for what
    /// translate refuses.
    TranslationScores score(const TextPairs& pairs, const TranslateOptions& options = {},
                            BleuTokens tokens = BleuTokens::words) const;

private:
    static constexpr std::int64_t kAtOnce = 64;  // pairs, without a tape

    using Ids = std::vector<std::int64_t>;
    struct Example {
        Ids source, target;    // without marks
        std::size_t pair = 0;  // index into Examples::pairs
    };
    struct Examples {
        TrainingConfig config;
        std::string hash;
        std::vector<TextPair> pairs;
        std::vector<Example> train, held_out;
        LengthBuckets buckets;                 // of train
        std::vector<std::int64_t> validation;  // some of held_out, by length
    };

    void take_examples(const TrainingConfig& config, TextPairs pairs,
                       const std::vector<bool>& is_held_out);
    const Examples& examples() const;
    Example example_of(const TextPair& pair, std::size_t index) const;
    std::vector<Example> examples_of(const TextPairs& pairs) const;
    Ids ids_of(std::string_view text, const char* what, std::int64_t marks) const;
    Batch batch_from(const std::vector<const Example*>& rows) const;
    std::vector<std::string> translations(const std::vector<const Ids*>& sources,
                                          const TranslateOptions& options) const;
    std::vector<std::string> names_of(const Ids& ids) const;
    const Example& watched() const;

    std::unique_ptr<Transformer> model_;
    MarkedVocabulary vocabulary_;
    std::optional<Examples> examples_;
};

/// load_task(directory) as what it is.
std::unique_ptr<TranslateTask> load_translate_task(const std::filesystem::path& directory);

}  // namespace tapestry
