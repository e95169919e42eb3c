// Dates: the pairs, their packing, and that the models begin to learn them.
#include <doctest/doctest.h>
#include <tapestry/examples/school/tasks/dates.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/skip.h>

#include <set>

using namespace tapestry;
using namespace tapestry::examples;

namespace {

Date date_of(int y, unsigned m, unsigned d) {
    return std::chrono::sys_days(std::chrono::year(y) / std::chrono::month(m) /
                                 std::chrono::day(d));
}

}  // namespace

TEST_CASE("dates: every pattern of one date") {
    const Date date = date_of(2026, 11, 5);
    const std::vector<std::string> wanted{"thursday 5 november 2026",
                                          "thursday, november 5, 2026",
                                          "thu 5 nov 2026",
                                          "thu, 05 nov 2026",
                                          "5/11/26",
                                          "05/11/2026",
                                          "5.11.2026",
                                          "05.11.26",
                                          "05-nov-2026",
                                          "nov 5th, 2026",
                                          "november 5th, 2026",
                                          "november 5 2026",
                                          "5th november 2026",
                                          "5 nov 26",
                                          "5 november 26",
                                          "2026/11/05",
                                          "2026-11-05",
                                          "5th of november 2026",
                                          "november 5th 26",
                                          "thu 5th november, 2026",
                                          "thursday nov 5th 2026",
                                          "thursday 05.11.2026",
                                          "thu 5/11/26",
                                          "2026, 5 november"};
    REQUIRE_EQ(wanted.size(), std::size(kDatePatterns));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK_EQ(write_date(date, kDatePatterns[i], 0), wanted[i]);
    }
    CHECK_EQ(iso(date), "2026-11-05");
    CHECK_EQ(write_date(date, "d.m.y", 0), "5.11.26");
    CHECK_EQ(write_date(date_of(2003, 2, 1), "D.M.y", 0), "01.02.03");
}

TEST_CASE("dates: weekdays, ordinals and capitals") {
    CHECK_EQ(write_date(date_of(1969, 7, 20), "W", 0), "sunday");
    CHECK_EQ(write_date(date_of(2000, 2, 29), "W", 0), "tuesday");
    CHECK_EQ(write_date(date_of(2026, 11, 20), "W d N Y", 1), "Friday 20 November 2026");
    CHECK_EQ(write_date(date_of(2026, 11, 20), "n o, Y", 2), "NOV 20TH, 2026");
    CHECK_EQ(write_date(date_of(2026, 11, 20), "D-n-Y", 1), "20-Nov-2026");
    const char* wanted[] = {"1st",  "2nd",  "3rd",  "4th",  "11th",
                            "12th", "13th", "21st", "22nd", "30th"};
    const unsigned numbers[] = {1, 2, 3, 4, 11, 12, 13, 21, 22, 30};
    for (std::size_t i = 0; i < 10; ++i) CHECK_EQ(ordinal(numbers[i]), wanted[i]);
}

TEST_CASE("dates: what is held out is a date, not a way of writing it") {
    Generator generator(1);
    std::set<std::string> train, test, sources;
    for (int i = 0; i < 3000; ++i) {
        const Pair pair = draw_date(false, generator);
        train.insert(pair.target);
        sources.insert(pair.source);
        test.insert(draw_date(true, generator).target);
        CHECK_EQ(pair.target.size(), 10);
        CHECK((pair.target >= "1969-01-01" && pair.target <= "2068-12-31"));
    }
    CHECK(train.size() > 2500);
    CHECK(sources.size() > 2950);
    for (const std::string& date : test) CHECK_EQ(train.count(date), 0);
}

