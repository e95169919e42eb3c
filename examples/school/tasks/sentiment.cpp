#include <tapestry/examples/school/tasks/sentiment.h>

#include <algorithm>

namespace tapestry::examples {
namespace {

constexpr std::string_view kAspects =
    "film|music|story|ending|actor|food|soup|waiter|room|view|book|concert|song|play";
constexpr std::string_view kOpinionAdjectives[] = {
    "boring|awful|bad|dull|poor|silly|ugly|sad|weak|cheap|strange|terrible",
    "good|great|lovely|funny|clever|fresh|bright|warm|fine|charming|pleasant|wonderful"};
constexpr std::string_view kAdverbs = "|really|quite|very|just";

bool only_held_out(const std::string& adjective) { return held_out("not " + adjective, 4); }

const std::string& pick(const Words& words, Generator& generator) {
    return words[generator.below(words.size())];
}

// "the film was not very good", positive if `good`. Adjectives reserved for held-out "not" are
// negated if `held_out`, and never otherwise.
Words draw_clause(bool good, bool held_out, Generator& generator) {
    for (;;) {
        const bool negated = held_out || generator.below(2) == 0;
        const std::string adjective = pick(choices(kOpinionAdjectives[good != negated]), generator);
        if (negated && only_held_out(adjective) != held_out) continue;
        return words_of(fmt::format("the {} was {} {} {}", pick(choices(kAspects), generator),
                                    negated ? "not" : "", pick(choices(kAdverbs), generator),
                                    adjective));
    }
}

Words joined(const Words& before, const std::string& by, const Words& after) {
    Words all = before;
    for (const std::string& word : words_of(by)) all.push_back(word);
    all.insert(all.end(), after.begin(), after.end());
    return all;
}

struct ReviewRows {
    Tensor ids, labels;  // [N, T], [N]
};

ReviewRows pack_reviews(const std::vector<Review>& reviews, const WordTable& table,
                        std::int64_t length) {
    std::vector<Words> sentences;
    std::vector<std::int64_t> labels;
    for (const Review& review : reviews) {
        sentences.push_back(review.words);
        labels.push_back(review.good ? 1 : 0);
    }
    return {pack(sentences, table, length),
            tensor(labels, {static_cast<std::int64_t>(labels.size())})};
}

std::vector<Review> draw_reviews(bool held_out, int count, Generator& generator) {
    std::vector<Review> reviews;
    for (int i = 0; i < count; ++i) reviews.push_back(draw_review(held_out, generator));
    return reviews;
}

// Trains `logits`, which maps ids to [N, 2]; the score is on held-out reviews.
Score learn(Module& model, const TaskOptions& options, const ReviewRows& train,
            const ReviewRows& test, Generator& generator,
            const std::function<Tensor(const Tensor&)>& logits) {
    const auto score = [&] {
        const Tensor right = eq(argmax(logits(test.ids)), test.labels);
        return Score{static_cast<std::int64_t>(sum(to(right, DType::f64)).item()),
                     test.ids.size(0)};
    };
    fit(
        model, options,
        [&] {
            const Tensor rows = randint(0, train.ids.size(0), {options.batch}, generator);
            return cross_entropy(logits(index_select(train.ids, 0, rows)),
                                 index_select(train.labels, 0, rows));
        },
        score);
    const Answering answering(model);
    return score();
}

}  // namespace

Review draw_review(bool held_out, Generator& generator) {
    const bool good = generator.below(2) == 0;
    const bool here = generator.below(2) == 0;  // which of two clauses has the held-out adjective
    const auto clause = [&](bool is_good, bool special) {
        return draw_clause(is_good, held_out && special, generator);
    };
    switch (generator.below(4)) {
        case 0: return {clause(good, true), good};
        case 1: return {joined(clause(good, here), ", and", clause(good, !here)), good};
        case 2: return {joined(clause(!good, here), ", but", clause(good, !here)), good};
        default: return {joined(clause(good, here), "even though", clause(!good, !here)), good};
    }
}

SentimentScores learn_sentiment(const TaskOptions& options) {
    Generator generator(options.seed), for_test(1);
    const std::vector<Review> reviews = draw_reviews(false, 5000, generator);
    const std::vector<Review> asked = draw_reviews(true, 1000, for_test);
    std::vector<Words> sentences;
    for (const Review& review : reviews) sentences.push_back(review.words);
    const WordTable table = WordTable::of(sentences);
    const std::int64_t length = columns_for(sentences);
    const ReviewRows train = pack_reviews(reviews, table, length);
    const ReviewRows test = pack_reviews(asked, table, length);

    SentimentScores scores;
    Linear weights(table.size(), 2, true, generator);
    if (options.print) fmt::print("counting words\n");
    scores.counting = learn(weights, options, train, test, generator, [&](const Tensor& ids) {
        return weights(sum(one_hot(ids, table.size()), {1}));  // [N, V] -> [N, 2]
    });
    MaskedLanguageModelConfig config = sentence_model(table, length);
    config.classes = 2;
    config.dropout = 0.1;
    MaskedLanguageModel model(config, generator);
    if (options.print) fmt::print("\nreading them\n");
    scores.model = learn(model, options, train, test, generator,
                         [&](const Tensor& ids) { return model.classify(ids); });
    return scores;
}

}  // namespace tapestry::examples
