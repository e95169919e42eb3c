// Text classification: features, the model, files with labels and what is wrong in them, scores.
// Read next: classify_run_test.cpp.
#include <tapestry/core/create.h>
#include <tapestry/nn/data/splits.h>
#include <tapestry/nn/io/classifier_directory.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/train/classify/classify_task.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/tests/nn/module_gradients.h>
#include <tapestry/tests/nn/small_run.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
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
    refused("a.txt", "__label__a x\n__label__b __label__b y\n", ":2: has the label 'b' twice");
    refused("a.csv", "labels,text\na;b,x\nb; b,y\n", ":3: has the label 'b' twice");
    refused("a.csv", "labels,text\na;b,\n", ":2: the text is empty");
    refused("a.txt", "\n__label__ x\n", ":2: __label__ without a name");
    refused("a.txt", "__label__a x\n__label__b\n", ":2: the text is empty");
    refused("a.txt", "__label__a x\n__label__a y\n",
            ": a classifier needs at least 2 labels, and this file has 1");
    refused("a.txt", "\n \n", ": no texts; each needs a line with its label");
    refused("a.csv", "label,text\n", ": no texts");
    const test::Scratch scratch;
    test::spill(scratch / "b.txt", "\n\n");
    check_message<IoError>(
        [&] {
            read_labelled_texts(scratch / "b.txt", {"a", "b"}, LabelsPerText::any);
        },
        "b.txt: no texts");
    refused("a.tsv", "a\tx\nb y\n", ":2: has 1 field, expected 2");
    refused("a.csv", "a,x\nb,\"two\nlines\",more\n", ":2: has 3 fields, expected 2");
    refused("a.csv", "a,x\nb,\"y\nc,z\n", ":2: a quote is not closed");
    refused("a.csv", "a,x\nb,\"y\" or z\n", ":2: 'or z' is behind a closing quote");
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

TEST_CASE("labelled texts: several labels, or none, and what a model needs") {
    const test::Scratch scratch;
    const LabelledTexts lines =
        read(scratch, "a.txt", "__label__b x\n\n__label__c  __label__a y\n__label__b z\n");
    CHECK(lines.several);
    CHECK_EQ(lines.labels, std::vector<std::string>{"a", "b", "c"});
    CHECK_EQ(lines.sets, std::vector<std::vector<std::int64_t>>{{1}, {0, 2}, {1}});
    CHECK_EQ(lines.counts(), std::vector<std::int64_t>{1, 2, 1});
    CHECK_EQ(lines.first_with_several, 3);
    CHECK(lines.targets.empty());
    const LabelledTexts columns = read(scratch, "a.csv", "text,Labels\nx,b\ny,c ; a\nz,b\n");
    CHECK(columns.hash == lines.hash);
    CHECK_EQ(columns.sets, lines.sets);
    const LabelledTexts none = read(scratch, "b.csv", "labels,text\na;b,x\n,y\n");
    CHECK_EQ(none.sets, std::vector<std::vector<std::int64_t>>{{0, 1}, {}});
    CHECK_FALSE(read(scratch, "c.txt", "__label__a x\n__label__b y\n").several);
    const auto needed = [&](const char* file, LabelsPerText number) {
        return read_labelled_texts(scratch / file, {"a", "b", "c"}, number);
    };
    CHECK_EQ(needed("c.txt", LabelsPerText::any).sets,
             std::vector<std::vector<std::int64_t>>{{0}, {1}});
    test::spill(scratch / "d.csv", "labels,text\na,x\nb,y\n");
    CHECK_EQ(needed("d.csv", LabelsPerText::one).targets, std::vector<std::int64_t>{0, 1});
    check_message<IoError>([&] { needed("a.txt", LabelsPerText::one); },
                           "a.txt:3: has 2 labels; the model gives each text exactly one");
    check_message<IoError>([&] { needed("b.csv", LabelsPerText::one); }, "b.csv:2: has 2 labels");
}

TEST_CASE("calibration: the temperature that minimises the loss, and the error before and after") {
    // Probabilities of 0.75 and 0.25 that are right in 3 of 4 texts, made three times as sure.
    const double logit = 3 * std::log(3.0);
    for (const bool several : {false, true}) {
        CAPTURE(several);
        LabelledLogits all{.labels = 2, .several = several};
        for (int i = 0; i < 4000; ++i) {
            const bool right = i % 4 != 0;
            const double half = several ? logit : logit / 2;
            all.logits.insert(all.logits.end(), {half, -half});
            all.is.insert(all.is.end(), {std::uint8_t(right), std::uint8_t(!right)});
        }
        CHECK_EQ(fit_temperature(all), Approx(3).epsilon(2e-3));
        Calibration calibration(fit_temperature(all));
        calibration.add(all);
        const double sure = 1 / (1 + std::exp(-logit));
        CHECK_EQ(calibration.error_without(), Approx(sure - 0.75));
        CHECK_LT(calibration.error(), 0.001);
        CHECK(to_text(calibration).starts_with("expected calibration error 0.000"));
        CHECK(to_text(calibration).find("(0.2143 without its temperature, 3.00") !=
              std::string::npos);
    }
    // A few texts that are all right do not make it certain; no difference, no temperature.
    const LabelledLogits few{.labels = 2, .logits = {1, -1, 1, -1}, .is = {1, 0, 1, 0}};
    const double t = fit_temperature(few);
    CHECK_EQ(probabilities_of(few.row(0), t, false)[0], Approx((2 + 0.5) / 3));
    CHECK_EQ(fit_temperature({.labels = 2, .logits = {0, 0}, .is = {1, 0}}), 1);
    CHECK_EQ(fit_temperature({.labels = 2, .logits = {-1, 1}, .is = {1, 0}}),
             Approx(32));  // all wrong
    CHECK_EQ(probabilities_of(std::vector<double>{800, -800}, 1, true)[1], 0);
    CHECK(to_text(Calibration(1)).find("without") == std::string::npos);
}

