// Texts as training data: errors, the split, and the contents of batches.
#include <doctest/doctest.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/tests/core/scratch.h>

#include <cmath>
#include <numeric>
#include <set>

using namespace tapestry;
using test::check_message;
using test::Scratch;
using test::spill;

namespace {

TextData counting(std::int64_t n, TextOptions options = {}) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(n));
    std::iota(ids.begin(), ids.end(), 0);
    return TextData(std::move(ids), std::move(options));
}

}  // namespace

TEST_CASE("text: files are read as they are") {
    const Scratch scratch;
    spill(scratch / "plain", "one\ntwo\r\n\xE4\xB8\xAD");
    CHECK_EQ(read_text(scratch / "plain"), "one\ntwo\r\n\xE4\xB8\xAD");
    spill(scratch / "marked", "\xEF\xBB\xBFone\xEF\xBB\xBF");
    CHECK_EQ(read_text(scratch / "marked"), "one\xEF\xBB\xBF");  // only the first is a BOM
}

TEST_CASE("text: files that are not text") {
    const Scratch scratch;
    check_message<IoError>([&] { read_text(scratch / "none"); }, "No such file or directory");
    check_message<IoError>([&] { read_text(scratch / "none"); }, "none'");
    check_message<IoError>([&] { read_text(scratch.path()); }, "it is a directory, not a file");
    spill(scratch / "empty", "");
    check_message<IoError>([&] { read_text(scratch / "empty"); }, "empty': the file is empty");
    spill(scratch / "mark", "\xEF\xBB\xBF");
    check_message<IoError>([&] { read_text(scratch / "mark"); }, "the file is empty");
    spill(scratch / "latin1", "caf\xE9 au lait");
    check_message<IoError>([&] { read_text(scratch / "latin1"); },
                           "latin1': not UTF-8 at byte 3: byte 0xE9 lacks its continuation bytes; "
                           "text must be UTF-8");
    spill(scratch / "utf16", std::string("\xFF\xFEh\0i\0", 6));
    check_message<IoError>([&] { read_text(scratch / "utf16"); },
                           "the text is UTF-16, and must be UTF-8");
    spill(scratch / "after mark", "\xEF\xBB\xBFok\xFF");
    check_message<IoError>([&] { read_text(scratch / "after mark"); }, "not UTF-8 at byte 5");
    spill(scratch / "big", std::string(100, 'x'));
    check_message<IoError>([&] { read_text(scratch / "big", 99); },
                           "100 bytes, more than the 99 allowed");
    CHECK_EQ(read_text(scratch / "big", 100).size(), 100);
}

TEST_CASE("text: the split") {
    const TextData data = counting(1000);
    CHECK_EQ(data.size(Split::train), 900);
    CHECK_EQ(data.size(Split::validation), 100);
    CHECK_EQ(data.ids(Split::validation).read(0, 1).front(), 900);
    CHECK_EQ(data.size(Split::all), 1000);
    CHECK_EQ(counting(1115394).size(Split::train), 1003854);  // as nanoGPT cuts Shakespeare
    CHECK_EQ(counting(10, {.train_fraction = 0.55}).size(Split::train), 5);
    for (const double fraction : {0.0, 1.0, -0.5, 1.5, std::nan(""), HUGE_VAL}) {
        check_message<ValueError>([&] { counting(10, {.train_fraction = fraction}); },
                                  "the training fraction must be between 0 and 1, got ");
    }
}

