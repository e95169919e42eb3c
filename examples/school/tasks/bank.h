// "Bank" and "bank": one entry of the vocabulary, two meanings. A masked language model reads
// sentences in which only the other nouns show whether money or a river is meant; nothing tells it
// that there are two banks. Afterwards we look at its vectors of "bank" in sentences whose nouns
// never occurred with it in training: does each meaning form a separate cluster?
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

enum class Meaning { river, money };

struct BankSentence {
    Words words;
    std::size_t bank = 0;  ///< index of "bank"
    Meaning meaning = Meaning::river;
};

/// "the frog and the otter were near the bank", with nouns that occur with "bank" in training; if
/// `held_out`, with nouns that occur only with other places there: "stream", "office".
BankSentence draw_bank(Meaning meaning, bool held_out, Generator& generator);

/// A training sentence: half are about a bank of either kind, half about an unambiguous place.
Words draw_sentence(Generator& generator);

/// How well a word's vectors separate its meanings.
struct Separation {
    Score told;  ///< held-out sentences nearer to the mean of their meaning, taken over
                 ///< training sentences
    double same = 0, different = 0;  ///< mean cosine of held-out pairs, by equal meaning
};

struct BankResult {
    Separation untrained, trained;  ///< of the last layer's output
};

inline const TaskOptions kBankOptions{.steps = 1000, .batch = 64, .rate = 3e-3};

BankResult learn_bank(const TaskOptions& options);

}  // namespace tapestry::examples
