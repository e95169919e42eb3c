// Masked words: a BERT-like model reads children's stories with some words hidden and learns to
// predict them from both sides: "tom had a [MASK] ball". The stories are those of stories.h, split
// into lower-case words; whole stories are held out.
#pragma once

#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/examples/stories/stories.h>

#include <map>

namespace tapestry::examples {

using Words = std::vector<std::string>;

/// Splits a text into lower-case words. Every other character except white space, ideographs
/// included, is a separate word. "Don't" becomes don ' t.
Words words_of(std::string_view text);

/// Splits a text into stories at blank lines.
std::vector<std::string> stories_of(std::string_view text);

constexpr std::int64_t kPadding = 0, kStart = 1, kMask = 2, kUnknown = 3;  // then the words

class WordTable {
public:
    /// Every word of these stories, in alphabetical order.
    explicit WordTable(const std::vector<std::string>& stories);
    /// The same for sentences already split into words.
    static WordTable of(const std::vector<Words>& sentences);
    std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }
    std::int64_t id(const std::string& word) const;
    const std::string& word(std::int64_t id) const { return words_[static_cast<std::size_t>(id)]; }

private:
    void add(const Words& words);
    void number();

    Words words_{"[PAD]", "[CLS]", "[MASK]", "[UNK]"};
    std::map<std::string, std::int64_t> ids_;
};

constexpr std::int64_t kWindow = 32;  ///< the model's context in tokens

/// Rows of [CLS] and up to 31 words, [N, 32]; the last row of each story is padded.
Tensor windows(const std::vector<std::string>& stories, const WordTable& table);

struct StoryWords {
    WordTable table;
    Tensor train, test;      ///< i64 [N, 32]
    std::int64_t commonest;  ///< the most frequent word in `train`
};

StoryWords story_words(std::size_t bytes);

struct Guesses {
    Score model, commonest;
};

inline const TaskOptions kMaskedWordsOptions{.steps = 1500, .batch = 64, .rate = 5e-3};

Guesses learn_masked_words(const TaskOptions& options, std::size_t bytes, std::int64_t layers = 2);

}  // namespace tapestry::examples
