// Questions about passages: the files, exact match and F1 beside an independent implementation of
// their definitions (tests/fixtures/answer_scores/make.py), a run that learns to answer, and what
// is refused.
#include <tapestry/nn/data/questions.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/answer/answer_task.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/skip.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <cctype>
#include <cmath>
#include <fstream>

using namespace tapestry;
using doctest::Approx;
using test::check_message;

namespace {

constexpr const char* kColours[] = {"red", "blue", "green", "white", "black", "brown", "pink"};
constexpr const char* kPlaces[] = {"old box", "garden", "kitchen", "small room", "car", "bag"};

// "the red ball is in the garden . the blue ball is in the car ." and where the blue one is.
std::string question_line(int i) {
    const std::string first = kColours[i % 7], second = kColours[(i % 7 + 1 + i % 5) % 7];
    const std::string here = kPlaces[i % 6], there = kPlaces[(i % 6 + 1 + i % 3) % 6];
    const bool asks_first = i * 7 % 3 == 0;
    return fmt::format(
        "the {} ball is in the {} . the {} ball is in the {} .\twhere is the {} ball ?\tthe {}\n",
        first, here, second, there, asks_first ? first : second, asks_first ? here : there);
}

TrainingConfig balls(const test::RunPlace& place) {
    std::string lines;
    for (int i = 0; i < 210; ++i) lines += question_line(i);
    test::spill(place.text, lines);
    TrainingConfig config{.task = "answer", .text = place.text.string()};
    config.set_model(SpanConfig{
        .max_length = 40, .max_answer = 6, .dim = 32, .heads = 2, .layers = 2, .pieces = 400});
    config.batch = 16;
    config.steps = 250;
    config.warmup = 10;
    config.lr = 0.005;
    config.eval_every = 250;
    return config;
}

}  // namespace

TEST_CASE("answer scores: the values of another implementation") {
    std::ifstream file(test::source_dir() / "tests/fixtures/answer_scores/values.json");
    const auto cases = nlohmann::json::parse(file);
    CHECK(cases.size() == 105);
    double sum = 0;
    for (const auto& one : cases) {
        const auto right = one["right"].get<std::string>(), given = one["given"].get<std::string>();
        CAPTURE(right);
        CAPTURE(given);
        CHECK_EQ(normalized_answer(given), one["normalized"].get<std::string>());
        CHECK_EQ(is_exact_match(given, right), one["exact"].get<bool>());
        CHECK_EQ(answer_f1(given, right), Approx(one["f1"].get<double>()).epsilon(1e-12));
        sum += one["f1"].get<double>();
    }
    CHECK(sum > 20);  // the cases are no list of zeros
    CHECK(sum < 80);
    AnswerScores scores;
    scores.add("the box", {"a bag", "Box."});
    scores.add("red bag", {"box", "bag"});
    CHECK_EQ(to_text(scores, "q.tsv"), "exact match 0.5000, F1 0.8333 over 2 questions of q.tsv\n");
    CHECK(to_json(scores).find("\"exact_match\":0.5") != std::string::npos);
}

TEST_CASE("questions: TSV with and without names, JSON Lines, places in characters") {
    const test::Scratch scratch;
    const auto read = [&](const char* name, const std::string& text, AnswersRead how) {
        test::spill(scratch / name, text);
        return read_questions(scratch / name, how);
    };
    const Questions plain =
        read("q.txt", "a b c\twhat?\tb\n\n d e \twho? \t d\n", AnswersRead::places);
    REQUIRE_EQ(plain.all.size(), 2);
    CHECK_EQ(plain.all[0].begin, 2);
    CHECK_EQ(plain.all[1].passage, "d e");
    CHECK_EQ(plain.all[1].begin, 0);
    CHECK_EQ(plain.all[1].line, 3);
    const Questions named =
        read("n.tsv", "start\tanswer\tid\tquestion\tPassage\n4\tx\t7\twhich?\tx é x\n",
             AnswersRead::places);
    CHECK_EQ(named.all[0].begin, 5);  // é is two bytes
    const Questions lines =
        read("q.jsonl",
             R"({"passage": " x y", "question": "w?", "answer": ["y", "why"], "id": 3})"
             "\n",
             AnswersRead::places);
    CHECK_EQ(lines.all[0].begin, 3);
    CHECK_EQ(lines.all[0].answers, std::vector<std::string>{"y", "why"});
    CHECK(read("b.txt", "a b\twhat?\n", AnswersRead::none).all[0].answers.empty());
    CHECK_EQ(read("t.txt", "a b\twhat?\tc\n", AnswersRead::texts).all[0].begin, -1);
    CHECK(plain.hash != named.hash);
    CHECK(names_passage_and_question(scratch / "n.tsv"));
    CHECK(names_passage_and_question(scratch / "q.jsonl"));
    CHECK_FALSE(names_passage_and_question(scratch / "q.txt"));
    CHECK_FALSE(names_passage_and_question(scratch / "none.tsv"));
}

