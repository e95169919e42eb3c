// Translation: files of pairs and what is wrong in them, batches of similar length, padding that
// changes nothing, a run that learns, decoding.
#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/data/length_buckets.h>
#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/nn/train/training_run.h>
#include <tapestry/nn/train/translate/translate_task.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/nn/module_gradients.h>
#include <tapestry/tests/nn/small_run.h>
#include <tapestry/tests/skip.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace tapestry;
using doctest::Approx;
using test::check_message;

namespace {

TextPairs read(const test::Scratch& scratch, const char* name, const std::string& text) {
    test::spill(scratch / name, text);
    return read_text_pairs(scratch / name);
}

// The errors of files: each begins with the file's name, where `place` continues.
void refused(const char* name, const std::string& text, const std::string& place) {
    const test::Scratch scratch;
    check_message<IoError>([&] { read(scratch, name, text); }, std::string(name) + place);
}

TransformerConfig small_model() {
    return {.dim = 32,
            .heads = 2,
            .layers = 1,
            .dropout = 0,
            .norm_first = true,
            .max_length = 24,
            .share_embeddings = true,
            .label_smoothing = 0};
}

// Numbers and their digits backwards, which a small model learns.
TrainingConfig learnable(const test::RunPlace& place, int pairs = 400) {
    std::string lines;
    for (int i = 0; i < pairs; ++i) {
        std::string number = fmt::format("{:05}", i * 7919 % 99991);
        number.resize(static_cast<std::size_t>(2 + i % 4));
        lines += number + "\t";
        std::reverse(number.begin(), number.end());
        lines += number + "\n";
    }
    test::spill(place.text, lines);
    TrainingConfig config = place.config();
    config.task = "translate";
    config.set_model(small_model());
    config.batch = 32;
    config.lr = 0.01;
    config.eval_batches = 50;
    return config;
}

TranslateTask& as_translator(Session& session) {
    return dynamic_cast<TranslateTask&>(session.task());
}

Tensor padded(const Tensor& ids, std::int64_t more) {
    const std::int64_t rows = ids.size(0), length = ids.size(1);
    const std::vector<std::int64_t> all = ids.to_vector<std::int64_t>();
    std::vector<std::int64_t> longer;
    for (std::int64_t i = 0; i < rows; ++i) {
        longer.insert(longer.end(), all.begin() + i * length, all.begin() + (i + 1) * length);
        longer.insert(longer.end(), static_cast<std::size_t>(more), 0);
    }
    return tensor(longer, {rows, length + more});
}

}  // namespace

TEST_CASE("text pairs: three forms of file, the same pairs") {
    const test::Scratch scratch;
    const TextPairs plain = read(scratch, "a.tsv", "the cat \tdie Katze\r\n\na \"b\"\t猫");
    REQUIRE_EQ(plain.pairs.size(), 2);
    CHECK_EQ(plain.pairs[0].source, "the cat");
    CHECK_EQ(plain.pairs[0].target, "die Katze");
    CHECK_EQ(plain.pairs[1].source, "a \"b\"");
    CHECK_EQ(plain.pairs[1].target, "猫");
    CHECK_EQ(plain.pairs[1].line, 3);
    const TextPairs named =
        read(scratch, "b.tsv", "id\ttarget\tsource\n1\tdie Katze\tthe cat\n2\t猫\ta \"b\"\n");
    const TextPairs json = read(scratch, "a.jsonl",
                                "{\"source\": \"the cat\", \"n\": 1, \"target\": \"die Katze\"}\n\n"
                                "{\"target\": \"\\u732b\", \"source\": \"a \\\"b\\\"\"}\n");
    CHECK_EQ(named.hash, plain.hash);
    CHECK_EQ(json.hash, plain.hash);
    CHECK_NE(read(scratch, "c.tsv", "the cat\tdie Katze\na \"b\"\t狗\n").hash, plain.hash);

    CHECK(names_source_and_target(scratch / "b.tsv"));
    CHECK(names_source_and_target(scratch / "a.jsonl"));
    CHECK_FALSE(names_source_and_target(scratch / "a.tsv"));
    CHECK_FALSE(names_source_and_target(scratch / "none.tsv"));
    test::spill(scratch / "b.txt", "source\ttarget\na\tb\n");
    CHECK_FALSE(names_source_and_target(scratch / "b.txt"));
}

