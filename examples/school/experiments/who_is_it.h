// Shared by the files of the experiment who_is_it: sentences whose pronoun could refer to two
// nouns, the encoder that learns them (who_is_it.cpp), one that is also asked what was caused
// (who_is_it_cause.cpp), and a pretrained GPT that is asked about them (who_is_it_asked.cpp).
#pragma once

#include <tapestry/examples/school/experiments/experiment.h>
#include <tapestry/examples/school/tasks/masked_words.h>
#include <tapestry/examples/stories/stories.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tapestry::experiments::who_is_it {

/// A sentence with two nouns that the pronoun could refer to; the ending decides.
struct Riddle {
    examples::Words words;
    std::size_t pronoun, antecedent, rival;  ///< word indices
    std::size_t effect = 0;                  ///< of the verb that the ending explains: "cross";
                                             ///< 0 if it is not known or never was one in training
    std::string nouns() const {
        return words[std::min(antecedent, rival)] + " " + words[std::max(antecedent, rival)];
    }
};

/// The riddle of a reference, if its sentence has the form "The x ... the y because it ...".
std::optional<Riddle> riddle_of(const std::string& text, const examples::Reference& reference);

/// Riddles to learn from and to judge by.
struct Riddles {
    std::vector<Riddle> train, test;
};

struct Questions {
    Tensor ids;      ///< i64 [N, kLength]
    Tensor targets;  ///< i64 [N, kLength]: -100 where nothing is asked
};

inline constexpr std::int64_t kLength = 18;  ///< words of the longest riddle

/// Asks at the pronoun for the antecedent.
Questions pack(const std::vector<Riddle>& riddles, const examples::WordTable& table);

/// The sentences and their vocabulary, the same for all seeds. Some pairs of nouns are held out.
struct Corpus {
    Riddles riddles;
    examples::WordTable table;
    /// Every third held-out sentence chooses the learning rate and ranks the heads; the others,
    /// `test`, judge.
    std::vector<Riddle> choosing;
    Questions train, test;
    double first_noun = 0;  ///< accuracy of always naming the first noun
    double chance = 0;      ///< the weight of one word under uniform attention

    Corpus();
};

/// An encoder of width 64 with new weights.
MaskedLanguageModel encoder_of(const Corpus& corpus, std::int64_t layers, std::int64_t heads,
                               std::uint64_t seed);

void teach(MaskedLanguageModel& model, const Questions& questions, std::int64_t steps, double rate,
           std::uint64_t seed);

/// The fraction of questions that the model answers right, from the whole vocabulary.
double accuracy(const MaskedLanguageModel& model, const Questions& questions);

/// Encoders with one head a layer and with two that are asked at the pronoun who it is, and at the
/// last word, the cause, which verb it explains.
std::vector<Trial> cause_trials(const Setting& setting, const Corpus& corpus);

std::vector<Claim> cause_claims();

void add_causes(const Outcomes& outcomes, Report& report);

/// The trial of the GPT in a directory: in how many sentences it takes the ending to be likelier
/// after the antecedent than after the other noun in the pronoun's place, and where a head looks
/// from the last word. Seeds draw sentences. Throws ValueError for a model that is no GPT.
Trial asked_trial(const Setting& setting);

/// What it says of the claims: only `it_is_named` can be asked of a GPT.
Report asked_report(const Outcomes& outcomes);

}  // namespace tapestry::experiments::who_is_it
