// The ids of an encoder-decoder that reads and writes characters: a few marks (padding, begin,
// end), then the characters. A text alone says neither where what is written begins nor where it
// ends.
#pragma once

#include <tapestry/nn/data/tokenizer.h>

namespace tapestry {

struct MarkedCharacters {
    CharTokenizer characters;  ///< whose id i is first + i in the model
    std::int64_t begin = 1;    ///< what the decoder reads before anything is written
    std::int64_t end = 2;      ///< what it writes after everything
    std::int64_t first = 3;    ///< ids below it are marks

    std::int64_t size() const { return first + characters.vocab_size(); }

    /// An id per character, no marks. Throws as CharTokenizer::encode does.
    std::vector<std::int64_t> encode(std::string_view text, std::string_view what = "text") const {
        std::vector<std::int64_t> ids = characters.encode(text, what);
        for (std::int64_t& id : ids) id += first;
        return ids;
    }

    /// The character of an id from `first` on. Throws IndexError for others.
    std::string text_of(std::int64_t id) const {
        id -= first;
        return characters.decode({&id, 1});
    }
    /// Of any id, for people: a mark is "[begin]", "[end]" or "[padding]".
    std::string name_of(std::int64_t id) const {
        if (id >= first) return text_of(id);
        return id == begin ? "[begin]" : id == end ? "[end]" : "[padding]";
    }
};

}  // namespace tapestry