TEST_CASE("text: a part for testing is cut off the end of what is held out") {
    const TextData data = counting(1000, {.test_fraction = 0.04});
    CHECK_EQ(data.size(Split::train), 900);  // as without it
    CHECK_EQ(data.size(Split::validation), 60);
    CHECK_EQ(data.size(Split::test), 40);
    CHECK_EQ(data.ids(Split::test).read(0, 1).front(), 960);
    CHECK_EQ(counting(1000).size(Split::test), 0);
    Generator generator(1);
    for (int i = 0; i < 100; ++i) {  // no batch of another split contains it
        for (const Split split : {Split::train, Split::validation}) {
            const Batch batch = data.random_batch(split, 4, 20, generator);
            for (const std::int64_t id : batch.targets.to_vector<std::int64_t>()) CHECK_LT(id, 960);
        }
    }
    data.check_context(39);
    check_message<ValueError>([&] { data.check_context(40); },
                              "900 tokens for training and 60 for validation and 40 for testing");
    check_message<ValueError>([&] { counting(300).random_batch(Split::test, 1, 5, generator); },
                              "the test part has 0 tokens");
    for (const double fraction : {-0.01, 0.1, 0.5, std::nan("")}) {
        check_message<ValueError>([&] { counting(10, {.test_fraction = fraction}); },
                                  "leave something for validation");
    }
}

TEST_CASE("text: in epochs, each sequence comes once, in an order that the seed decides") {
    const TextData data = counting(1000);
    const std::int64_t context = 7, sequences = 128;  // (900 - 1) / 7
    Generator generator(5);
    std::vector<std::vector<std::int64_t>> epochs(3);
    for (auto& epoch : epochs) {
        for (int i = 0; i < 32; ++i) {
            const Batch batch = data.batch(BatchOrder::epoch, Split::train, 4, context, generator);
            for (std::int64_t b = 0; b < 4; ++b) {
                epoch.push_back(batch.inputs.at<std::int64_t>({b, 0}));
                CHECK_EQ(batch.targets.at<std::int64_t>({b, -1}), epoch.back() + context);
            }
        }
        CHECK_EQ(std::set<std::int64_t>(epoch.begin(), epoch.end()).size(), sequences);
        for (const std::int64_t start : epoch) CHECK_EQ(start % context, 0);
    }
    CHECK_EQ(generator.offset(), 3 * sequences);  // the whole state
    CHECK(epochs[0] != epochs[1]);
    CHECK(epochs[1] != epochs[2]);
    Generator other(6), again(5);
    again.set_state(5, 130);  // in the middle of the second epoch
    const auto first_of = [&](Generator& g) {
        return data.batch(BatchOrder::epoch, Split::train, 1, context, g)
            .inputs.at<std::int64_t>({0, 0});
    };
    CHECK_EQ(first_of(again), epochs[1][2]);
    std::vector<std::int64_t> others;
    for (int i = 0; i < sequences; ++i) others.push_back(first_of(other));
    CHECK(others != epochs[0]);
    Generator across(5);  // a batch may reach from one epoch into the next
    across.set_state(5, 126);
    const Batch batch = data.batch(BatchOrder::epoch, Split::train, 4, context, across);
    CHECK_EQ(batch.inputs.at<std::int64_t>({1, 0}), epochs[0][127]);
    CHECK_EQ(batch.inputs.at<std::int64_t>({2, 0}), epochs[1][0]);
}

TEST_CASE("text: too short for a context") {
    const TextData data = counting(300, {.name = "tiny.txt"});
    data.check_context(29);
    check_message<ValueError>([&] { data.check_context(30); },
                              "tiny.txt: too short: 270 tokens for training and 30 for validation; "
                              "a context of 30 needs more than 30 in each");
    check_message<ValueError>([&] { data.check_context(INT64_MAX); }, "too short");
    check_message<ValueError>([&] { data.check_context(0); }, "context must be at least 1, got 0");
    check_message<ValueError>([] { counting(0).check_context(1); }, "0 tokens for training");
    Generator generator(1);
    CHECK_EQ(data.random_batch(Split::validation, 2, 29, generator).inputs.shape(), Shape{2, 29});
    CHECK_EQ(data.random_batch(Split::train, 2, 269, generator).inputs.shape(), Shape{2, 269});
    check_message<ValueError>(
        [&] { data.random_batch(Split::validation, 2, 30, generator); },
        "tiny.txt: too short: the validation part has 30 tokens; a context of 30 needs more");
    check_message<ValueError>([&] { data.random_batch(Split::train, 2, 270, generator); },
                              "the training part has 270 tokens");
    check_message<ValueError>([&] { data.random_batch(Split::train, 2, -1, generator); },
                              "context must be at least 1, got -1");
    check_message<ValueError>([&] { data.random_batch(Split::train, 0, 4, generator); },
                              "batch must be at least 1, got 0");
    CHECK_THROWS_AS(data.random_batch(Split::train, INT64_MAX, 4, generator), Error);
}

