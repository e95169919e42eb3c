// The task "answer": a model points at the answer to a question in a passage. Read next:
// nn/data/questions.h, the files; nn/models/span/span_reader.h, the model; answer_scores.h.
#pragma once

#include <tapestry/nn/data/length_buckets.h>
#include <tapestry/nn/data/questions.h>
#include <tapestry/nn/io/encoder_directory.h>
#include <tapestry/nn/train/answer/answer_scores.h>
#include <tapestry/nn/train/task.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A span of a passage as an answer.
struct FoundAnswer {
    std::string text;        ///< without blanks at its ends
    double probability = 0;  ///< of its first token times that of its last
};

/// A model that points at answers, its tokenizer, and, unless it was loaded from a directory,
/// questions.
///
/// The tokens are byte pairs, learned from the training part. The questions of every tenth
/// different passage, in the order of the file, are held out; of fewer than ten passages the
/// last's. A batch is [CLS] question [SEP] passage [SEP], padded at the end, [B, T], and the first
/// and last token of the answers, [B, 2]. An answer that begins or ends inside a token takes all of
/// that token.
class AnswerTask final : public Task {
public:
    /// TaskRow::begin. Throws as read_questions and SpanReader do; IoError, with file and line, for
    /// a question that is longer than the model reads or an answer longer than it gives; and
    /// ValueError if no passage can be held out.
    static std::unique_ptr<Task> begin(TrainingConfig& config, TaskStart start, Generator& weights);
    /// TaskRow::load.
    static std::unique_ptr<Task> load(const std::filesystem::path& directory);

    /// A model and its tokenizer, without questions.
    explicit AnswerTask(LoadedSpanReader loaded);

    const SpanConfig& config() const { return model_->config(); }  ///< the model's

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
    std::string name_of(std::int64_t id) const override;
    std::string data_text() const override;
    std::string amounts() const override;
    std::string shape_text() const override;
    std::string unit() const override { return "questions"; }
    std::string_view symbol() const override { return "place"; }
    std::string_view use() const override { return "answer"; }
    std::vector<ExpectedLoss> expected_losses() const override;
    std::string sample(std::int64_t length, Generator& generator) const override;

    /// A question about a passage, and the answer, as a batch. Throws ValueError for a text that is
    /// empty or too long, and an answer that does not occur once in the passage.
    Batch batch_of(std::string_view passage, std::string_view question,
                   std::string_view answer) const;
    /// The `most` likeliest answers, the likeliest first. The model must be in evaluation mode.
    /// Throws ValueError for a text that is empty or too long.
    std::vector<FoundAnswer> answer(std::string_view passage, std::string_view question,
                                    std::int64_t most) const;
    /// How well it answers these questions. Throws IoError, with file and line, for one that is too
    /// long.
    AnswerScores score(const Questions& questions) const;

private:
    using Ids = std::vector<std::int64_t>;
    struct Example {
        Ids ids;                           // with marks, without padding
        std::int64_t passage = 0;          // place of its first token
        std::vector<std::int64_t> ends;    // bytes of the passage up to the end of each token
        std::int64_t first = 0, last = 0;  // places of the answer's tokens, if there is one
        std::size_t question = 0;          // index into Examples::questions
        bool is_whole = true;              // whether the answer begins and ends with a token
    };
    struct Examples {
        TrainingConfig config;
        std::string file, hash;
        std::vector<PassageQuestion> questions;
        std::vector<Example> train, held_out;
        std::int64_t passages = 0;
        LengthBuckets buckets;  // of train
        Ids validation;         // of held_out, by length
    };

    const Examples& examples() const;
    Example example_of(std::string_view passage, std::string_view question) const;
    static void point_at(Example& example, std::string_view passage, std::size_t begin,
                         std::size_t bytes);
    Example learned_example(const Questions& questions, std::size_t index) const;
    void take_examples(const TrainingConfig& config, Questions questions,
                       const std::vector<bool>& is_held_out);
    Batch batch_from(const std::vector<const Example*>& rows) const;
    std::vector<std::vector<FoundAnswer>> find(const std::vector<const Example*>& rows,
                                               const std::vector<std::string_view>& passages,
                                               std::int64_t most) const;

    std::unique_ptr<SpanReader> model_;
    std::shared_ptr<Tokenizer> tokenizer_;
    std::optional<Examples> examples_;
};

/// load_task(directory) as what it is.
std::unique_ptr<AnswerTask> load_answer_task(const std::filesystem::path& directory);

}  // namespace tapestry
