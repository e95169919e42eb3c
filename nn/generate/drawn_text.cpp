#include <tapestry/nn/generate/drawn_text.h>

#include <span>

namespace tapestry {

std::string DrawnText::next(std::int64_t id) {
    // A model's table may have more rows than its tokenizer tokens.
    if (id >= tokenizer_.vocab_size()) return stream_.push("\xFF");
    return stream_.push(tokenizer_.decode(std::span(&id, 1)));
}

}  // namespace tapestry
