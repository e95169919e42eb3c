// Text classification: runs that learn, of one label per text, of several, and with an encoder;
// their directories, in f32 and in int8.
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
    for (Tensor p : task->model().parameters()) p.fill_(NAN);
    check_message<DivergedError>([&] { task->classify({"a fine day"}, 1); },
                                 "the model's outputs contain nan: it has diverged");
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
    CHECK(task->threshold() != 0.5);  // fitted
    CHECK(session.task().closing_text().find(
              fmt::format("labels are predicted from a probability of {:.3f} on: micro F1 ",
                          task->threshold())) != std::string::npos);
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
    CHECK(load_classify_task(whole)->threshold() != 0.5);
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

TEST_CASE("classify: models of several labels from before there was a threshold have 0.5") {
    const test::RunPlace place;
    Session session(several_labels(place));
    save_task(place.out, session.task());
    const auto file = place.out / "model.safetensors";
    const SafetensorsFile saved = read_safetensors(file);
    std::filesystem::remove(place.out / "tapestry-manifest.json");
    const auto with = [&](std::optional<double> threshold) {
        NamedTensors tensors;
        for (const auto& [name, tensor] : saved.tensors) {
            if (name != "threshold") tensors.emplace_back(name, tensor);
        }
        if (threshold) tensors.emplace_back("threshold", full({1}, *threshold, DType::f32));
        write_safetensors(file, tensors, saved.metadata);
        return load_classify_task(place.out)->threshold();
    };
    CHECK_EQ(with(std::nullopt), 0.5);
    CHECK_EQ(with(0.25), 0.25);
    quantize_classifier(place.out, place.scratch / "small");
    CHECK_EQ(load_classify_task(place.scratch / "small")->threshold(), 0.25);
    check_message<IoError>([&] { with(0); }, "the threshold must be one positive number");
    check_message<IoError>([&] { with(1); }, "the threshold must be below 1");
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