TEST_CASE("text pairs: what is wrong, with file and line") {
    refused("p.tsv", "a\tb\nc d\n", ":2: has no tab between source and target");
    refused("p.tsv", "a\tb\nc\td\te\n", ":2: has 3 fields, expected 2");
    refused("p.tsv", "a\tb\n\n\td\n", ":3: the source is empty");
    refused("p.tsv", "a\t \n", ":1: the target is empty");
    refused("p.tsv", "\n\n", ": no pairs");
    refused("p.jsonl", "{\"source\": \"a\", \"target\": \"b\"}\n{\"source\": 1}\n", ":2: ");
    refused("p.jsonl", "a\tb\n", ":1: not JSON");
    refused(
        "p.jsonl", "[]\n",
        ":1: \"source\" is missing; expected an object with the texts \"source\" and \"target\"");
    refused("p.jsonl", "{\"source\": \"a\", \"source\": \"c\", \"target\": \"b\"}\n", ":1: ");
}

TEST_CASE("length buckets: each example once per epoch, or equally often; similar lengths") {
    std::vector<std::pair<std::int64_t, std::int64_t>> lengths;
    for (int i = 0; i < 960; ++i) lengths.emplace_back(1 + i * 37 % 100, i % 5);
    const LengthBuckets buckets(lengths, 100);
    const auto length = [&](std::int64_t i) { return lengths[static_cast<std::size_t>(i)].first; };
    for (const BatchOrder order : {BatchOrder::random, BatchOrder::epoch}) {
        Generator generator(5);
        std::map<std::int64_t, int> times;
        double wasted = 0, all = 0;
        const int batches = order == BatchOrder::epoch ? 64 : 6000;
        for (int i = 0; i < batches; ++i) {
            const std::vector<std::int64_t> rows = buckets.next(order, 30, generator);
            CHECK_EQ(rows.size(), 30);
            std::int64_t longest = 0;
            for (const std::int64_t row : rows) longest = std::max(longest, length(row));
            for (const std::int64_t row : rows) {
                ++times[row];
                wasted += static_cast<double>(longest - length(row));
                all += static_cast<double>(longest);
            }
        }
        CHECK_EQ(times.size(), 960);
        CHECK(wasted / all < 0.12);  // without buckets 0.48
        for (const auto& [row, count] : times) {
            if (order == BatchOrder::epoch) CHECK_EQ(count, 2);
            if (order == BatchOrder::random) CHECK(std::abs(count - 187.5) < 6 * std::sqrt(187.5));
        }
        Generator from(5);  // only its state counts
        for (int i = 0; i < 40; ++i) buckets.next(order, 30, from);
        Generator again(5);
        again.set_state(from.seed(), from.offset());
        CHECK_EQ(buckets.next(order, 30, from), buckets.next(order, 30, again));
    }
    check_message<ValueError>([] { LengthBuckets({}); }, "needs at least 1 example");
}

TEST_CASE("length buckets: few examples also come once each before any comes again") {
    for (const std::int64_t examples : {1, 2, 7, 20, 61}) {
        for (const std::int64_t batch : {1, 2, 8}) {
            CAPTURE(examples);
            CAPTURE(batch);
            std::vector<std::pair<std::int64_t, std::int64_t>> lengths;
            for (std::int64_t i = 0; i < examples; ++i) lengths.emplace_back(1 + i * 7 % 10, 1);
            const LengthBuckets buckets(lengths);
            Generator generator(3);
            std::vector<int> times(static_cast<std::size_t>(examples));
            for (std::int64_t drawn = 0; drawn < 5 * examples; drawn += batch) {
                for (const std::int64_t row : buckets.next(BatchOrder::epoch, batch, generator)) {
                    ++times[static_cast<std::size_t>(row)];
                }
                const auto [least, most] = std::minmax_element(times.begin(), times.end());
                // A batch in which an epoch ends may have examples of the next.
                CHECK_LE(*most - *least, 1 + (batch + examples - 1) / examples);
            }
        }
    }
}

