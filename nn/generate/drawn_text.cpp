#include <tapestry/nn/generate/drawn_text.h>

#include <span>

namespace tapestry {

std::string DrawnText::next(std::int64_t id) {
    // A model's table may have more rows than its tokenizer tokens.
    if (id >= tokenizer_.vocab_size()) return stream_.push("\xFF");
    return stream_.push(tokenizer_.decode(std::span(&id, 1)));
}

std::string sample_text(const GPT& model, const Tokenizer& tokenizer, const std::string& prompt,
                        const SampleOptions& options, Generator& generator,
                        const std::function<bool(const std::string&)>& on_text) {
    std::vector<std::int64_t> ids = tokenizer.encode(prompt, "prompt");
    if (ids.empty()) ids.push_back(tokenizer.beginning());
    std::string written;
    const auto tell = [&](const std::string& text) {
        written += text;
        return !on_text || on_text(text);
    };
    if (!tell(prompt)) return written;
    DrawnText drawn(tokenizer);
    sample(model, ids, options, generator, [&](std::int64_t id) { return tell(drawn.next(id)); });
    tell(drawn.finish());
    return written;
}

}  // namespace tapestry
