#include <tapestry/nn/generate/chat.h>

#include <tapestry/core/error.h>
#include <tapestry/nn/generate/stop_texts.h>
#include <tapestry/nn/models/language_model.h>

#include <algorithm>
#include <utility>

namespace tapestry {

Chat::Chat(const LanguageModel& model, const Tokenizer& tokenizer, const ChatTemplate& chat,
           SampleOptions options)
    : model_(model),
      tokenizer_(tokenizer),
      encoder_(chat, tokenizer),
      options_(std::move(options)) {
    options_.end.reset();  // encoder_.ends() instead
}

// The ids of the messages; drops the oldest until the rest fits.
std::vector<std::int64_t> Chat::prompt_of(std::vector<ChatMessage>& kept) const {
    const std::int64_t context = common_settings(model_.model_config()).context;
    const std::int64_t most = context - std::min(options_.tokens, context / 2);
    for (;;) {
        std::vector<std::int64_t> ids = encoder_.prompt(kept);
        if (std::ssize(ids) <= most || kept.size() == 1) {
            require(std::ssize(ids) < context,
                    "chat: the message has {} tokens with its template; the model reads {} and "
                    "needs some for its answer",
                    ids.size(), context);
            return ids;
        }
        kept.erase(kept.begin(), kept.begin() + 2);  // a message and its answer
    }
}

std::string Chat::answer(const std::string& message, Generator& generator,
                         const std::function<bool(const std::string&)>& on_text) {
    std::vector<ChatMessage> kept = messages_;
    kept.push_back({"user", message});
    const std::vector<std::int64_t> prompt = prompt_of(kept);
    const std::int64_t context = common_settings(model_.model_config()).context;
    SampleOptions options = options_;
    options.tokens = std::min<std::int64_t>(options.tokens, context - std::ssize(prompt));
    StopTexts stops(options.stop);
    StreamDecoder drawn(tokenizer_);
    std::string written;
    const bool drops_blank = encoder_.begins_with_blank();
    const auto tell = [&](std::string text) {
        if (drops_blank && written.empty() && text.starts_with(' ')) text.erase(0, 1);
        written += text;
        return !on_text || on_text(text);
    };
    sample(model_, prompt, options, generator, [&](std::int64_t id) {
        const auto& ends = encoder_.ends();
        if (std::find(ends.begin(), ends.end(), id) != ends.end()) return false;
        return tell(stops.next(drawn.next(id))) && !stops.found();
    });
    const std::string last = stops.next(drawn.finish());
    tell(last + stops.finish());
    forgotten_ += std::ssize(messages_) + 1 - std::ssize(kept);
    messages_ = std::move(kept);
    messages_.push_back({"assistant", written});
    return written;
}

}  // namespace tapestry
