// Text classification: features, the model, files with labels and what is wrong in them, scores,
// and a run that learns.
#include <tapestry/core/create.h>
#include <tapestry/nn/data/split_by_label.h>
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

namespace {

// Words say which of three labels a text has: none, one or more.
TrainingConfig several_labels(const test::RunPlace& place) {
    std::string lines = "labels,text\n";
    for (int i = 0; i < 240; ++i) {
        std::string labels, text = fmt::format("number{}", i % 23);
        for (int k = 0; k < 3; ++k) {
            if ((i * 7 % 8 >> k) % 2 == 0) continue;
            const char* const names[] = {"sport", "news", "music"};
            const char* const words[] = {" ball", " today", " song"};
            labels += fmt::format("{}{}", labels.empty() ? "" : ";", names[k]);
            text += words[k];
        }
        lines += fmt::format("{},{}\n", labels, text);
    }
    test::spill(place.scratch / "t.csv", lines);
    TrainingConfig config = learnable(place);
    config.text = (place.scratch / "t.csv").string();
    config.steps = 120;
    config.eval_every = 40;
    return config;
}

}  // namespace

TEST_CASE("classify: several labels at once are learned, predicted and scored") {
    const test::RunPlace place;
    Session session(several_labels(place));
    CHECK_EQ(session.evaluate(), Approx(std::log(2.0)));
    const std::string data = session.task().data_text();
    CHECK(data.find("240 texts, 3 labels, 1.50 per text, the first text with two in line 3, so "
                    "each label has a separate probability (sigmoid, binary cross-entropy); "
                    "training on 216, validating on 24, by the rarest label") != std::string::npos);
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    CHECK_LT(session.evaluate(), 0.1);
    const auto task = load_classify_task(place.out);
    CHECK(task->has_several_labels());
    const auto found = task->classify({"song ball number2", "number5"}, 3, 0.5);
    REQUIRE_EQ(found[0].size(), 2);
    CHECK_EQ(std::set<std::string>{found[0][0].label, found[0][1].label},
             std::set<std::string>{"music", "sport"});
    CHECK(found[1].empty());
    CHECK_EQ(task->classify({"number5"}, 2)[0].size(), 2);
    const LabelSetScores scores = task->score_sets(
        read_labelled_texts(place.scratch / "t.csv", task->labels(), task->labels_per_text()), 0.5);
    CHECK_GT(scores.micro_f1(), 0.98);
    CHECK_EQ(task->batch_of("ball", "sport; music").targets.to_vector<std::int64_t>(),
             std::vector<std::int64_t>{1, 0, 1});
    check_message<ValueError>([&] { task->batch_of("ball", "sport;film"); }, "label 'film'");

    // A model of one label each is not trained on such a file, and this one on either.
    TrainingConfig again = several_labels(place);
    again.start = place.out.string();
    test::spill(place.scratch / "t.csv", "label,text\nnews,a b\nnews,b c\nmusic,c\nmusic,d\n");
    CHECK(std::get<BagConfig>(Session(again).config().model_config()).several_labels);
}

TEST_CASE("classify: a killed run of several labels leaves the same bytes, alone and shared") {
    const test::RunPlace place;
    TrainingConfig config = several_labels(place);
    config.steps = 12;
    config.eval_every = 4;
    config.order = BatchOrder::epoch;
    const TrainingRunOptions options{.report = false,
                                     .checkpoints = {.every_steps = 3, .rewind_budget = 0}};
    const auto left = [](const std::filesystem::path& directory) {
        return test::slurp(directory / "model.safetensors") +
               test::slurp(directory / "config.json");
    };
    const auto whole = place.scratch / "whole";
    test::train_on(whole, config, options, 100, {});
    for (const std::int64_t last : {4, 7, 100}) {
        const ThreadsGuard guard(last == 7 ? 3 : 1);
        test::train_on(place.out, config, options, last, {});
    }
    CHECK((left(place.out) == left(whole)));
    CHECK(load_classifier(whole).model->temperature.to_vector<double>()[0] != 1);
    config.micro_batches = 4;
    std::string alone;
    for (const int processes : {1, 3}) {
        std::filesystem::remove_all(place.out);
        test::train_shared(place, config, {.processes = processes});
        if (alone.empty()) alone = left(place.out);
        CHECK((left(place.out) == alone));
    }
}