TEST_CASE("questions: what is refused, with file and line") {
    const test::Scratch scratch;
    const auto refused = [&](const char* name, const std::string& text, const char* message) {
        test::spill(scratch / name, text);
        check_message<IoError>([&] { read_questions(scratch / name, AnswersRead::places); },
                               message);
    };
    refused("q.tsv", "a b\tq\tb\na b\tq\tc\n",
            "q.tsv:2: the answer 'c' is not in the passage; it must be copied from it");
    refused("q.tsv", "a b a\tq\ta\n",
            "q.tsv:1: the answer 'a' occurs more than once in the passage; a field \"start\" says");
    refused("q.tsv", "a b\tq\n", "q.tsv:1: has no answer");
    refused("q.tsv", "a b\n", "q.tsv:1: has 1 field, expected 3: PASSAGE<tab>QUESTION<tab>ANSWER");
    refused("q.tsv", "\tq\ta\n", "q.tsv:1: the passage is empty");
    refused("q.tsv", "a\t\ta\n", "q.tsv:1: the question is empty");
    refused("q.tsv", "a\tq\t\n", "q.tsv:1: the answer is empty");
    refused("q.tsv", "passage\tquestion\tanswer\tstart\na a\tq\ta\tx\n",
            "q.tsv:2: start is 'x'; it must be a character of the passage");
    refused("q.tsv", "passage\tquestion\tanswer\tstart\na b\tq\ta\t2\n",
            "q.tsv:2: at character 2 of the passage is 'b', not the answer 'a'");
    refused("q.tsv", "passage\tquestion\tanswer\tstart\na b\tq\ta\t99\n",
            "q.tsv:2: at character 99 of the passage is '', not the answer 'a'");
    refused("q.tsv", "passage\tquestion\tanswer\n", "q.tsv: no questions");
    refused("q.jsonl", "{\"passage\": \"a\"}\n", "q.jsonl:1: ");
    refused("q.jsonl", "[]\n", "expected an object with the texts");
    refused("q.jsonl",
            R"({"passage": "a", "question": "q", "answer": 3})"
            "\n",
            "q.jsonl:1: ");
    refused("q.jsonl",
            R"({"passage": "a", "question": "q", "answer": []})"
            "\n",
            "q.jsonl:1: has no answer");
}

TEST_CASE("answer: a run learns, its directory answers and is measured") {
    const test::RunPlace place;
    TrainingConfig config = balls(place);
    if (test::is_short()) config.steps = 20;
    Session session(config);
    Generator generator(3);
    const Batch batch = session.task().next_batch(generator);
    const std::vector<std::string> tokens = session.task().texts(batch, 0);
    CHECK_EQ(tokens.front(), "[CLS]");
    CHECK_EQ(std::count(tokens.begin(), tokens.end(), "[SEP]"), 2);
    const auto ends = batch.targets.to_vector<std::int64_t>();
    CHECK_EQ(tokens[static_cast<std::size_t>(ends[0])], " the");  // the answers begin so
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    const bool has_learned = !test::is_short();
    if (has_learned) CHECK_LT(session.evaluate(), 0.5);

    CHECK(model_kind(place.out) == ModelKind::span_reader);
    const auto task = load_answer_task(place.out);
    const char* const passage = "the red ball is in the small room . the blue ball is in the car .";
    const auto found = task->answer(passage, "where is the red ball ?", 3);
    REQUIRE_EQ(found.size(), 3);
    if (has_learned) CHECK_EQ(found[0].text, "the small room");
    CHECK_GT(found[0].probability, found[1].probability);
    CHECK_LE(found[0].probability, 1);
    const AnswerScores scores = task->score(read_questions(place.text, AnswersRead::texts));
    CHECK_EQ(scores.questions, 210);
    if (has_learned) CHECK_GT(scores.exact, 190);
    CHECK_GE(scores.f1, scores.exact);
    check_message<IoError>([&] { load_model(place.out); },
                           "the model is a model that points at answers, expected");
    for (Tensor p : task->model().parameters()) p.fill_(NAN);
    check_message<DivergedError>([&] { task->answer(passage, "where is the red ball ?", 1); },
                                 "the model's outputs contain nan: it has diverged");
}