TEST_CASE("text: targets are the inputs one later") {
    const TextData data = counting(100);
    Generator generator(7);
    std::set<std::int64_t> starts;
    for (int i = 0; i < 300; ++i) {
        for (const Split split : {Split::train, Split::validation, Split::all}) {
            const Batch batch = data.random_batch(split, 3, 8, generator);
            CHECK_EQ(batch.inputs.dtype(), DType::i64);
            const auto x = batch.inputs.to_vector<std::int64_t>();
            const auto y = batch.targets.to_vector<std::int64_t>();
            REQUIRE_EQ(x.size(), 24);
            for (std::size_t k = 0; k < x.size(); ++k) {
                CHECK_EQ(x[k], x[k / 8 * 8] + static_cast<std::int64_t>(k % 8));
                CHECK_EQ(y[k], x[k] + 1);
            }
            const auto part = data.ids(split).read(0, data.size(split));
            CHECK_GE(x.front(), part.front());
            CHECK_LE(y.back(), part.back());
            if (split == Split::validation) starts.insert({x[0], x[8], x[16]});
        }
    }
    CHECK_EQ(starts, std::set<std::int64_t>{90, 91});  // both ends of the valid range, nothing else
}

TEST_CASE("text: the generator decides, and is all that decides") {
    const TextData data = counting(10000);
    Generator a(5), b(5), c(6);
    const auto draw = [&](Generator& generator) {
        return data.random_batch(Split::train, 16, 32, generator).inputs.to_vector<std::int64_t>();
    };
    const auto first = draw(a);
    const std::uint64_t offset = a.offset();
    const auto second = draw(a);
    CHECK(draw(b) == first);
    CHECK(draw(b) == second);
    CHECK(first != second);
    CHECK(draw(c) != first);
    c.set_state(5, offset);  // resuming
    CHECK(draw(c) == second);
}

TEST_CASE("text: batches at chosen places") {
    const TextData data = counting(100);
    const std::vector<std::int64_t> starts{0, 82, 5};
    const Batch batch = data.batch_at(Split::train, starts, 7);
    CHECK_EQ(batch.inputs.shape(), Shape{3, 7});
    CHECK_EQ(batch.inputs.at<std::int64_t>({1, 0}), 82);
    CHECK_EQ(batch.targets.at<std::int64_t>({1, -1}), 89);
    const std::vector<std::int64_t> late{0, 83}, negative{-1}, none;
    check_message<IndexError>([&] { data.batch_at(Split::train, late, 7); },
                              "text: a sequence of 7 from 83 exceeds the training part of 90");
    check_message<IndexError>([&] { data.batch_at(Split::train, negative, 7); }, "from -1 exceeds");
    check_message<ValueError>([&] { data.batch_at(Split::train, none, 7); },
                              "batch must be at least 1, got 0");
}

TEST_CASE("text: from a file to a batch") {
    const Scratch scratch;
    std::string text;
    for (int i = 0; i < 50; ++i) text += "\xE4\xB8\xAD\xE6\x96\x87 and more.\n";
    spill(scratch / "text", text);
    const std::string read = read_text(scratch / "text");
    const auto tokenizer = CharTokenizer::from_text(read);
    const TextData data(tokenizer.encode(read));
    Generator generator(3);
    const Batch batch = data.random_batch(Split::train, 1, 13, generator);
    const auto ids = batch.inputs.to_vector<std::int64_t>();
    CHECK(text.find(tokenizer.decode(ids)) != std::string::npos);
}
