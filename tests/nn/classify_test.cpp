// Text classification: features, the model, files with labels and what is wrong in them, scores,
// and a run that learns.
#include <tapestry/core/create.h>
#include <tapestry/nn/data/split_by_label.h>
#include <tapestry/nn/io/classifier_directory.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/classify/classify_task.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/module_gradients.h>
#include <tapestry/tests/nn/small_run.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace tapestry;
using doctest::Approx;
using test::check_message;

namespace {

LabelledTexts read(const test::Scratch& scratch, const char* name, const std::string& text,
                   const std::vector<std::string>& known = {}) {
    test::spill(scratch / name, text);
    return read_labelled_texts(scratch / name, known);
}

// The errors of files: each begins with the file's name, where `place` continues.
void refused(const char* name, const std::string& text, const std::string& place) {
    const test::Scratch scratch;
    check_message<IoError>([&] { read(scratch, name, text); }, std::string(name) + place);
}

}  // namespace

TEST_CASE("text_features: words, their sequences, characters between marks") {
    const auto count = [](std::string_view text, const BagConfig& config) {
        return text_features(text, config).size();
    };
    CHECK_EQ(count("", {}), 0);
    CHECK_EQ(count(" the  cat\tsat\n", {}), 3);
    CHECK_EQ(count("the cat sat", {.words = 2}), 2);
    CHECK_EQ(count("the cat sat", {.word_ngrams = 2}), 3 + 2);
    CHECK_EQ(count("the cat sat", {.word_ngrams = 9}), 3 + 2 + 1);
    CHECK_EQ(count("ab", {.shortest = 1, .longest = 1}), 1 + 2);      // not the marks
    CHECK_EQ(count("ab", {.shortest = 3, .longest = 6}), 1 + 2 + 1);  // <ab ab> <ab>
    CHECK_EQ(count("北京", {.shortest = 2, .longest = 2}), 1 + 3);    // characters, not bytes
    const auto once = text_features("spam", {});
    const auto twice = text_features("spam and spam", {});
    CHECK_EQ(twice[0], once[0]);
    CHECK_EQ(twice[2], once[0]);
    CHECK(twice[1] != once[0]);
    // "a b" in sequence is another feature than "b a", and a character is none of a word's.
    const BagConfig pairs{.word_ngrams = 2};
    CHECK(text_features("a b", pairs)[2] != text_features("b a", pairs)[2]);
    CHECK_EQ(std::set(twice.begin(), twice.end()).size(), 2);
    for (const auto id : text_features("one two three", {.buckets = 3})) {
        CHECK((id == 1 || id == 2));
    }
    check_message<ValueError>([] { text_features("a\xff", {}); }, "the text is not UTF-8");
}

TEST_CASE("BagClassifier: the mean of the features' rows, projected; padding changes nothing") {
    Generator generator(1);
    BagClassifier model({.classes = 3, .buckets = 7, .dim = 4}, generator);
    CHECK_EQ(model.parameter_count(), 7 * 4 + 3 * 4);
    CHECK_EQ(parameter_count(model.config()), 7 * 4 + 3 * 4);
    const auto ids = tensor<std::int64_t>({{2, 5, 2}, {6, 0, 0}, {0, 0, 0}});
    CHECK_EQ(model(ids).to_vector<float>(), std::vector<float>(9, 0));  // the head begins at 0
    model.to(DType::f64);
    test::move_parameters(model, 1, 3);
    const auto table = model.table.weight.to_vector<double>();
    const auto head = model.head.weight.to_vector<double>();
    const auto logits = model(ids).to_vector<double>();
    for (std::size_t c = 0; c < 3; ++c) {
        double first = 0, second = 0;
        for (std::size_t d = 0; d < 4; ++d) {
            first += head[4 * c + d] * (2 * table[4 * 2 + d] + table[4 * 5 + d]) / 3;
            second += head[4 * c + d] * table[4 * 6 + d];
        }
        CHECK_EQ(logits[c], Approx(first).epsilon(1e-6));
        CHECK_EQ(logits[3 + c], Approx(second).epsilon(1e-6));
        CHECK_EQ(logits[6 + c], 0);
    }
    const auto longer = tensor<std::int64_t>({{2, 5, 2, 0, 0}});
    const auto same = model(longer).to_vector<double>();
    for (std::size_t c = 0; c < 3; ++c) CHECK_EQ(same[c], Approx(logits[c]).epsilon(1e-12));
    check_message<ValueError>([] { BagClassifier({.classes = 2, .shortest = 3, .longest = 2}); },
                              "n-grams need 1 <= shortest <= longest <= 64, got 3 and 2");
}