TEST_CASE("calibration: the threshold of the largest micro F1, halfway to what it leaves out") {
    const auto logits = [](std::initializer_list<double> probabilities) {
        std::vector<double> all;
        for (const double p : probabilities) all.push_back(std::log(p / (1 - p)));
        return all;
    };
    // From 0.9 down the F1 are 2/4, 4/5, 4/6, 6/7, 6/8; 0.2 is the last that is right.
    LabelledLogits all{.labels = 5,
                       .logits = logits({0.9, 0.2, 0.6, 0.4, 0.1}),
                       .is = {1, 1, 1, 0, 0},
                       .several = true};
    CHECK_EQ(fit_threshold(all, 1), Approx(0.15));
    // sqrt(p / (1 - p)) are the odds at temperature 2: 1/2 and 1/3, p of 1/3 and 1/4.
    CHECK_EQ(fit_threshold(all, 2), Approx((1 / 3.0 + 1 / 4.0) / 2));
    // Equal probabilities are predicted together: one of two is right, better than one in three.
    all = {.labels = 3, .logits = logits({0.7, 0.7, 0.2}), .is = {1, 0, 0}, .several = true};
    CHECK_EQ(fit_threshold(all, 1), Approx(0.45));
    all.is = {0, 0, 0};
    CHECK_EQ(fit_threshold(all, 1), 0.5);
    // Of calibrated probabilities it is half of the F1: p is uniform, right with probability p. F1
    // from t on is 2 (1 - t^2) / 2 / (1/2 + 1 - t), largest at t = (3 - 5^0.5) / 2 = 0.382.
    LabelledLogits uniform{.labels = 1, .several = true};
    for (int i = 0; i < 1000; ++i) {
        const double p = (i + 0.5) / 1000;
        for (int k = 0; k < 100; ++k) {
            uniform.logits.push_back(std::log(p / (1 - p)));
            uniform.is.push_back(k + 0.5 < 100 * p);
        }
    }
    CHECK_EQ(fit_threshold(uniform, 1), Approx((3 - std::sqrt(5.0)) / 2).epsilon(0.02));
}

TEST_CASE("label set scores: F1 over all labels and of each, precision at 1, by hand") {
    LabelSetScores scores({"a", "b", "c"}, 0.5);
    // Probabilities above a half: ab of ab, c of ab, none of none.
    scores.add({.labels = 3,
                .logits = {2, 1, -1, -2, -1, 1, -1, -2, -3},
                .is = {1, 1, 0, 1, 1, 0, 0, 0, 0},
                .several = true});
    CHECK_EQ(scores.texts, 3);
    CHECK_EQ(scores.micro_f1(), Approx(2 * 2 / (3 + 4.0)));
    CHECK_EQ(scores.macro_f1(), Approx((2 / 3.0 + 2 / 3.0 + 0) / 3));
    CHECK_EQ(scores.precision_at_1(), Approx(1 / 3.0));
    CHECK_EQ(scores.exact_share(), Approx(2 / 3.0));
    const auto loss = [](double z, bool is) { return std::log(1 + std::exp(is ? -z : z)); };
    CHECK_EQ(scores.loss, Approx((loss(2, true) + loss(1, true) + loss(-1, false) + loss(-2, true) +
                                  loss(-1, true) + loss(1, false) + loss(-1, false) +
                                  loss(-2, false) + loss(-3, false)) /
                                 9));
    CHECK(to_text(scores, "x")
              .starts_with("micro F1 0.5714, macro F1 0.4444, precision@1 0.3333, exactly the "
                           "right labels 0.6667"));
    CHECK(to_json(scores).find(R"("right":[1,1,0])") != std::string::npos);
    LabelSetScores strict({"a", "b", "c"}, 0.8);
    strict.add({.labels = 3, .logits = {2, 1, -1}, .is = {1, 1, 0}, .several = true});
    CHECK_EQ(strict.predicted, std::vector<std::int64_t>{1, 0, 0});
    const auto losses = losses_without_looking(2, {{0}, {0, 1}}, {{0}});
    CHECK_EQ(losses[0].loss, Approx(std::log(2.0)));
    CHECK_EQ(losses[1].loss, Approx(-(std::log(0.75) + std::log(0.5)) / 2));
}