TEST_CASE("translate: pairs are packed and read back") {
    const PairBatch b = pack(std::vector<Pair>{{"ab", "~"}, {" ", "xyz"}});
    const auto a = 'a' - ' ' + kFirstCharacter;
    CHECK_EQ(b.source.to_vector<std::int64_t>(),
             std::vector<std::int64_t>{a, a + 1, kFirstCharacter, kPad});
    CHECK_EQ(b.lengths.to_vector<std::int64_t>(), std::vector<std::int64_t>{2, 1});
    CHECK_EQ(b.target.to_vector<std::int64_t>(),
             std::vector<std::int64_t>{kBegin, kCharacters - 1, kPad, kPad, kBegin, a + 23, a + 24,
                                       a + 25});
    CHECK_EQ(
        b.next.to_vector<std::int64_t>(),
        std::vector<std::int64_t>{kCharacters - 1, kEnd, kPad, kPad, a + 23, a + 24, a + 25, kEnd});
    CHECK_EQ(text_of({a + 23, a + 24, kEnd, a}), "xy");
}

TEST_CASE("translate: a picture has a line per letter and a column per letter") {
    Generator generator(1);
    Transformer model({.source_vocab = kCharacters,
                       .target_vocab = kCharacters,
                       .dim = 8,
                       .heads = 2,
                       .layers = 1,
                       .padding_id = kPad},
                      generator);
    const Answering answering(model);
    const Pair pair{"some date", "2026"};
    const Tensor map = attention_map(model, pack(std::vector<Pair>{pair}));
    CHECK_EQ(map.shape(), Shape{5, 9});
    for (const double row : sum(map, {1}).to_vector<double>()) CHECK_EQ(row, doctest::Approx(1));
    const std::string text = picture(model, pair);
    CHECK_EQ(std::count(text.begin(), text.end(), '\n'), 6);
    CHECK(text.starts_with("       s o m e _ d a t e\n    2 |"));
    CHECK(text.find("\n[end] |") != std::string::npos);
}

TEST_CASE("dates: numbers to numbers, some after 140 steps, most after 200") {
    const DrawPair numbers = [](bool for_test, Generator& generator) {
        for (;;) {
            const auto day = static_cast<int>(generator.below(36525));
            const Date date = date_of(1969, 1, 1) + std::chrono::days(day);
            if (held_out(iso(date), 10) != for_test) continue;
            return Pair{write_date(date, "D.M.Y", 0), iso(date)};
        }
    };
    TaskOptions options = kDatesOptions;
    options.steps = test::is_long() ? 200 : 140;
    options.batch = 32;
    options.print = false;
    const Score score = learn_with("transformer", numbers, options);
    MESSAGE("dates: " << score.right << " of " << score.of);
    CHECK_EQ(score.of, 1000);
    CHECK(score.share() > (test::is_long() ? 0.8 : 0.4));
}

TEST_CASE("dates: a page and a directory after 2 steps") {
    const test::Scratch scratch;
    const DrawPair one = [](bool, Generator&) { return Pair{"20/11/26", "26"}; };
    const TaskOptions options{.steps = 2,
                              .batch = 4,
                              .print = false,
                              .page = (scratch / "page.html").native(),
                              .out = (scratch / "model").native()};
    learn_with("transformer", one, options);
    const std::string page = test::slurp(options.page);
    CHECK(page.find("\"title\":\"'20/11/26' to '26'\"") != std::string::npos);
    CHECK(page.find("\"queryTexts\":[\"[begin]\",\"2\",\"6\"]") != std::string::npos);
    CHECK(page.find("\"keyTexts\":[\"2\",\"0\",\"/\",") != std::string::npos);
    const LoadedTransformer loaded = load_transformer(options.out);
    CHECK_EQ(loaded.vocabulary.encode("~ a"),
             std::vector<std::int64_t>{kCharacters - 1, kFirstCharacter, kFirstCharacter + 65});
    CHECK_EQ(loaded.vocabulary.size(), kCharacters);
    CHECK_THROWS_AS(learn_with("lstm", one, options), ValueError);
    TaskOptions nowhere = options;
    nowhere.out = options.page;  // a file
    CHECK_THROWS_AS(learn_with("transformer", one, nowhere), IoError);
}
