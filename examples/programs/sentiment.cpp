// sentiment: is a review positive or negative? Classifies the [CLS] vector. See sentiment.h.
#include <tapestry/examples/programs/task_command.h>
#include <tapestry/examples/school/tasks/sentiment.h>

int main(int argc, char** argv) {
    using namespace tapestry::examples;
    TaskCommand command("sentiment", "[CLS] says whether a review is for or against it",
                        kSentimentOptions, 0.95);
    return command.run(argc, argv, [](const TaskOptions& options) {
        const SentimentScores scores = learn_sentiment(options);
        fmt::print("\ncounting words: {:.1f} % held out right; reading them:\n",
                   100 * scores.counting.share());
        return scores.model;
    });
}
