// What the heads of a GPT look at in stories: how far, at how many words, and whether they find the
// word that belongs to theirs.
#pragma once

#include <tapestry/examples/school/experiments/story_links.h>
#include <tapestry/nn/models/gpt.h>

namespace tapestry::experiments {

/// A head's mean weight on linked words, and what it gives to words as far away that are not
/// linked: on average over all words, for coreference over pronouns. A head that sees only
/// distance, or only that this is a pronoun, has 1.
struct LinkWeight {
    double weight = 0, expected = 0;
    double times() const { return weight / expected; }
};

struct HeadFigures {
    double distance = 0;  ///< mean, in tokens
    double entropy = 0;   ///< mean, in nats
    double previous = 0;  ///< mean weight on the token before
    LinkWeight links[kLinks];
};

/// [layers][heads], means over the pieces. Throws ValueError if some kind of link occurs in none.
std::vector<std::vector<HeadFigures>> look(const GPT& model, const std::vector<Piece>& pieces);

}  // namespace tapestry::experiments