namespace {

// Which of two words comes first says the label: a bag of words cannot know.
TrainingConfig by_order(const test::RunPlace& place, std::int64_t layers) {
    std::string lines;
    for (int i = 0; i < 400; ++i) {
        const bool first = i * 7 % 10 < 5;
        lines += fmt::format("{}\t{} word{} {} word{}\n", first ? "dog" : "man",
                             first ? "dog" : "man", i % 11, first ? "man" : "dog", i % 13);
    }
    test::spill(place.scratch / "t.tsv", lines);
    TrainingConfig config = learnable(place);
    test::spill(place.scratch / "t.tsv", lines);
    config.set_model(BagConfig{.buckets = 500,
                               .dim = 16,
                               .shortest = 3,
                               .longest = 3,
                               .layers = layers,
                               .heads = layers > 0 ? 2 : 4});
    config.steps = 150;
    config.eval_every = 50;
    config.lr = 0.01;
    return config;
}

}  // namespace

TEST_CASE("classify: with layers the order of words is read, and padding changes nothing") {
    const test::RunPlace place;
    Session bag(by_order(place, 0));
    while (!bag.is_finished()) bag.take_step();
    CHECK_GT(bag.evaluate(), 0.6);
    Session session(by_order(place, 1));
    CHECK(session.task().shape_text() ==
          "words and n-grams of 3 to 3 characters, 500 buckets, dim 16, 1 layer of 2 heads");
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    CHECK_LT(session.evaluate(), 0.1);
    const auto task = load_classify_task(place.out);
    CHECK_EQ(parameter_count(task->model_config()), task->model().parameter_count());
    const std::string shorter = "dog word1 man word2";
    CHECK_EQ(task->classify({shorter}, 1)[0][0].label, "dog");
    CHECK_EQ(task->classify({"man word1 dog word2"}, 1)[0][0].label, "man");
    CHECK_EQ(task->classify({""}, 2)[0].size(), 2);
    CHECK(std::isfinite(task->classify({""}, 1)[0][0].probability));
    // In a batch with a longer text, and with longer words, a text has the same logits.
    const Batch alone = task->batch_of(shorter, "dog");
    const Batch more = task->batch_of("extraordinary words and many more of them", "man");
    Tensor both = zeros({2, more.inputs.size(1), more.inputs.size(2)}, DType::i64);
    for (std::int64_t w = 0; w < alone.inputs.size(1); ++w) {
        for (std::int64_t f = 0; f < alone.inputs.size(2); ++f) {
            const auto at = static_cast<std::size_t>(w * alone.inputs.size(2) + f);
            both.mutable_data<std::int64_t>()[w * both.size(2) + f] =
                alone.inputs.to_vector<std::int64_t>()[at];
        }
    }
    auto& model = dynamic_cast<BagClassifier&>(task->model());
    const auto one = model(alone.inputs).to_vector<double>(), two = model(both).to_vector<double>();
    for (std::size_t c = 0; c < 2; ++c) CHECK_EQ(two[c], Approx(one[c]).epsilon(1e-4));
    CHECK_EQ(task->texts(alone, 0).size(), 4);

    check_message<ValueError>([] { BagClassifier({.classes = 2, .word_ngrams = 2, .layers = 1}); },
                              "with layers, word_ngrams must be 1, got 2");
    check_message<ValueError>(
        [] { BagClassifier({.classes = 2, .dim = 12, .layers = 1}); },
        "with layers, dim must be a multiple of twice the heads, got 12 and 4");
}

TEST_CASE("classify: a killed run with layers leaves the same bytes, and its int8 file opens") {
    const test::RunPlace place;
    TrainingConfig config = by_order(place, 1);
    config.steps = 12;
    config.eval_every = 4;
    std::get<BagConfig>(*config.other_model).dropout = 0.1;
    const TrainingRunOptions options{.report = false,
                                     .checkpoints = {.every_steps = 3, .rewind_budget = 0}};
    const auto whole = place.scratch / "whole";
    test::train_on(whole, config, options, 100, {});
    for (const std::int64_t last : {4, 7, 100}) {
        const ThreadsGuard guard(last == 7 ? 3 : 1);
        test::train_on(place.out, config, options, last, {});
    }
    CHECK(
        (test::slurp(place.out / "model.safetensors") == test::slurp(whole / "model.safetensors")));
    quantize_classifier(whole, place.scratch / "small");
    CHECK_EQ(load_classifier(place.scratch / "small").model->config().layers, 1);
}