TEST_CASE("translate: a batch that is padded further has the same loss and gradients") {
    const test::RunPlace place;
    Session session(learnable(place));
    TranslateTask& task = as_translator(session);
    task.model().to(DType::f64);
    task.model().train();
    const Batch batch =
        task.batch_of({{"1", "1", 0}, {"99991", "19999", 0}, {"31", "13", 0}, {"774", "4", 0}});
    const Batch longer{padded(batch.inputs, 3), padded(batch.targets, 5)};
    const CountedLoss one = task.loss(batch), two = task.loss(longer);
    CHECK_EQ(one.count.value(), 2 + 6 + 3 + 2);
    CHECK_EQ(two.count.value(), one.count.value());
    CHECK(two.mean.item() == Approx(one.mean.item()).epsilon(1e-12));
    const auto gradients = [&](const Batch& of) {
        task.model().zero_grad();
        Tape tape;
        tape.backward(task.loss(of).mean);
        std::vector<double> all;
        for (const Tensor& parameter : task.model().parameters()) {
            const auto some = parameter.grad().to_vector<double>();
            all.insert(all.end(), some.begin(), some.end());
        }
        return all;
    };
    const auto first = gradients(batch), second = gradients(longer);
    REQUIRE_EQ(first.size(), second.size());
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
        largest = std::max(largest, std::abs(first[i]));
        difference = std::max(difference, std::abs(first[i] - second[i]));
    }
    CHECK(largest > 1e-3);
    CHECK(difference < 1e-13);
    // The parts of a batch, weighted by their counts, are the whole.
    const Batch some = task.batch_of({{"1", "1", 0}, {"31", "13", 0}});
    const Batch others = task.batch_of({{"99991", "19999", 0}, {"774", "4", 0}});
    MeanLoss mean;
    mean.add(task.loss(some));
    mean.add(task.loss(others));
    CHECK(mean.value() == Approx(one.mean.item()).epsilon(1e-12));
}

TEST_CASE("translate: smoothing is in the loss of training, not in that of an evaluation") {
    const test::RunPlace place;
    TrainingConfig config = learnable(place);
    TransformerConfig model = small_model();
    Session plain(config);
    model.label_smoothing = 0.2;
    config.set_model(model);
    Session smooth(config);
    CHECK_EQ(smooth.evaluate(), plain.evaluate());
    const Batch batch = as_translator(plain).batch_of({{"12", "21", 0}});
    CHECK_NE(smooth.task().loss(batch).mean.item(), plain.task().loss(batch).mean.item());
}

TEST_CASE("translate: a run learns, and its directory translates") {
    const test::RunPlace place;
    TrainingConfig config = learnable(place);
    config.steps = test::is_long() ? 2500 : 900;
    config.warmup = 50;
    config.eval_every = 0;
    Session session(config);
    const TranslateTask& task = as_translator(session);
    CHECK(task.data_text().find("400 pairs, 10 characters in the vocabulary of both sides; "
                                "training on ") != std::string::npos);
    TrainingRun(session, {.out = place.out}).to_the_end();
    CHECK(session.evaluate() < 0.15);  // counting characters: 2.3
    CHECK(session.sample(0).find("' -> '") != std::string::npos);

    const auto translator = load_translate_task(place.out);
    const std::vector<std::string> sources{"12345", "72", "908", "31416"};
    const std::vector<std::string> right{"54321", "27", "809", "61413"};
    CHECK_EQ(translator->translate(sources), right);
    CHECK_EQ(translator->translate(sources, {.beams = 4}), right);
    for (std::size_t i = 0; i < sources.size(); ++i) {  // alone as among others
        CHECK_EQ(translator->translate({sources[i]})[0], right[i]);
    }
    const TranslationMap seen = translator->align("12345", "54321");
    CHECK_EQ(seen.read, std::vector<std::string>{"1", "2", "3", "4", "5"});
    CHECK_EQ(seen.written, std::vector<std::string>{"5", "4", "3", "2", "1", "[end]"});
    CHECK_EQ(seen.weights.shape(), Shape{6, 5});
    CHECK(sum(seen.weights).item() == Approx(6).epsilon(1e-5));

    test::spill(place.scratch / "test.tsv", "12345\t54321\n908\t809\n77\t7\n");
    const TranslationScores scores = translator->score(read_text_pairs(place.scratch / "test.tsv"));
    CHECK_EQ(scores.pairs, 3);
    CHECK_EQ(scores.exact, 2);
    CHECK_EQ(scores.characters, 6 + 4 + 2);
    check_message<IoError>([&] { load_model(place.out); },
                           "the model is an encoder-decoder, expected a GPT or a Llama");
    check_message<ValueError>([&] { translator->translate({""}); }, "the source is empty");
    check_message<ValueError>([&] { translator->translate({"1a"}); }, "source");
    check_message<ValueError>([&] { translator->translate({std::string(25, '1')}); },
                              "the source has 25 characters; the model takes at most 24");
    test::spill(place.scratch / "test.tsv", "1\t1\n2\tx\n");
    check_message<IoError>([&] { translator->score(read_text_pairs(place.scratch / "test.tsv")); },
                           "test.tsv:2: ");
}

