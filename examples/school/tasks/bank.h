// "Bank" and "bank": one word of the table, two meanings. A masked language model reads sentences
// of which only the other nouns tell whether money or a river is meant; nobody tells it that there
// are two banks. Afterwards its vectors of "bank" are looked at, in sentences whose nouns never
// stood beside that word: are those of one meaning together, and apart from the other's?
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

enum class Meaning { river, money };

struct BankSentence {
    Words words;
    std::size_t bank = 0;  ///< where "bank" stands
    Meaning meaning = Meaning::river;
};

/// "the frog and the otter were near the bank", by nouns that stand beside "bank" in training; or,
/// `held_out`, by those that stand beside other places alone: "stream", "office".
BankSentence draw_bank(Meaning meaning, bool held_out, Generator& generator);

/// What the model learns from: half of the sentences are about a bank of either kind, the others
/// about a place that is clear.
Words draw_sentence(Generator& generator);

/// How well the vectors of a word tell its meanings apart.
struct Separation {
    Score told;  ///< held-out sentences nearer to their own meaning's mean, of sentences seen
    double same = 0, different = 0;  ///< mean cosine of two held-out ones of a meaning, or of two
};

struct BankResult {
    Separation untrained, trained;  ///< at what the last layer says
};

inline const TaskOptions kBankOptions{.steps = 1000, .batch = 64, .rate = 3e-3};

BankResult learn_bank(const TaskOptions& options);

}  // namespace tapestry::examples
