// Children's stories from a seeded grammar, with the referent of every pronoun known.
//
// The small character GPT is trained on this text. Because the generator itself decides what each
// pronoun means, a trained attention map can be compared with the truth: "The animal didn't cross
// the street because it was too tired" says it = animal, "... too wide" says it = street.
//
// Read next: stories_data.h (the notation and the plots), then stories.cpp (which tells them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tapestry::examples {

/// Half-open byte ranges in the text. The antecedent is the last explicit mention of the pronoun's
/// referent before the pronoun: a name, a noun without its article, or a group in full ("Tom and
/// his mom"). A name inside a group also counts as a mention.
struct Reference {
    std::size_t pronoun_begin, pronoun_end, antecedent_begin, antecedent_end;
};

/// What connects two words, the later one first: a verb with its subject, an object with its verb,
/// a noun with its adjective.
enum class Relation { subject, object, modifier };

/// Half-open byte ranges of the later and of the earlier one. Objects follow their verb directly,
/// except for "the". Only the verbs of the sentences with two meanings and adjectives of colour and
/// kind are marked.
struct Dependency {
    Relation relation;
    std::size_t begin, end, earlier_begin, earlier_end;
};

/// A story, as a half-open byte range in the text, and what happens in it in one sentence.
struct Summary {
    std::size_t begin, end;
    std::string text;
};

struct Stories {
    std::string text;                   ///< ASCII; a blank line between stories, one newline last.
    std::vector<Reference> references;  ///< One for every pronoun of the third person, in order.
    std::vector<Dependency> dependencies;  ///< As they were written.
    std::vector<Summary> summaries;        ///< Of the stories with a plot, about half of them.
};

/// Whole stories, no two the same, until the text has at least `bytes` bytes. The same seed gives
/// the same bytes on every platform, and a longer text begins with the shorter one.
Stories write_stories(std::uint64_t seed, std::size_t bytes);

}  // namespace tapestry::examples