TEST_CASE("translate: byte pairs of both sides are learned, kept with the model, and translate") {
    const test::RunPlace place;
    const std::string adjectives[] = {"small", "green", "heavy", "quiet", "wooden"};
    const std::string nouns[] = {"mouse", "kettle", "garden", "window", "été", "北京"};
    std::string lines;
    for (const std::string& one : adjectives) {
        for (const std::string& two : nouns) {
            for (const char* verb : {"sings", "waits", "falls"}) {
                lines += fmt::format("the {0} {1} {2}\t{2} {1} {0}\n", one, two, verb);
            }
        }
    }
    test::spill(place.text, lines);
    TrainingConfig config = place.config();
    config.task = "translate";
    TransformerConfig model = small_model();
    model.pieces = 300;
    config.set_model(model);
    config.batch = 32;
    config.lr = 0.01;
    config.steps = 150;
    config.eval_every = 0;
    std::string stopped, whole;
    for (const bool in_parts : {false, true}) {
        Session session(config);
        CHECK(session.task().symbol() == "token");
        CHECK(session.task().data_text().find("300 tokens in the vocabulary") != std::string::npos);
        save_task(place.out, session.task());
        while (session.steps() < 150) {
            session.take_step();
            if (!in_parts || session.steps() != 70) continue;
            save_checkpoint(place.scratch / "half", session.checkpoint());
            break;
        }
        if (in_parts) {
            const auto second =
                Session::resume(place.scratch / "half", {}, {.directory = place.out});
            while (second->steps() < 150) second->take_step();
            save_task(place.out, second->task());
        } else {
            save_task(place.out, session.task());
        }
        (in_parts ? stopped : whole) = test::slurp(place.out / "model.safetensors");
    }
    CHECK((stopped == whole));
    CHECK(std::filesystem::exists(place.out / "merges.txt"));
    CHECK_FALSE(std::filesystem::exists(place.out / "tokenizer.json"));
    const auto translator = load_translate_task(place.out);
    const std::vector<std::string> sources{"the small mouse sings", "the wooden 北京 waits",
                                           "the quiet été falls"};
    const std::vector<std::string> right{"sings mouse small", "waits 北京 wooden",
                                         "falls été quiet"};
    CHECK_EQ(translator->translate(sources), right);
    CHECK_EQ(translator->translate(sources, {.beams = 3}), right);
    test::spill(place.scratch / "test.tsv", sources[0] + "\t" + right[0] + "\n");
    const TranslationScores scores = translator->score(read_text_pairs(place.scratch / "test.tsv"));
    CHECK(scores.exact == 1);
    CHECK(scores.characters < static_cast<std::int64_t>(right[0].size()));
    CHECK(to_text(scores, "x").find(" nats per token ") != std::string::npos);
    CHECK(translator->align(sources[0], right[0]).read.size() < sources[0].size());
    // Characters that no text to learn from had are three tokens each, and one row and column here.
    const TranslationMap rare = translator->align("the 猫 sings", "鼠 waits");
    CHECK(std::count(rare.read.begin(), rare.read.end(), "猫") == 1);
    REQUIRE(std::find(rare.written.begin(), rare.written.end(), "鼠") != rare.written.end());
    CHECK(rare.weights.shape() == Shape({std::ssize(rare.written), std::ssize(rare.read)}));
    for (const double share : sum(rare.weights, {1}).to_vector<double>()) {
        CHECK_EQ(share, doctest::Approx(1).epsilon(1e-5));
    }
    for (const std::string& text : rare.read) CHECK(text.find("\uFFFD") == std::string::npos);
    model.pieces = 200;
    config.set_model(model);
    check_message<ValueError>([&] { Session refused(config); }, "257");
}

