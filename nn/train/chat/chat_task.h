// The task "text" on conversations: a language model is fine-tuned to give the assistant's answers.
// Read next: nn/chat/chat_examples.h, the files; chat_scores.h, how good the answers are.
#pragma once

#include <tapestry/nn/chat/chat_examples.h>
#include <tapestry/nn/data/length_buckets.h>
#include <tapestry/nn/train/text_task.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

/// Conversations as tokens. Those of every tenth different question, in the order of the file, are
/// held out; of fewer than ten questions the last's.
struct ChatData {
    ChatTemplate chat = {};                 ///< their form
    std::vector<ChatTokens> train = {};     ///< to learn from
    std::vector<ChatTokens> held_out = {};  ///< for validation
    std::int64_t cut = 0;                   ///< examples that were longer than the context
    std::int64_t longest = 0;               ///< tokens of the longest
    std::int64_t tokens = 0;                ///< of all
    std::int64_t targets = 0;               ///< tokens that are learned
    std::string hash = {};                  ///< of the file, the form and the tokenizer
};

/// The form that a run says, or that of the model to begin with. Throws as the other function of
/// this name does.
ChatTemplate chosen_template(const TrainingConfig& config, const TextConventions& conventions,
                             const Tokenizer& tokenizer);

/// Examples as a batch: row i predicts the token behind each of its tokens; its end is padded,
/// where nothing reads it. Targets are -100 for tokens that are not learned.
Batch batch_of(const std::vector<const ChatTokens*>& rows);

/// A language model and conversations, one to a row. The rows of a batch have similar lengths, so
/// there is little padding; the loss is the mean over the answers' tokens in the batch.
class ChatTask final : public TextTask {
public:
    /// TextTask::begin, for config.is_chat(); sets config.chat_template and chat_system. Throws as
    /// that and as read_chat_examples, chosen_template, ChatEncoder and encoded() do;
    /// ValueError without a model to begin with, for options of texts, and if nothing can be held
    /// out.
    static std::unique_ptr<Task> begin(TrainingConfig& config, TaskStart start, Generator& weights);

    const ChatData& chat() const { return chat_; }  ///< the examples

    double step_flops(std::int64_t rows) const override;
    CountedLoss loss(const Batch& batch) const override;
    void check_batch(const Batch& batch) const override;
    Batch next_batch(Generator& generator) const override;
    std::int64_t validation_batches() const override;
    Batch validation_batch(std::int64_t i, Generator& generator) const override;

    std::string data_text() const override;
    std::string amounts() const override;
    std::string unit() const override { return "examples"; }
    std::string_view use() const override { return "chat"; }
    std::string example_text() const override;
    std::vector<ExpectedLoss> expected_losses() const override;
    std::string sample(std::int64_t length, Generator& generator) const override;

protected:
    std::vector<std::int64_t> sentence_ids() const override;

private:
    ChatTask(Examples examples, std::unique_ptr<LanguageModel> model, ChatData chat);

    ChatData chat_;
    LengthBuckets buckets_;                 // of chat_.train
    std::vector<std::int64_t> validation_;  // some of chat_.held_out, by length
};

}  // namespace tapestry