TEST_CASE("labelled texts: three forms of file, the same texts") {
    const test::Scratch scratch;
    const LabelledTexts lines = read(scratch, "a.txt",
                                     "__label__ham  hello, \"you\"\r\n\n"
                                     "__label__spam buy now\n__label__ham bye");
    CHECK_EQ(lines.labels, std::vector<std::string>{"ham", "spam"});
    CHECK_EQ(lines.texts, std::vector<std::string>{"hello, \"you\"", "buy now", "bye"});
    CHECK_EQ(lines.targets, std::vector<std::int64_t>{0, 1, 0});
    CHECK_EQ(lines.counts(), std::vector<std::int64_t>{2, 1});
    const LabelledTexts comma = read(scratch, "a.csv",
                                     "id,text,label\n1,\"hello, \"\"you\"\"\",ham\n"
                                     "2,buy now,spam\n3,bye,ham\n");
    const LabelledTexts tab =
        read(scratch, "a.tsv", "ham\thello, \"you\"\nspam\tbuy now\nham\tbye\n");
    CHECK_EQ(comma.texts, lines.texts);
    CHECK_EQ(comma.hash, lines.hash);
    CHECK_EQ(tab.hash, lines.hash);
    const LabelledTexts two = read(scratch, "b.csv", "a,\"one\ntwo\"\nb,three\n");
    CHECK_EQ(two.texts[0], "one\ntwo");
    const LabelledTexts known = read(scratch, "a.tsv", "ham\tx\n", {"spam", "ham"});
    CHECK_EQ(known.targets, std::vector<std::int64_t>{1});
    check_message<IoError>(
        [&] {
            read(scratch, "a.tsv", "ham\tx\neggs\ty\n", {"spam", "ham"});
        },
        "a.tsv:2: label 'eggs' is not one of the model's 2");
}

TEST_CASE("labelled texts: what is wrong, with file and line") {
    refused("a.txt", "__label__a x\nhello\n", ":2: has no label; a line begins with __label__NAME");
    refused("a.txt", "__label__a __label__b x\n", ":1: has several labels");
    refused("a.txt", "\n__label__ x\n", ":2: __label__ without a name");
    refused("a.txt", "__label__a x\n__label__b\n", ":2: the text is empty");
    refused("a.txt", "__label__a x\n__label__a y\n",
            ": a classifier needs at least 2 labels, and this file has 1");
    refused("a.tsv", "a\tx\nb y\n", ":2: has 1 field, expected 2");
    refused("a.csv", "a,x\nb,\"two\nlines\",more\n", ":2: has 3 fields, expected 2");
    refused("a.csv", "a,x\nb,\"y\nc,z\n", ":2: a quote is not closed");
    refused("a.csv", "label,text\n,x\n", ":2: the label is empty");
    refused("a.csv", "id, Label ,TEXT\n1,,x\n", ":2: the label is empty");
}

TEST_CASE("classification scores: accuracy, F1 and what was taken for what") {
    ClassificationScores scores({"a", "b", "c"});
    scores.add(0, 0, 3);
    scores.add(0, 1);
    scores.add(1, 0, 2);
    scores.add(1, 1, 4);
    CHECK_EQ(scores.count(), 10);
    CHECK_EQ(scores.accuracy(), Approx(0.7));
    CHECK_EQ(scores.f1(0), Approx(2 * 3 / 9.0));  // 2 TP / (2 TP + FP + FN)
    CHECK_EQ(scores.f1(1), Approx(2 * 4 / 11.0));
    CHECK_EQ(scores.f1(2), 0);
    CHECK_EQ(scores.macro_f1(), Approx((6 / 9.0 + 8 / 11.0) / 2));
    const std::string text = to_text(scores, "mail.txt");
    CHECK(text.starts_with("accuracy 0.7000, macro F1 0.6970, loss 0.0000 over 10 texts of mail"));
    CHECK(text.find("b                  2  4  0  F1 0.7273\n") != std::string::npos);
    CHECK(to_json(scores).find(R"("confusion":[[0,0,3],[0,1,1],[1,0,2],[1,1,4]])") !=
          std::string::npos);
}

