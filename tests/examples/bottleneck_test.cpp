// The example at a small size: with attention, long rows are reversed; without, only short ones.
#include <doctest/doctest.h>
#include <tapestry/examples/school/tasks/bottleneck.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

using namespace tapestry::examples;

TEST_CASE("bottleneck: attention wins where the row is long") {
    const tapestry::ThreadsGuard one(1);  // too small for several threads
    const bool is_long = tapestry::test::is_long();
    const std::int64_t steps = is_long ? 400 : 300, longest = is_long ? 12 : 8;
    const std::vector<BottleneckRow> table =
        compare_at_bottleneck({.task = {.steps = steps, .batch = 32, .rate = 5e-3, .print = false},
                               .longest = longest,
                               .lengths = {2, longest},
                               .questions = 100,
                               .letters = 8,
                               .hidden = 48});
    REQUIRE(table.size() == 2);
    CHECK(table[0].without.share() > 0.8);  // so it did learn something
    CHECK(table[0].with.share() > 0.95);
    CHECK(table[1].without.share() < 0.1);
    CHECK(table[1].with.share() > 0.9);
}

TEST_CASE("bottleneck: rows are what they say, and the held-out ones are never trained on") {
    tapestry::Generator generator(1);
    for (int i = 0; i < 300; ++i) {
        const bool for_test = i % 2 == 0;
        const Pair pair = draw_row(5, 3, 6, for_test, generator);
        CHECK(pair.source.size() >= 3);
        CHECK(pair.source.size() <= 6);
        CHECK(pair.source.find_first_not_of("abcde") == std::string::npos);
        CHECK(pair.target == std::string(pair.source.rbegin(), pair.source.rend()));
        CHECK(held_out(pair.source, 4) == for_test);
    }
}
