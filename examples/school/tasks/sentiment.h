// Sentiment: is the review positive? "The film was not boring, but the music was awful." A
// BERT-like model reads the review, and a classifier reads the vector of [CLS], its first token.
// Counting words is not enough: "not" reverses the next adjective, and after "but" the second half
// counts. Some adjectives never follow "not" in training; in the held-out reviews they do.
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

struct Review {
    Words words;
    bool good = false;
};

/// `held_out`: "not" precedes an adjective that it never precedes in the other reviews.
Review draw_review(bool held_out, Generator& generator);

struct SentimentScores {
    Score model, counting;  ///< held-out scores of the model and of a bag-of-words classifier
};

inline const TaskOptions kSentimentOptions{.steps = 1000, .batch = 64, .rate = 3e-3};

SentimentScores learn_sentiment(const TaskOptions& options);

}  // namespace tapestry::examples