TEST_CASE("classification scores: rows of probabilities, their loss, the likeliest labels") {
    ClassificationScores scores({"a", "b", "c"});
    scores.what = "image";
    scores.add({0, 1}, std::vector<double>{0.5, 0.25, 0.25, 0.5, 0.25, 0.25});
    scores.add({2}, std::vector<double>{0, 0, 1});
    CHECK_EQ(scores.confusion.at({1, 0}), 1);
    CHECK_EQ(scores.accuracy(), Approx(2 / 3.0));
    CHECK_EQ(scores.loss, Approx((std::log(2.0) + std::log(4.0)) / 3));
    CHECK(to_text(scores, "x").find(" over 3 images of x\n") != std::string::npos);
    CHECK(to_json(scores).starts_with(R"({"images":3,)"));
    const auto found = likeliest({"a", "b", "c"}, std::vector<double>{0.2, 0.6, 0.2}, 2);
    REQUIRE_EQ(found.size(), 2);
    CHECK_EQ(found[0].label, "b");
    CHECK_EQ(found[1].label, "a");
    CHECK_EQ(found[1].probability, 0.2);
    const auto losses = losses_without_looking({8, 0}, {1, 1}, "image");
    CHECK_EQ(losses[0].loss, Approx(std::log(2.0)));
    CHECK_EQ(losses[1].loss, Approx(-(std::log(0.9) + std::log(0.1)) / 2));
}

TEST_CASE("split_by_label: every tenth of a label, the last of few, none of one") {
    std::vector<std::int64_t> targets(25, 0);
    targets.insert(targets.end(), {1, 2, 1, 1});
    const SplitByLabel split = split_by_label(targets, 3);
    CHECK_EQ(split.held_out, std::vector<std::size_t>{9, 19, 28});
    CHECK_EQ(split.train.size(), 26);
    CHECK_EQ(split.single, 1);
}

namespace {

// Which of two words comes more often says the label.
TrainingConfig learnable(const test::RunPlace& place) {
    std::string lines;
    for (int i = 0; i < 200; ++i) {
        const bool good = i % 2 == 0;
        lines += fmt::format("{}\t{} {} word{}\n", good ? "good" : "bad", good ? "fine" : "poor",
                             i % 3 == 0 ? "thing" : "day", i % 17);
    }
    test::spill(place.scratch / "t.tsv", lines);
    TrainingConfig config{.task = "classify", .text = (place.scratch / "t.tsv").string()};
    config.set_model(BagConfig{.buckets = 1000, .dim = 8});
    config.batch = 16;
    config.steps = 60;
    config.warmup = 5;
    config.lr = 0.05;
    config.eval_every = 20;
    return config;
}

}  // namespace

TEST_CASE("classify: a run learns, its directory classifies and scores") {
    const test::RunPlace place;
    Session session(learnable(place));
    CHECK_EQ(session.evaluate(), Approx(std::log(2.0)));
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    CHECK_LT(session.evaluate(), 0.1);
    CHECK(session.task().data_text().find(
              "200 texts, 2 labels; training on 180, validating on 20, of each label its share") !=
          std::string::npos);
    CHECK(model_kind(place.out) == ModelKind::classifier);
    const auto task = load_classify_task(place.out);
    CHECK_EQ(task->labels(), std::vector<std::string>{"bad", "good"});
    const auto found = task->classify({"a fine day", "poor thing"}, 5);
    REQUIRE_EQ(found[0].size(), 2);
    CHECK_EQ(found[0][0].label, "good");
    CHECK_EQ(found[0][0].probability + found[0][1].probability, Approx(1));
    CHECK_EQ(found[1][0].label, "bad");
    const ClassificationScores scores =
        task->score(read_labelled_texts(place.scratch / "t.tsv", task->labels()));
    CHECK_EQ(scores.accuracy(), 1);
    check_message<IoError>([&] { load_model(place.out); },
                           "the model is a bag of n-grams, expected a GPT or a Llama");
    check_message<ValueError>([&] { session.corpus(); },
                              "the run's task is classify, which has no text");
}

TEST_CASE("classify: what cannot be trained on, and labels that occur once") {
    const test::RunPlace place;
    TrainingConfig config = learnable(place);
    const auto refused = [&](const std::string& text, const char* words) {
        test::spill(place.scratch / "t.tsv", text);
        check_message<ValueError>([&] { Session{config}; }, words);
    };
    refused("a\tx\nb\ty\n", "every label occurs once, so no text can be held out");
    test::spill(place.scratch / "t.tsv", "a\tx\na\ty\nb\tz\n");
    CHECK(Session(config).task().data_text().find("1 label occurs only once") != std::string::npos);
    config.test_fraction = 0.1;
    refused("a\tx\na\ty\nb\tz\n", "--test-fraction is for a text");
}
