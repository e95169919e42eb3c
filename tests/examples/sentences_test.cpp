// Sentences: how they are made and packed; and the tasks that read them, each in a short form,
// compared with a model that lacks the feature in question.
#include <doctest/doctest.h>
#include <tapestry/examples/school/tasks/answers.h>
#include <tapestry/examples/school/tasks/bank.h>
#include <tapestry/examples/school/tasks/chinese.h>
#include <tapestry/examples/school/tasks/pronouns.h>
#include <tapestry/examples/school/tasks/sentiment.h>
#include <tapestry/examples/school/tasks/who_bit_whom.h>
#include <tapestry/nn/data/questions.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <set>

using namespace tapestry;
using namespace tapestry::examples;

namespace {

TaskOptions in_short(TaskOptions options, std::int64_t steps) {
    options.steps = steps;
    options.batch = 32;
    options.print = false;
    return options;
}

bool has(const Words& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("sentences: patterns are filled, sentences packed") {
    CHECK_EQ(choices("a||b"), Words{"a", "", "b"});
    CHECK_EQ(fill("1追2。", {"猫", "老鼠"}), Words{"猫", "追", "老鼠", "。"});
    CHECK_THROWS(fill("the 3", {"one", "two"}));
    const std::vector<Question> questions{{{"b", "a"}, 1, "b"}, {{"c"}, 0, "a"}};
    const WordTable table = WordTable::of(sentences_of(questions));
    CHECK_EQ(columns_for(sentences_of(questions)), 3);
    const QuestionRows rows = pack(questions, table, 4);
    using Ids = std::vector<std::int64_t>;
    CHECK_EQ(rows.ids.to_vector<std::int64_t>(), Ids{kStart, 5, 4, kPadding, kStart, 6, 0, 0});
    CHECK_EQ(rows.targets.to_vector<std::int64_t>(), Ids{-100, -100, 5, -100, -100, 4, -100, -100});
    CHECK_THROWS_AS(pack(questions, table, 2), ValueError);
}

TEST_CASE("who bit whom: two animals meet in only one part, in both orders") {
    const auto animals = [](bool held_out) {
        std::set<Words> pairs;
        for (const Question& q : bites(held_out)) {
            pairs.insert({q.words[0], q.words[q.words[1] == "被" ? 2 : 3]});
            CHECK_EQ(q.words[q.place], "谁");
        }
        return pairs;
    };
    const auto train = animals(false), test = animals(true);
    CHECK_EQ(train.size() + test.size(), 12 * 11);
    CHECK(test.contains({"狗", "人"}));
    for (const Words& pair : test) {
        CHECK(test.contains({pair[1], pair[0]}));
        CHECK(!train.contains(pair));
    }
}

TEST_CASE("who bit whom: without positions one can but guess, after 100 steps") {
    const ThreadsGuard one(1);  // too small for several threads
    const BiteScores scores = learn_who_bit_whom(in_short(kBitesOptions, 100));
    CHECK(scores.with_positions.share() > 0.95);
    CHECK(scores.without.share() > 0.4);  // it knows the two candidates
    CHECK(scores.without.share() < 0.6);
}

TEST_CASE("pronouns: riddles mark their nouns, and nouns meet in only one part") {
    for (const Language language : {Language::english, Language::chinese}) {
        const auto test = riddles(language, true);
        std::set<Words> met;
        for (const Riddle& riddle : riddles(language, false)) met.insert(riddle.question.words);
        CHECK(met.size() > 1000);
        CHECK(test.size() > 300);
        for (const Riddle& riddle : test) {
            const Question& q = riddle.question;
            CHECK_EQ(q.words[riddle.antecedent], q.answer);
            CHECK(q.place > riddle.antecedent);
            CHECK(!has(q.words, "@"));
            CHECK(!met.contains(q.words));
        }
    }
    const auto asked = riddles(Language::english, true);
    const Words words = words_of("the host poured the guests some wine, but they did not like it");
    std::set<std::string> answers;
    for (const Riddle& riddle : asked) {
        if (riddle.question.words == words) {
            answers.insert(words[riddle.question.place] + " " + riddle.question.answer);
        }
    }
    CHECK_EQ(answers, std::set<std::string>{"they guests", "it wine"});
}

TEST_CASE("pronouns: nine in ten held-out ones after 200 steps, and a head looks at the noun") {
    const ThreadsGuard one(1);  // too small for several threads
    for (const Language language : {Language::english, Language::chinese}) {
        if (language == Language::chinese && !test::is_long()) continue;
        const RiddleScores scores = learn_pronouns(language, in_short(kPronounsOptions, 200));
        CHECK(scores.first_noun.share() < 0.5);
        CHECK(scores.model.share() > 0.9);
        CHECK(scores.antecedent > 0.3);
        CHECK(scores.antecedent > 3 * scores.other);
    }
}

TEST_CASE("bank: held-out nouns never occur with it in training sentences") {
    Generator generator(1);
    std::set<std::string> seen;
    for (int i = 0; i < 2000; ++i) {
        const Words words = draw_sentence(generator);
        if (has(words, "bank")) seen.insert(words.begin(), words.end());
    }
    CHECK(seen.contains("frog"));
    CHECK(seen.contains("coin"));
    for (const Meaning meaning : {Meaning::river, Meaning::money}) {
        const BankSentence drawn = draw_bank(meaning, true, generator);
        CHECK_EQ(drawn.words[drawn.bank], "bank");
        // two new nouns; the other words are the pattern's
        CHECK_EQ(std::count_if(drawn.words.begin(), drawn.words.end(),
                               [&](const std::string& word) { return !seen.contains(word); }),
                 2);
    }
}

TEST_CASE("bank: the two are one for an untrained model, and two after 700 steps") {
    const ThreadsGuard one(1);  // too small for several threads
    const BankResult result = learn_bank(in_short(kBankOptions, test::is_long() ? 700 : 5));
    CHECK(result.untrained.told.share() < 0.65);
    CHECK(std::abs(result.untrained.same - result.untrained.different) < 0.05);
    CHECK_EQ(result.trained.told.of, result.untrained.told.of);
    CHECK_NE(result.trained.same, result.untrained.same);  // it changed
    if (!test::is_long()) return;
    CHECK(result.trained.told.share() > 0.9);
    CHECK(result.trained.same > result.trained.different + 0.1);
}

TEST_CASE("sentiment: a held-out review has a \"not\" that was never learnt") {
    Generator generator(1);
    const auto negated = [&](bool held_out) {
        std::set<std::string> adjectives;
        const Words between{"really", "quite", "very", "just"};
        for (int i = 0; i < 2000; ++i) {
            const Words words = draw_review(held_out, generator).words;
            for (std::size_t at = 0; at + 1 < words.size(); ++at) {
                if (words[at] != "not") continue;
                adjectives.insert(words[at + (has(between, words[at + 1]) ? 2 : 1)]);
            }
        }
        return adjectives;
    };
    const auto train = negated(false), test = negated(true);
    std::size_t fresh = 0;
    for (const std::string& adjective : test) fresh += train.contains(adjective) ? 0 : 1;
    CHECK(train.size() > 12);
    CHECK(fresh >= 4);
    CHECK_EQ(train.size() + fresh, 24);
}

TEST_CASE("sentiment: [CLS] knows after 250 steps; counted words do not tell") {
    const ThreadsGuard one(1);  // too small for several threads
    const SentimentScores scores = learn_sentiment(in_short(kSentimentOptions, 250));
    CHECK(scores.counting.share() < 0.6);
    CHECK(scores.model.share() > 0.9);
}

TEST_CASE("chinese: sentences in both languages, and where each character comes from") {
    Generator generator(1);
    bool old = false, asked = false;
    for (int i = 0; i < 300; ++i) {
        const Translated t = draw_translated(i % 2 == 0, generator);
        REQUIRE_EQ(t.origins.size(), t.chinese.size());
        for (std::size_t c = 0; c < t.chinese.size(); ++c) {
            CHECK(t.origins[c].end <= t.english.size());
            const Origin& origin = t.origins[c];
            if (origin.begin == origin.end) continue;
            const std::string& word = t.english[origin.end - 1];
            if (t.chinese[c] == "马") CHECK((word == "horse" || word == "horses"));
            if (t.chinese[c] == "旧" || t.chinese[c] == "老") old = old || word == "old";
            if (t.chinese[c] == "吗") {
                asked = true;
                CHECK_EQ(t.english[0], "did");
                CHECK_EQ(t.english.back(), "?");
            }
        }
    }
    CHECK(old);
    CHECK(asked);
    Generator one(3), same(3);
    for (int i = 0; i < 20; ++i) {  // as texts: `chinese --pairs`
        const Translated t = draw_translated(true, one);
        const Pair pair = draw_chinese_pair(true, same);
        CHECK_EQ(std::count(pair.source.begin(), pair.source.end(), ' ') + 1,
                 std::ssize(t.english));
        CHECK(pair.source.starts_with(t.english.front() + " "));
        CHECK(pair.target.starts_with(t.chinese.front()));
        CHECK(pair.target.ends_with(t.chinese.back()));
    }
}

TEST_CASE("chinese: attention at the words characters come from; most sentences after 200 steps") {
    const ThreadsGuard one(1);  // too small for several threads
    const ChineseScores scores =
        learn_chinese(in_short(kChineseOptions, test::is_long() ? 200 : 100));
    CHECK(scores.aligned.share() > 0.3);
    if (!test::is_long()) return;  // after 100 steps no sentence is right
    CHECK(scores.beam.share() > 0.5);
    CHECK(scores.aligned.share() > 0.5);
}

TEST_CASE("answers: the answer is a place, a name or a thing of the fact that is asked about") {
    Generator generator(1);
    for (int i = 0; i < 200; ++i) {
        const Exercise e = draw_exercise(i % 2 == 0, generator);
        const auto at = [&](std::size_t place) {
            return e.words.begin() + static_cast<std::ptrdiff_t>(place);
        };
        REQUIRE(e.begin <= e.last);
        REQUIRE(e.last < e.question);
        const std::string& kind = e.words[e.question];
        if (kind == "who") {
            CHECK_EQ(e.begin, e.last);
            CHECK_EQ(e.words[e.last + 1], "put");
        } else {
            CHECK_EQ(e.words[e.begin], "the");
            CHECK_EQ(e.words[e.begin - 1], kind == "where" ? "into" : "put");
            CHECK_EQ(e.words[e.last + 1], kind == "where" ? "." : "into");
        }
        // The object in question occurs in the text once, in the same words.
        const Words asked(at(e.question + (kind == "what" ? 3 : 2)), e.words.end() - 1);
        const auto found = std::search(at(0), at(e.question), asked.begin(), asked.end());
        CHECK(found != at(e.question));
        CHECK(std::search(found + 1, at(e.question), asked.begin(), asked.end()) == at(e.question));
    }
}

TEST_CASE("answers: lines are questions as `tapestry train --questions` reads them") {
    const test::Scratch scratch;
    std::string lines = "passage\tquestion\tanswer\tstart\n";
    Generator generator(1), again(1);
    for (int i = 0; i < 100; ++i) lines += draw_question_line(i % 2 == 0, generator) + "\n";
    test::spill(scratch / "q.tsv", lines);
    const Questions questions = read_questions(scratch / "q.tsv", AnswersRead::places);
    REQUIRE_EQ(questions.all.size(), 100);
    for (int i = 0; i < 100; ++i) {
        const Exercise e = draw_exercise(i % 2 == 0, again);
        const PassageQuestion& q = questions.all[static_cast<std::size_t>(i)];
        CHECK(q.question.ends_with(" ?"));
        const std::string before = q.passage.substr(0, static_cast<std::size_t>(q.begin));
        CHECK_EQ(std::count(before.begin(), before.end(), ' '), e.begin);
        CHECK(q.answers[0].starts_with(e.words[e.begin]));
        CHECK(q.answers[0].ends_with(e.words[e.last]));
    }
}

TEST_CASE("answers: a short training runs to its end") {  // learning takes a minute (docs/tasks.md)
    const ThreadsGuard one(1);
    TaskOptions options = in_short(kAnswersOptions, 5);
    options.print = true;  // any answer can be printed
    const AnswerScores scores = learn_answers(options);
    CHECK_EQ(scores.exact.of, 500);
    CHECK(scores.begin.right >= scores.exact.right);
}
