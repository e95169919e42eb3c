// Masked words: from stories to windows of ids, and that the model starts to learn.
#include <doctest/doctest.h>
#include <tapestry/examples/school/tasks/masked_words.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/skip.h>

#include <set>

using namespace tapestry;
using namespace tapestry::examples;

TEST_CASE("masked words: words, stories and windows") {
    CHECK_EQ(words_of("Tom's dog, Rex:\n\"Hi!\" "),
             Words{"tom", "'", "s", "dog", ",", "rex", ":", "\"", "hi", "!", "\""});
    CHECK(words_of(" \n").empty());
    CHECK_EQ(words_of("猫chases 鼠。"), Words{"猫", "chases", "鼠", "。"});
    CHECK_EQ(stories_of("One.\nTwo.\n\nThree.\n"),
             std::vector<std::string>{"One.\nTwo.", "Three.\n"});
    const WordTable table({"b a", "a c"});
    CHECK_EQ(table.size(), 7);
    CHECK_EQ(table.id("a"), 4);
    CHECK_EQ(table.word(6), "c");
    CHECK_EQ(table.id("d"), kUnknown);
    CHECK_EQ(WordTable::of({{"old man"}, {"b", "old man"}}).word(5), "old man");
    std::string forty;
    for (int i = 0; i < 40; ++i) forty += "a ";
    const Tensor ids = windows({forty, "b d"}, table);
    REQUIRE_EQ(ids.shape(), Shape{3, kWindow});
    CHECK_EQ(ids.at({0, 0}), kStart);
    CHECK_EQ(ids.at({0, 31}), 4);
    CHECK_EQ(ids.at({1, 0}), kStart);
    CHECK_EQ(ids.at({1, 9}), 4);
    CHECK_EQ(ids.at({1, 10}), kPadding);
    CHECK_EQ(ids.at({2, 1}), 5);
    CHECK_EQ(ids.at({2, 2}), kUnknown);
}

TEST_CASE("masked words: stories are held out whole") {
    const StoryWords data = story_words(100000);
    CHECK(data.train.size(0) > 700);
    CHECK(data.test.size(0) > 50);
    CHECK_EQ(data.table.word(data.commonest), ".");
    const auto rows = [](const Tensor& ids) {
        std::set<std::vector<std::int64_t>> all;
        for (const Tensor& row : split(ids, 1, 0)) all.insert(row.to_vector<std::int64_t>());
        return all;
    };
    // The ends of stories, which are all alike, may share a window; little else may.
    const auto train = rows(data.train), test = rows(data.test);
    std::size_t common = 0;
    for (const auto& row : test) common += train.count(row);
    CHECK(common * 20 < test.size());
}

// Guessing is right once in 600 words; the model first learns word frequencies.
TEST_CASE("masked words: common ones after 100 small steps of one layer, others after 350") {
    TaskOptions options = kMaskedWordsOptions;
    options.steps = test::is_long() ? 350 : 100;
    if (!test::is_long()) options.batch = 24;
    options.print = false;
    const Guesses guesses = learn_masked_words(options, 200000, 1);
    MESSAGE("masked words: " << guesses.model.right << " of " << guesses.model.of << ", commonest "
                             << guesses.commonest.right);
    CHECK(guesses.model.of > 500);
    CHECK(guesses.commonest.share() > 0.05);
    CHECK(guesses.model.share() > 0.03);
    if (test::is_long()) CHECK(guesses.model.share() > 2 * guesses.commonest.share());
}

TEST_CASE("masked words: a page after 2 steps, with the words that were asked") {
    const test::Scratch scratch;
    const TaskOptions options{
        .steps = 2, .batch = 4, .print = false, .page = (scratch / "page.html").native()};
    learn_masked_words(options, 20000, 1);
    const std::string page = test::slurp(options.page);
    CHECK(page.find("\"title\":\"a story with hidden words\"") != std::string::npos);
    CHECK(page.find("\"queryTexts\":[\"[CLS]\",\"") != std::string::npos);
    CHECK(page.find("\"[MASK]\"") != std::string::npos);
}