// Padding changes nothing: the loss of a batch is the mean of its rows' losses.
TEST_CASE("answer: padding changes nothing, and neither does what is outside the passage") {
    const test::RunPlace place;
    TrainingConfig config = balls(place);
    config.steps = 20;
    Session session(config);
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    const auto task = load_answer_task(place.out);
    const Batch longer = task->batch_of("the red ball is in the car . it is there .",
                                        "where is the red ball ?", "the car");
    const Batch shorter = task->batch_of("the pink ball is in the bag .", "where ?", "the bag");
    const std::int64_t length = longer.inputs.size(1);
    REQUIRE(shorter.inputs.size(1) < length);
    auto ids = longer.inputs.to_vector<std::int64_t>();
    const auto few = shorter.inputs.to_vector<std::int64_t>();
    ids.insert(ids.end(), few.begin(), few.end());
    ids.resize(static_cast<std::size_t>(2 * length), task->config().vocab - 1);
    auto ends = longer.targets.to_vector<std::int64_t>();
    for (const std::int64_t end : shorter.targets.to_vector<std::int64_t>()) ends.push_back(end);
    const Batch both{tensor(ids, {2, length}), tensor(ends, {2, 2})};
    task->check_batch(both);
    const double mean = (task->loss(longer).mean.item() + task->loss(shorter).mean.item()) / 2;
    CHECK_EQ(task->loss(both).mean.item(), Approx(mean).epsilon(1e-6));
}

TEST_CASE("answer: questions that do not fit the model") {
    const test::RunPlace place;
    TrainingConfig config = balls(place);
    config.steps = 1;
    Session session(config);
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    const auto task = load_answer_task(place.out);
    std::string words;
    for (int i = 0; i < 50; ++i) words += "the ";
    check_message<ValueError>([&] { task->answer(words, "where?", 1); },
                              "the model reads 40 (--max-length); shorten the passage, or");
    for (const FoundAnswer& found : task->answer("\n a  b \n\n c\n", "what?", 100)) {
        CHECK_FALSE(found.text.empty());
        CHECK_FALSE(std::isspace(static_cast<unsigned char>(found.text.front())));
        CHECK_FALSE(std::isspace(static_cast<unsigned char>(found.text.back())));
    }
    check_message<ValueError>([&] { task->answer("\n", "where?", 1); }, "the passage is empty");
    check_message<ValueError>([&] { task->answer(" ", "where?", 1); }, "the passage is empty");
    check_message<ValueError>([&] { task->answer("a", "\t", 1); }, "the question is empty");
    check_message<ValueError>([&] { task->batch_of("a b", "q", "c"); }, "is not in the passage");
    check_message<ValueError>([&] { task->batch_of("a a", "q", "a"); }, "occurs more than once");
    Batch batch = task->batch_of("a b", "q", "b");
    CHECK_EQ(task->batch_of("a b", "\t q \r", "b").inputs.to_vector<std::int64_t>(),
             batch.inputs.to_vector<std::int64_t>());
    batch.targets.fill_(0);
    check_message<ValueError>([&] { task->check_batch(batch); },
                              "an answer from 0 to 0 in a passage");

    config.set_model(SpanConfig{
        .max_length = 12, .max_answer = 6, .dim = 16, .heads = 2, .layers = 1, .pieces = 400});
    check_message<IoError>([&] { Session{config}; }, "t.txt:1: passage and question have ");
    config.set_model(SpanConfig{
        .max_length = 40, .max_answer = 1, .dim = 16, .heads = 2, .layers = 1, .pieces = 400});
    check_message<IoError>([&] { Session{config}; }, "the model gives at most 1 (--max-answer)");
    test::spill(place.text, "a b\tq?\tb\n");
    check_message<ValueError>([&] { Session{config}; },
                              "one passage only, so none can be held out");
}

TEST_CASE("answer: parameters are counted from the configuration") {
    for (const Positions positions :
         {Positions::rotary, Positions::learned, Positions::relative, Positions::sinusoidal}) {
        const SpanConfig config{.vocab = 11,
                                .max_length = 7,
                                .dim = 8,
                                .heads = 2,
                                .layers = 3,
                                .hidden = 20,
                                .positions = positions};
        CHECK_EQ(parameter_count(config),
                 static_cast<double>(SpanReader(config).parameter_count()));
        CHECK(training_bytes(config, 2, 1, 2) > 16 * parameter_count(config));
        CHECK(step_flops(config, 2) == 2 * step_flops(config, 1));
    }
    check_message<ValueError>([] { SpanReader({.vocab = 10, .dim = 9, .heads = 2}); },
                              "SpanReader: 2 heads do not divide dim 9");
}
