#include <tapestry/examples/school/tasks/pronouns.h>

#include <algorithm>

namespace tapestry::examples {
namespace {

// A scene: digits stand for nouns. An ending has a pronoun followed by @ and its noun's digit (in
// Chinese after the first character, 他@2们).
struct Scene {
    std::string_view sentence;
    std::vector<std::string_view> nouns;  // the choices for each digit
    std::string_view ends;
    std::string_view shown;  // nouns that are always held out
};

constexpr std::string_view kHunters = "cat|dog|fox|wolf|eagle|owl|snake";
constexpr std::string_view kHunted = "mouse|rat|rabbit|hen|duck|frog|squirrel";
constexpr std::string_view kLarge = "trophy|violin|lamp|statue|drum|globe|painting";
constexpr std::string_view kHollow = "suitcase|box|bag|drawer|basket|chest|crate";

const std::vector<Scene>& english() {
    static const std::vector<Scene> scenes{
        {"the 1 chased the 2 because",
         {kHunters, kHunted},
         "it @1 was hungry|it @1 wanted a meal|it @1 was hunting|it @2 looked tasty|"
         "it @2 ran away|it @2 had stolen some cheese",
         "cat mouse"},
        {"the 1 caught the 2 because",
         {kHunters, kHunted},
         "it @1 was faster|it @1 was patient|it @1 had sharp eyes|it @2 was slower|"
         "it @2 was asleep|it @2 had hurt a leg",
         "cat mouse"},
        {"the 1 did not fit into the 2 because",
         {kLarge, kHollow},
         "it @1 was too big|it @1 was too long|it @1 was too wide|it @2 was too small|"
         "it @2 was too narrow|it @2 was already full",
         "trophy suitcase"},
        {"the 1 poured the 2 some 3 , but",
         {"host|waiter|cook|uncle|sailor", "guests|visitors|soldiers|children|neighbours",
          "wine|coffee|tea|juice|lemonade"},
         "they @2 did not like it|they did not like it @3|they @2 were not thirsty|"
         "it @3 was too sour|it @3 was cold|it @3 tasted of soap|he @1 had none himself|"
         "he @1 forgot the sugar",
         "host guests wine"},
        {"the 1 poured the 2 some 3 , but",
         {"hosts|waiters|cooks|aunts|sailors", "guests|visitors|soldiers|children|neighbours",
          "wine|coffee|tea|juice|lemonade"},
         "they @2 did not like it|they did not like it @3|they @2 were not thirsty|"
         "they @1 spilled it|they spilled it @3|they @1 had none themselves|it @3 was too sour",
         "hosts guests wine"},
    };
    return scenes;
}

const std::vector<Scene>& chinese() {
    constexpr std::string_view hunters = "猫|狗|狐狸|狼|老鹰|猫头鹰|蛇";
    constexpr std::string_view hunted = "老鼠|田鼠|兔子|鸡|鸭子|青蛙|松鼠";
    static const std::vector<Scene> scenes{
        {"1追2，因为",
         {hunters, hunted},
         "它@1饿了|它@1想吃肉|它@1正在找吃的|它@2看起来很好吃|它@2跑了|它@2偷吃了粮食",
         "猫 老鼠"},
        {"1抓住了2，因为",
         {hunters, hunted},
         "它@1跑得快|它@1很有耐心|它@1眼睛很尖|它@2跑得慢|它@2睡着了|它@2受了伤",
         "猫 老鼠"},
        {"1放不进2，因为",
         {"奖杯|小提琴|台灯|花瓶|足球|地球仪|油画", "箱子|盒子|书包|抽屉|篮子|柜子|口袋"},
         "它@1太大|它@1太长|它@1太宽|它@2太小|它@2太窄|它@2已经满了",
         "奖杯 箱子"},
        {"1给2倒了3，可是",
         {"主人|服务员|厨师|叔叔|水手", "客人|游客|士兵|孩子|邻居", "酒|咖啡|茶|果汁|豆浆"},
         "他@2们不喜欢它|他们不喜欢它@3|他@2们都不渴|它@3太酸了|它@3已经凉了|它@3有股怪味|"
         "自@1己没有喝|自@1己忘了放糖",
         "主人 客人 酒"},
    };
    return scenes;
}

const std::vector<Scene>& scenes_in(Language language) {
    return language == Language::english ? english() : chinese();
}

// The riddle of a sentence, without the mark @ and the digit after it.
Riddle riddle_of(std::string_view sentence, std::string_view end, const Words& nouns) {
    Words words = fill(sentence, nouns);
    Riddle riddle;
    for (const std::string& word : words_of(end)) words.push_back(word);
    const auto mark = std::find(words.begin(), words.end(), "@");
    riddle.question.place = static_cast<std::size_t>(mark - words.begin()) - 1;
    riddle.question.answer = nouns.at(static_cast<std::size_t>((*(mark + 1))[0] - '1'));
    words.erase(mark, mark + 2);
    for (const std::string& noun : nouns) {
        const auto place =
            static_cast<std::size_t>(std::find(words.begin(), words.end(), noun) - words.begin());
        if (noun == riddle.question.answer) {
            riddle.antecedent = place;
        } else {
            riddle.others.push_back(place);
        }
    }
    riddle.question.words = words;
    return riddle;
}

// All combinations of one noun from each list.
std::vector<Words> casts(const Scene& scene) {
    std::vector<Words> all(1);
    for (const std::string_view list : scene.nouns) {
        std::vector<Words> longer;
        for (const Words& cast : all) {
            for (const std::string& noun : choices(list)) {
                longer.push_back(cast);
                longer.back().push_back(noun);
            }
        }
        all = longer;
    }
    return all;
}

std::vector<Question> questions_of(const std::vector<Riddle>& riddles) {
    std::vector<Question> questions;
    for (const Riddle& riddle : riddles) questions.push_back(riddle.question);
    return questions;
}

// Finds the head that attends most from pronouns to their antecedents.
void look_at_heads(const MaskedLanguageModel& model, const QuestionRows& asked,
                   const std::vector<Riddle>& riddles, RiddleScores& scores) {
    std::vector<AttentionRecord> records;
    model(asked.ids, {.records = &records});
    for (std::size_t layer = 0; layer < records.size(); ++layer) {
        const Tensor& weights = records[layer].weights;  // [N, H, T, T]
        for (std::int64_t head = 0; head < weights.size(1); ++head) {
            double antecedent = 0, other = 0, others = 0;
            for (std::size_t i = 0; i < riddles.size(); ++i) {
                const auto at = [&](std::size_t key) {
                    const auto place = static_cast<std::int64_t>(riddles[i].question.place);
                    return weights.at({static_cast<std::int64_t>(i), head, place + 1,
                                       static_cast<std::int64_t>(key) + 1});
                };
                antecedent += at(riddles[i].antecedent) / static_cast<double>(riddles.size());
                for (const std::size_t key : riddles[i].others) {
                    other += at(key);
                    ++others;
                }
            }
            if (antecedent <= scores.antecedent) continue;
            scores.layer = static_cast<std::int64_t>(layer) + 1;
            scores.head = head + 1;
            scores.antecedent = antecedent;
            scores.other = other / others;
        }
    }
}

// Prints the model's answer for a sentence, and where that head looks from the pronoun.
void show(const MaskedLanguageModel& model, const QuestionRows& row, const WordTable& table,
          const Question& question, const RiddleScores& scores) {
    const auto place = static_cast<std::int64_t>(question.place) + 1;
    std::vector<AttentionRecord> records;
    const Tensor said = argmax(model(row.ids, {.records = &records}));
    const Tensor& weights = records[static_cast<std::size_t>(scores.layer - 1)].weights;
    fmt::print("{}\n    {} means {};", fmt::join(question.words, " "),
               question.words[question.place], table.word(said.at<std::int64_t>({0, place})));
    for (std::size_t i = 0; i < question.words.size(); ++i) {
        const double weight =
            weights.at({0, scores.head - 1, place, static_cast<std::int64_t>(i) + 1});
        if (weight > 0.05) fmt::print(" {} {:.2f}", question.words[i], weight);
    }
    fmt::print("\n");
}

// For the first and the last scene, two sentences that begin alike and have different answers.
std::vector<Question> shown(const std::vector<Scene>& scenes) {
    std::vector<Question> questions;
    for (const Scene& scene : {scenes.front(), scenes.back()}) {
        const Words nouns = casts(scene).front();
        for (const std::string& end : choices(scene.ends)) {
            const Question question = riddle_of(scene.sentence, end, nouns).question;
            if (questions.size() % 2 == 1 && question.answer == questions.back().answer) continue;
            questions.push_back(question);
            if (questions.size() % 2 == 0) break;
        }
    }
    return questions;
}

}  // namespace

std::vector<Riddle> riddles(Language language, bool held_out) {
    std::vector<Riddle> all;
    for (const Scene& scene : scenes_in(language)) {
        for (const Words& cast : casts(scene)) {
            const std::string nouns = fmt::format("{}", fmt::join(cast, " "));
            const bool test = nouns == scene.shown || examples::held_out(nouns, 6);
            if (test != held_out) continue;
            for (const std::string& end : choices(scene.ends)) {
                all.push_back(riddle_of(scene.sentence, end, cast));
            }
        }
    }
    return all;
}

RiddleScores learn_pronouns(Language language, const TaskOptions& options) {
    const std::vector<Riddle> train = riddles(language, false), test = riddles(language, true);
    const std::vector<Words> sentences = sentences_of(questions_of(train));
    const WordTable table = WordTable::of(sentences);
    const std::int64_t length = columns_for(sentences);
    const QuestionRows learn = pack(questions_of(train), table, length);
    const QuestionRows asked = pack(questions_of(test), table, length);
    Generator generator(options.seed);
    MaskedLanguageModel model(sentence_model(table, length), generator);
    if (options.print)
        fmt::print("\n{} riddles to learn from, {} held out\n", train.size(), test.size());
    learn_questions(model, options, learn, asked, generator);

    const Answering answering(model);
    RiddleScores scores;
    scores.model = examine(model, asked);
    for (const Riddle& riddle : test) {
        scores.first_noun += {riddle.antecedent < riddle.others.front() ? 1 : 0, 1};
    }
    look_at_heads(model, asked, test, scores);
    if (options.print) {
        fmt::print(
            "head {} of layer {} looks: {:.2f} at the noun that is meant, {:.2f} at another\n",
            scores.head, scores.layer, scores.antecedent, scores.other);
        for (const Question& question : shown(scenes_in(language))) {
            show(model, pack({question}, table, length), table, question, scores);
        }
    }
    return scores;
}

}  // namespace tapestry::examples
