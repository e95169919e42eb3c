// A conversation with a language model: messages in, answers out, as text that can be shown while
// it is written. Read next: nn/chat/chat_encoder.h, how messages are written; sample.h.
#pragma once

#include <tapestry/nn/chat/chat_encoder.h>
#include <tapestry/nn/generate/sample.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tapestry {

/// A conversation and its memory: as many of the latest messages as the model's context holds.
class Chat {
public:
    /// The model and the tokenizer must outlive it. options.tokens limits an answer; options.end is
    /// ignored. Throws as ChatEncoder does.
    Chat(const LanguageModel& model, const Tokenizer& tokenizer, const ChatTemplate& chat,
         SampleOptions options = {});

    /// The answer to a message of the user; both are remembered. It ends at the template's end or
    /// the end of text, at a stop text, and where the context ends. Earlier exchanges are
    /// forgotten, the oldest first, until an answer of options.tokens fits, or of half the context.
    /// `on_text` is called with each piece; return false to stop. Throws ValueError, and remembers
    /// nothing, for a message that is too long by itself, and as ChatEncoder::prompt and sample()
    /// do.
    std::string answer(const std::string& message, Generator& generator,
                       const std::function<bool(const std::string&)>& on_text = {});

    /// What it remembers.
    const std::vector<ChatMessage>& messages() const { return messages_; }
    /// Messages that it has forgotten.
    std::int64_t forgotten() const { return forgotten_; }

private:
    std::vector<std::int64_t> prompt_of(std::vector<ChatMessage>& kept) const;

    const LanguageModel& model_;
    const Tokenizer& tokenizer_;
    ChatEncoder encoder_;
    SampleOptions options_;
    std::vector<ChatMessage> messages_;
    std::int64_t forgotten_ = 0;
};

}  // namespace tapestry
