// How well a model gives the answers of conversations. Read next: chat_task.h, which learns them.
#pragma once

#include <tapestry/nn/train/training_config.h>

#include <cstdint>
#include <string>

namespace tapestry {

/// How well answers are predicted, each token from all that comes before it in its conversation.
struct ChatScores {
    double loss = 0;            ///< mean cross-entropy of the answers' tokens, in nats
    std::int64_t tokens = 0;    ///< tokens in answers, their ends included
    std::int64_t right = 0;     ///< of these, predicted as the likeliest
    std::int64_t answers = 0;   ///< number of answers
    std::int64_t exact = 0;     ///< of these, right in every token: greedy decoding writes them
    std::int64_t examples = 0;  ///< lines of the file
    std::int64_t cut = 0;       ///< of these, longer than the context
};

/// Scores the model in config.start on all conversations in config.data, in the form of
/// config.chat_template and chat_system or, if these are empty, the model's. Throws as ChatTask and
/// load_model do; DivergedError for a loss that is not finite.
ChatScores evaluate_on_chat(const TrainingConfig& config);

/// "loss 0.1034 nats per token of the answers (perplexity 1.109), 98.1% of 1204 tokens right, 85 of
/// 100 answers exact, in chat.jsonl", and a line end.
std::string to_text(const ChatScores& scores, const std::string& of);

/// One JSON object.
std::string to_json(const ChatScores& scores);

}  // namespace tapestry