TEST_CASE("classify: a directory with int8 rows predicts the same, in less space") {
    const test::RunPlace place;
    Session session(learnable(place));
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    const auto small = place.scratch / "small";
    quantize_classifier(place.out, small);
    CHECK(is_quantized_classifier(small));
    CHECK_FALSE(is_quantized_classifier(place.out));
    const auto size = [](const std::filesystem::path& directory) {
        return std::filesystem::file_size(directory / "model.safetensors");
    };
    CHECK_LT(2 * size(small), size(place.out));  // 12 of 32 bytes for each row of 8 numbers
    const auto whole = load_classifier(place.out), rounded = load_classifier(small);
    CHECK_EQ(rounded.labels, whole.labels);
    const auto from = whole.model->table.weight.to_vector<double>();
    const auto to = rounded.model->table.weight.to_vector<double>();
    for (std::size_t row = 0; row < 1000; ++row) {
        double largest = 0;
        for (std::size_t d = 0; d < 8; ++d) {
            largest = std::max(largest, std::abs(from[8 * row + d]));
        }
        for (std::size_t d = 0; d < 8; ++d) {
            CHECK(std::abs(to[8 * row + d] - from[8 * row + d]) <= 0.5001 * largest / 127);
        }
    }
    CHECK_EQ(rounded.model->head.weight.to_vector<float>(),
             whole.model->head.weight.to_vector<float>());
    const auto texts = read_labelled_texts(place.scratch / "t.tsv", whole.labels);
    const auto f32 = load_classify_task(place.out), int8 = load_classify_task(small);
    CHECK_EQ(int8->score(texts).accuracy(), f32->score(texts).accuracy());
    CHECK_EQ(int8->score(texts).loss, Approx(f32->score(texts).loss).epsilon(0.01));

    // Damaged files, one line each.
    const std::string config = test::slurp(small / "config.json");
    const auto refused = [&](const std::string& was, const std::string& becomes,
                             const char* words) {
        std::string text = config;
        text.replace(text.find(was), was.size(), becomes);
        std::filesystem::remove(small / "tapestry-manifest.json");
        test::spill(small / "config.json", text);
        check_message<IoError>([&] { load_classifier(small); }, words);
    };
    refused("\"int8\"", "\"int4\"", "config.json: \"stored\" is 'int4', expected \"int8\"");
    refused("\"buckets\": 1000", "\"buckets\": 999",
            "tensor \"table.int8\" is i64 [1000, 1], expected i64 [999, 1]");
    refused("\"dim\": 8", "\"dim\": 7", "there is no tensor \"head.weight\" [2, 7]");
}

TEST_CASE("classify: models from before there was a temperature have 1; no other is accepted") {
    const test::RunPlace place;
    Session session(learnable(place));
    TrainingRun(session, {.out = place.out, .report = false}).to_the_end();
    const auto file = place.out / "model.safetensors";
    const SafetensorsFile saved = read_safetensors(file);
    std::filesystem::remove(place.out / "tapestry-manifest.json");
    const auto with = [&](std::optional<double> temperature, NamedTensors tensors = {}) {
        for (const auto& [name, tensor] : saved.tensors) {
            if (name != "temperature") tensors.emplace_back(name, tensor);
        }
        if (temperature) tensors.emplace_back("temperature", full({1}, *temperature, DType::f32));
        write_safetensors(file, tensors, saved.metadata);
        return load_classifier(place.out).model->temperature.to_vector<double>()[0];
    };
    CHECK_EQ(with(std::nullopt), 1);
    CHECK_EQ(with(2), 2);
    for (const double bad : {0.0, -1.0, double(INFINITY)}) {
        check_message<IoError>([&] { with(bad); },
                               "model.safetensors: the temperature must be one positive number");
        check_message<IoError>(
            [&] {
                with(std::nullopt, {{"module.temperature", full({1}, bad, DType::f32)}});
            },
            "model.safetensors: the temperature must be one positive number");
    }
    check_message<IoError>(
        [&] {
            with(2, {{"module.temperature", ones({1})}});
        },
        "tensor \"temperature\" occurs twice, with and without a prefix");
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
    // Both texts with c would be held out by their rarest label, and c never learned.
    config.text = (place.scratch / "several.txt").string();
    test::spill(
        config.text,
        "__label__a x1\n__label__b x2\n__label__a __label__c x3\n__label__b __label__c x4\n");
    CHECK(Session(config).task().data_text().find("training on 3, validating on 1") !=
          std::string::npos);
    config.text = (place.scratch / "t.tsv").string();
    config.test_fraction = 0.1;
    refused("a\tx\na\ty\nb\tz\n", "--test-fraction is for a text");
    BagConfig bag{.classes = 2, .buckets = 10, .dim = 8};
    bag.heads = 2;
    check_message<ValueError>([&] { BagClassifier{bag}; }, "layers must be at least 1 as well");
}
