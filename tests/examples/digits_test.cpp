// Sorting and addition: the questions, what is held out, and that a GPT begins to learn them.
#include <doctest/doctest.h>
#include <tapestry/examples/school/tasks/digits.h>

#include <set>

using namespace tapestry;
using namespace tapestry::examples;

TEST_CASE("sort and addition: the answers") {
    CHECK_EQ(sorted("504172"), "012457");
    CHECK_EQ(sorted("990000"), "000099");
    CHECK_EQ(sum_backwards("845367"), "2121");
    CHECK_EQ(sum_backwards("999999"), "8991");
    CHECK_EQ(sum_backwards("007005"), "2100");
    CHECK_EQ(addition_task(2).answer("9907"), "601");
    CHECK_EQ(addition_task().question_length, 6);
    CHECK_EQ(addition_task().answer_length, 4);
}

TEST_CASE("sort: what is held out is never trained on") {
    Generator generator(1);
    const DigitTask task = sort_task();
    std::set<std::string> train, test;
    for (int i = 0; i < 3000; ++i) {
        train.insert(draw_question(task, false, generator));
        test.insert(draw_question(task, true, generator));
    }
    CHECK(train.size() > 2900);
    for (const std::string& question : test) {
        CHECK_EQ(question.size(), 6);
        CHECK_EQ(train.count(question), 0);
    }
    std::int64_t held = 0;
    for (int i = 0; i < 10000; ++i) held += held_out(fmt::format("{:06}", i), 4);
    CHECK(std::abs(held - 2500) < 200);
}

TEST_CASE("sort: a lesson is question and answer, and only the answer counts") {
    Generator generator(2);
    const Batch b = lesson(sort_task(), 50, generator);
    REQUIRE_EQ(b.inputs.shape(), Shape{50, 11});
    REQUIRE_EQ(b.targets.shape(), Shape{50, 11});
    for (std::int64_t row = 0; row < 50; ++row) {
        std::string question, answer, again;
        for (std::int64_t t = 0; t < 11; ++t) {
            const auto in = b.inputs.at<std::int64_t>({row, t});
            const auto target = b.targets.at<std::int64_t>({row, t});
            (t < 6 ? question : again) += static_cast<char>('0' + in);
            if (t < 5) {
                CHECK_EQ(target, -100);
            } else {
                answer += static_cast<char>('0' + target);
            }
        }
        CHECK_EQ(answer, sorted(question));
        CHECK_EQ(again, answer.substr(0, 5));
        CHECK(!held_out(question, 4));
    }
}

TEST_CASE("digits: a model that does not know is not called right") {
    Generator generator(1);
    GPT model({.vocab = 10, .context = 11, .layers = 1, .heads = 1, .dim = 8}, generator);
    const Answering answering(model);
    const Score score = examine(sort_task(), model, 100);
    CHECK_EQ(score.of, 100);
    CHECK(score.right <= 1);
    CHECK_EQ(write_on(model, zeros({3, 6}, DType::i64), 4).at(2).size(), 4);
}

TEST_CASE("sort: after 120 steps most of what is held out is right") {
    TaskOptions options = kSortOptions;
    options.steps = 120;
    options.batch = 32;
    options.print = false;
    const Score score = learn_to_sort(options);
    MESSAGE("sort: " << score.right << " of " << score.of);
    CHECK_EQ(score.of, 1000);
    CHECK(score.share() > 0.7);
}

// With three digits, some seeds take a thousand steps to start learning; with two, all learn.
TEST_CASE("addition: most sums of two digits are right after 400 steps") {
    TaskOptions options = kAdditionOptions;
    options.steps = 400;
    options.batch = 32;
    options.print = false;
    const Score score = learn_digits(addition_task(2), options, 500);
    MESSAGE("addition: " << score.right << " of " << score.of);
    CHECK(score.share() > 0.5);
}
