// Sentiment: does somebody recommend it? "The film was not boring, but the music was awful." A
// model of BERT's shape reads the review, and [CLS], its first token, speaks for all of it.
// Counting words is not enough: "not" turns the next adjective round, and after "but" the second
// half counts. Some adjectives never follow "not" where the model learns; the held-out reviews have
// them there.
#pragma once

#include <tapestry/examples/school/tasks/sentences.h>

namespace tapestry::examples {

struct Review {
    Words words;
    bool good = false;
};

/// `held_out`: with a "not" before an adjective that has none in the other reviews.
Review draw_review(bool held_out, Generator& generator);

struct SentimentScores {
    Score model, counting;  ///< held out; of the model, and of the best weights for counted words
};

inline const TaskOptions kSentimentOptions{.steps = 1000, .batch = 64, .rate = 3e-3};

SentimentScores learn_sentiment(const TaskOptions& options);

}  // namespace tapestry::examples
