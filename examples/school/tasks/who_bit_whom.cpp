#include <tapestry/examples/school/tasks/who_bit_whom.h>

#include <algorithm>

namespace tapestry::examples {
namespace {

constexpr std::string_view kAnimals = "人|狗|猫|马|猴子|老虎|狼|蛇|兔子|鹅|羊|驴";

struct Pattern {
    std::string_view text;
    std::size_t answer;  // index of the noun
};
constexpr Pattern kPatterns[] = {{"1咬了2，谁受了伤？", 1},
                                 {"1咬了2，是谁咬的？", 0},
                                 {"1被2咬了，谁受了伤？", 0},
                                 {"1被2咬了，是谁咬的？", 1}};

// Prints the model's answers, sentence by sentence.
void show(const MaskedLanguageModel& model, const WordTable& table, std::int64_t length) {
    for (const Words& nouns : {Words{"狗", "人"}, Words{"人", "狗"}}) {
        const Words words = fill(kPatterns[0].text, nouns);
        const auto place =
            static_cast<std::int64_t>(std::find(words.begin(), words.end(), "谁") - words.begin());
        const Tensor said = argmax(model(pack({words}, table, length)));
        fmt::print("{} {}\n", fmt::join(words, ""),
                   table.word(said.at<std::int64_t>({0, place + 1})));
    }
}

}  // namespace

std::vector<Question> bites(bool held_out) {
    std::vector<Question> questions;
    for (const std::string& one : choices(kAnimals)) {
        for (const std::string& other : choices(kAnimals)) {
            if (one == other) continue;
            const std::string pair = std::min(one, other) + std::max(one, other);
            const bool shown =
                pair == std::min<std::string>("人", "狗") + std::max<std::string>("人", "狗");
            if ((shown || examples::held_out(pair, 4)) != held_out) continue;
            for (const Pattern& pattern : kPatterns) {
                const Words nouns{one, other};
                Question q{fill(pattern.text, nouns), 0, nouns[pattern.answer]};
                q.place = static_cast<std::size_t>(std::find(q.words.begin(), q.words.end(), "谁") -
                                                   q.words.begin());
                questions.push_back(q);
            }
        }
    }
    return questions;
}

BiteScores learn_who_bit_whom(const TaskOptions& options) {
    const std::vector<Question> train = bites(false), test = bites(true);
    const WordTable table = WordTable::of(sentences_of(train));
    const std::int64_t length = columns_for(sentences_of(train));
    const QuestionRows learn = pack(train, table, length), asked = pack(test, table, length);
    BiteScores scores;
    for (const bool with : {true, false}) {
        Generator generator(options.seed);
        MaskedLanguageModel model(sentence_model(table, length), generator);
        if (!with) {  // all positions share one vector, which stays fixed
            model.position_embedding.weight.fill_(0);
            model.freeze("position_embedding");
        }
        if (options.print) fmt::print("\n{} positions\n", with ? "with" : "without");
        learn_questions(model, options, learn, asked, generator);
        const Answering answering(model);
        if (options.print) show(model, table, length);
        (with ? scores.with_positions : scores.without) = examine(model, asked);
    }
    return scores;
}

}  // namespace tapestry::examples