TEST_CASE("translate: text of byte pairs that are no whole characters") {
    const MarkedVocabulary bytes(
        std::make_unique<BytePairTokenizer>(BytePairTokenizer::from_merges({})));
    const auto ids = bytes.encode("é b");  // a space in front
    CHECK(ids.size() == 5);
    CHECK(bytes.decode(ids) == "é b");
    CHECK(bytes.text_of(ids[1]) == "\xEF\xBF\xBD");
    CHECK(bytes.decode({&ids[1], 1}) == "\xEF\xBF\xBD");
    const std::vector<std::int64_t> broken{bytes.begin, ids[1], ids[4], ids[2], bytes.end};
    CHECK(bytes.decode(broken) ==
          "\xEF\xBF\xBD"
          "b\xEF\xBF\xBD");
    CHECK(bytes.name_of(bytes.end) == "[end]");
    CHECK_THROWS_AS(bytes.text_of(bytes.size()), IndexError);
}

TEST_CASE("translate: what is held out is not learned, and what cannot be trained on") {
    const test::RunPlace place;
    TrainingConfig config = learnable(place);
    std::string lines;
    for (int i = 0; i < 90; ++i) lines += fmt::format("{}\t{}\n", i % 30, i);
    test::spill(place.text, lines);
    Session session(config);
    CHECK(session.task().amounts() == "81 pairs to learn from, 9 held out");
    std::set<std::string> learned, held_out;
    const auto sources = [&](const Batch& batch, std::set<std::string>& to) {
        for (std::int64_t row = 0; row < batch.inputs.size(0); ++row) {
            std::string text;
            for (const auto& part : session.task().texts(batch, row)) text += part;
            to.insert(text.substr(0, text.find(" -> ")));
        }
    };
    Generator generator(1);
    for (int i = 0; i < 40; ++i) sources(session.task().next_batch(generator), learned);
    CHECK_EQ(session.task().validation_batches(), 1);
    sources(session.task().validation_batch(0, generator), held_out);
    CHECK_EQ(learned.size(), 27);
    CHECK_EQ(held_out, std::set<std::string>{"9", "19", "29"});

    const auto refuses = [&](const std::string& text, const char* words) {
        test::spill(place.text, text);
        check_message<Error>([&] { Session{config}; }, words);
    };
    refuses("a\tb\na\tc\n", "one source only, so none can be held out");
    refuses("a\tb\nb\t" + std::string(24, 'c') + "\n",
            "t.txt:2: the target has 24 characters; the model takes at most 23 (--max-length 24)");
    refuses("a\tb\n" + std::string(25, 'c') + "\tb\n",
            "t.txt:2: the source has 25 characters; the model takes at most 24");
    config.test_fraction = 0.1;
    refuses("a\tb\nb\tc\n", "--test-fraction is for a text");
    config = place.config();
    config.task = "translate";
    refuses("a\tb\nb\tc\n", "the task is translate, but a GPT is for text");
}

TEST_CASE("translate: a run from a model has its characters") {
    const test::RunPlace place;
    TrainingConfig config = learnable(place);
    config.steps = 2;
    test::train_on(place.out, config, {}, 100, {});
    config.start = place.out.string();
    test::spill(place.text, "1\t2\n3\t4\n5\tx\n");
    check_message<IoError>([&] { Session{config}; }, "t.txt:3: ");
    test::spill(place.text, "1\t2\n3\t4\n5\t6\n");
    Session session(config);
    CHECK_EQ(as_translator(session).vocabulary().size(), 3 + 10);
}
