// Seq2Seq: logits and alignments against plain loops over one pair of sequences at a time, the loss
// and its gradients, greedy decoding, errors; and that it learns.
#include <tapestry/nn/models/seq2seq.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/clip.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/plain_recurrent.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_gradients;
using test::check_throws;
using test::plain::seq2seq;

namespace {

using Ids = std::vector<std::int64_t>;

constexpr Alignment kAlignments[] = {Alignment::none, Alignment::bahdanau, Alignment::luong};
constexpr std::int64_t kBegin = 1, kEnd = 2;

// Three sources of 4, 2 and 3 tokens, and their targets of 3, 1 and 2 including the end.
const Tensor kSource = tensor<std::int64_t>({{4, 3, 5, 3}, {5, 4, 0, 0}, {3, 3, 4, 0}});
const Tensor kLengths = tensor<std::int64_t>({4, 2, 3});
const Tensor kIn = tensor<std::int64_t>({{1, 4, 3}, {1, 0, 0}, {1, 3, 0}});
const Tensor kOut = tensor<std::int64_t>({{4, 3, 2}, {2, 0, 0}, {3, 2, 0}});
const Ids kTargetLengths{3, 1, 2};

Seq2SeqConfig tiny(Alignment alignment) {
    return {.source_vocab = 6, .target_vocab = 5, .dim = 2, .hidden = 4, .alignment = alignment};
}

std::unique_ptr<Seq2Seq> made(const Seq2SeqConfig& config, DType dtype = DType::f64) {
    static Generator generator(0);  // dropout draws from it later
    generator.set_state(3, 0);
    auto model = std::make_unique<Seq2Seq>(config, generator);
    model->to(dtype);
    return model;
}

Ids row(const Tensor& ids, std::int64_t b, std::int64_t count) {
    const auto all = ids.to_vector<std::int64_t>();
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(b * ids.size(1));
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

std::vector<Tensor*> members_of(Seq2Seq& model) {
    std::vector<Tensor*> members{&model.source_embedding.weight, &model.target_embedding.weight,
                                 &model.head.weight, &model.head.bias};
    for (Recurrent* network : {model.encoder.get(), model.decoder.get()}) {
        for (RecurrentWeights& w : network->weights) {
            for (Tensor* part : {&w.weight_ih, &w.weight_hh, &w.bias_ih, &w.bias_hh}) {
                members.push_back(part);
            }
        }
    }
    if (model.combine) members.push_back(&model.combine->weight);
    if (model.additive) {
        members.push_back(&model.additive->query.weight);
        members.push_back(&model.additive->key.weight);
        members.push_back(&model.additive->score.weight);
    }
    return members;
}

// -log softmax(logits)[id]
double surprise(const test::plain::Vector& logits, std::int64_t id) {
    double sum = 0;
    for (const double x : logits) sum += std::exp(x);
    return std::log(sum) - logits[static_cast<std::size_t>(id)];
}

}  // namespace

TEST_CASE("Seq2Seq: logits, alignment and loss do not depend on the batch's other pairs") {
    for (const Alignment alignment : kAlignments) {
        for (const RecurrentCell cell :
             {RecurrentCell::rnn, RecurrentCell::gru, RecurrentCell::lstm}) {
            for (int variant = 0; variant < 4; ++variant) {
                CAPTURE(static_cast<int>(alignment));
                CAPTURE(variant);
                Seq2SeqConfig config = tiny(alignment);
                config.cell = cell;
                config.layers = (variant & 1) + 1;
                config.bidirectional = (variant & 2) != 0;
                const auto model = made(config);
                const bool attends = alignment != Alignment::none;
                Tensor weights;
                const Tensor logits =
                    (*model)(kSource, kLengths, kIn, attends ? &weights : nullptr);
                REQUIRE_EQ(logits.shape(), Shape{3, 3, 5});
                double loss = 0;
                for (std::int64_t b = 0; b < 3; ++b) {
                    const std::int64_t length = kTargetLengths[static_cast<std::size_t>(b)];
                    const std::int64_t read = kLengths.at<std::int64_t>({b});
                    const auto wanted = seq2seq(*model, row(kSource, b, read), row(kIn, b, length));
                    for (std::int64_t t = 0; t < length; ++t) {
                        const auto& one = wanted.logits[static_cast<std::size_t>(t)];
                        loss += surprise(one, kOut.at<std::int64_t>({b, t}));
                        for (std::int64_t v = 0; v < 5; ++v) {
                            CHECK(logits.at({b, t, v}) ==
                                  Approx(one[static_cast<std::size_t>(v)]).epsilon(1e-12));
                        }
                        for (std::int64_t s = 0; attends && s < 4; ++s) {
                            const auto& w = wanted.alignment[static_cast<std::size_t>(t)];
                            const double there = s < read ? w[static_cast<std::size_t>(s)] : 0;
                            CHECK(weights.at({b, t, s}) == Approx(there).epsilon(1e-12));
                        }
                    }
                }
                CHECK(model->loss(kSource, kLengths, kIn, kOut).item() ==
                      Approx(loss / 6).epsilon(1e-12));
                // Without recording the alignment the bits are the same.
                CHECK_EQ((*model)(kSource, kLengths, kIn).to_vector<double>(),
                         logits.to_vector<double>());
            }
        }
    }
}

TEST_CASE("Seq2Seq: without lengths, every source has all its tokens") {
    const auto model = made(tiny(Alignment::bahdanau));
    const Tensor full = tensor<std::int64_t>({4, 4, 4});
    CHECK_EQ((*model)(kSource, {}, kIn).to_vector<double>(),
             (*model)(kSource, full, kIn).to_vector<double>());
}

TEST_CASE("Seq2Seq: padding has another number if so configured, and no influence") {
    Seq2SeqConfig config = tiny(Alignment::luong);
    config.padding_id = 4;
    const auto model = made(config);
    const Tensor source = tensor<std::int64_t>({{3, 5, 3}, {5, 0, 4}});
    const Tensor other = tensor<std::int64_t>({{3, 5, 3}, {5, 0, 1}});
    const Tensor lengths = tensor<std::int64_t>({3, 2});
    const Tensor in = tensor<std::int64_t>({{1, 0, 3}, {1, 3, 4}});
    const Tensor out = tensor<std::int64_t>({{0, 3, 2}, {3, 2, 4}});
    const double loss = model->loss(source, lengths, in, out).item();
    CHECK_EQ(model->loss(other, lengths, in, out).item(), loss);
    CHECK_EQ(model->loss(source, lengths, tensor<std::int64_t>({{1, 0, 3}, {1, 3, 2}}), out).item(),
             loss);
    // 0 is an ordinary token here and counts.
    CHECK(model->loss(source, lengths, in, tensor<std::int64_t>({{3, 3, 2}, {3, 2, 4}})).item() !=
          loss);
}

TEST_CASE("Seq2Seq: gradients through the whole model") {
    for (const Alignment alignment : kAlignments) {
        for (const RecurrentCell cell : {RecurrentCell::gru, RecurrentCell::lstm}) {
            CAPTURE(static_cast<int>(alignment));
            Seq2SeqConfig config = tiny(alignment);
            config.cell = cell;
            config.hidden = 2;
            const auto model = made(config);
            check_gradients(
                *model, members_of(*model),
                [&](const Tensors&) { return model->loss(kSource, kLengths, kIn, kOut); }, {},
                false);
        }
    }
}

namespace {

// Checks each row that `model` generates against teacher forcing with that row. Returns the number
// of padding positions.
int check_greedy(const Seq2Seq& model) {
    const bool attends = model.config().alignment != Alignment::none;
    Tensor weights;
    const Tensor written =
        model.greedy(kSource, kLengths, kBegin, kEnd, 12, attends ? &weights : nullptr);
    const std::int64_t steps = written.size(1);
    REQUIRE_EQ(written.size(0), 3);
    REQUIRE(steps <= 12);
    if (attends) REQUIRE_EQ(weights.shape(), Shape{3, steps, 4});
    std::int64_t longest = 0;
    int padded = 0;
    for (std::int64_t b = 0; b < 3; ++b) {
        Ids in = row(written, b, steps);
        in.insert(in.begin(), kBegin);
        in.pop_back();
        const auto said = seq2seq(model, row(kSource, b, kLengths.at<std::int64_t>({b})), in);
        bool ended = false;
        for (std::int64_t t = 0; t < steps; ++t) {
            const auto id = written.at<std::int64_t>({b, t});
            if (ended) {
                CHECK_EQ(id, 0);
                ++padded;
                continue;
            }
            const auto& logits = said.logits[static_cast<std::size_t>(t)];
            CHECK_EQ(id, std::max_element(logits.begin(), logits.end()) - logits.begin());
            ended = id == kEnd;
            longest = std::max(longest, t + 1);
            auto looked = said.alignment[static_cast<std::size_t>(t)];
            looked.resize(4, 0);
            for (std::int64_t s = 0; attends && s < 4; ++s) {
                const double there = looked[static_cast<std::size_t>(s)];
                CHECK(weights.at({b, t, s}) == Approx(there).epsilon(1e-12));
            }
        }
    }
    CHECK_EQ(steps, longest);  // no column with only padding
    CHECK_EQ(model.greedy(kSource, kLengths, kBegin, kEnd, 12).to_vector<std::int64_t>(),
             written.to_vector<std::int64_t>());
    return padded;
}

}  // namespace

TEST_CASE("Seq2Seq: greedy writes what teacher forcing would say, and stops") {
    for (const Alignment alignment : kAlignments) {
        CAPTURE(static_cast<int>(alignment));
        Seq2SeqConfig config = tiny(alignment);
        config.layers = 2;
        const auto model = made(config);
        int padded = 0;
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            // Large weights, so outputs depend on the source.
            std::uint64_t next = 100 * seed;
            for (Tensor& parameter : model->parameters()) {
                parameter.copy_(test::random(parameter.shape(), next++));
            }
            padded += check_greedy(*model);
        }
        CHECK(padded > 0);  // otherwise positions after an end were not tested

        model->head.bias.copy_(tensor<double>({-99, -99, 99, -99, -99}));
        CHECK_EQ(model->greedy(kSource, kLengths, kBegin, kEnd, 12).to_vector<std::int64_t>(),
                 Ids{2, 2, 2});
        model->head.bias.copy_(tensor<double>({-99, -99, -99, 99, -99}));
        CHECK_EQ(model->greedy(kSource, kLengths, kBegin, kEnd, 2).to_vector<std::int64_t>(),
                 Ids(6, 3));
    }
}

TEST_CASE("Seq2Seq: greedy records nothing on a tape") {
    const auto model = made(tiny(Alignment::luong));
    const Tape tape;
    model->greedy(kSource, kLengths, kBegin, kEnd, 3);
    CHECK(tape.entries().empty());
}

TEST_CASE("Seq2Seq: dropout acts only in training") {
    Seq2SeqConfig config = tiny(Alignment::bahdanau);
    config.dropout = 0.4;
    const auto model = made(config);
    const auto loss = [&] { return model->loss(kSource, kLengths, kIn, kOut).item(); };
    CHECK(loss() != loss());
    model->eval();
    CHECK_EQ(loss(), loss());
    config.dropout = 0;
    CHECK_EQ(loss(), made(config)->loss(kSource, kLengths, kIn, kOut).item());
}

TEST_CASE("Seq2Seq: learns to turn around what it reads, with each alignment and cell") {
    const ThreadsGuard one(1);  // too small for several threads
    for (const Alignment alignment : kAlignments) {
        CAPTURE(static_cast<int>(alignment));
        Generator generator(1);
        Seq2Seq model(
            {.source_vocab = 6,
             .target_vocab = 6,
             .dim = 8,
             .hidden = 24,
             .cell = alignment == Alignment::luong ? RecurrentCell::gru : RecurrentCell::lstm,
             .alignment = alignment},
            generator);
        // All 27 words of three letters 3, 4, 5.
        Ids source, in, out;
        for (std::int64_t i = 0; i < 27; ++i) {
            const Ids word{3 + i / 9, 3 + i / 3 % 3, 3 + i % 3};
            source.insert(source.end(), word.begin(), word.end());
            in.insert(in.end(), {kBegin, word[2], word[1], word[0]});
            out.insert(out.end(), {word[2], word[1], word[0], kEnd});
        }
        const Tensor words = tensor(source, {27, 3});
        AdamW optimizer(decay_groups(model, 0), {.lr = 0.02});
        for (int step = 0; step < 120; ++step) {
            optimizer.zero_grad();
            Tape tape;
            tape.backward(model.loss(words, {}, tensor(in, {27, 4}), tensor(out, {27, 4})));
            clip_grad_norm(model.parameters(), 1);
            optimizer.step();
        }
        CHECK_EQ(model.greedy(words, {}, kBegin, kEnd, 4).to_vector<std::int64_t>(), out);
    }
}

TEST_CASE("Seq2Seq: the same bits for any number of threads") {
    const auto bits = [](int threads) {
        const ThreadsGuard with(threads);
        Generator generator(1);
        Seq2Seq model({.source_vocab = 20,
                       .target_vocab = 20,
                       .dim = 32,
                       .hidden = 48,
                       .alignment = Alignment::bahdanau,
                       .dropout = 0.1},
                      generator);
        const Tensor source = randint(3, 20, {24, 9}, generator);
        const Tensor target = randint(3, 20, {24, 7}, generator);
        Tape tape;
        tape.backward(model.loss(source, {}, target, target));
        std::vector<float> all;
        for (const Tensor& parameter : model.parameters()) {
            const auto grad = parameter.grad().to_vector<float>();
            all.insert(all.end(), grad.begin(), grad.end());
        }
        return all;
    };
    const auto one = bits(1);
    CHECK(one == bits(2));
    CHECK(one == bits(3));
}

TEST_CASE("Seq2Seq: configurations that are refused") {
    const auto with = [](const Seq2SeqConfig& config) { return [config] { Seq2Seq{config}; }; };
    Seq2SeqConfig config = tiny(Alignment::none);
    config.target_vocab = 0;
    check_throws<ValueError>(with(config), "Seq2Seq: target_vocab must be positive, got 0");
    config = tiny(Alignment::none);
    config.layers = -1;
    check_throws<ValueError>(with(config), "Seq2Seq: layers must be positive, got -1");
    config = tiny(Alignment::none);
    config.hidden = 5;
    check_throws<ValueError>(with(config),
                             "Seq2Seq: hidden 5 is odd; a bidirectional encoder has half of it in "
                             "each direction");
    config.bidirectional = false;
    CHECK_NOTHROW(with(config)());
    config.padding_id = 5;  // a source token, but no target token
    check_throws<ValueError>(with(config),
                             "Seq2Seq: padding_id 5 is not a token of both vocabularies, 6 and 5");
    config = tiny(Alignment::none);
    config.dropout = -0.5;
    CHECK_THROWS_AS(with(config)(), ValueError);
    CHECK_EQ(made(tiny(Alignment::bahdanau))->settings(), "Bahdanau's attention");
}

TEST_CASE("Seq2Seq: inputs that are refused") {
    const auto model = made(tiny(Alignment::luong));
    const auto lost = [&](const Tensor& source, const Tensor& lengths, const Tensor& in,
                          const Tensor& out) {
        return [&model, source, lengths, in, out] { model->loss(source, lengths, in, out); };
    };
    check_throws<IndexError>(
        lost(tensor<std::int64_t>({{4, 3, 5, 3}, {5, 6, 0, 0}, {3, 3, 4, 0}}), kLengths, kIn, kOut),
        "Seq2Seq: source[1, 1] is 6, outside the vocabulary of 6");
    check_throws<IndexError>(
        lost(kSource, kLengths, tensor<std::int64_t>({{1, 4, 3}, {1, 0, 0}, {1, 3, -1}}), kOut),
        "Seq2Seq: target_in[2, 2] is -1, outside the vocabulary of 5");
    check_throws<IndexError>(
        lost(kSource, kLengths, kIn, tensor<std::int64_t>({{4, 3, 5}, {2, 0, 0}, {3, 2, 0}})),
        "Seq2Seq: target_out[0, 2] is 5, outside the vocabulary of 5");
    check_throws<ValueError>(lost(kSource, tensor<std::int64_t>({4, 5, 3}), kIn, kOut),
                             "Seq2Seq: lengths[1] must be from 1 to 4, got 5");
    check_throws<ValueError>(lost(kSource, tensor<std::int64_t>({4, 2, 0}), kIn, kOut),
                             "Seq2Seq: lengths[2] must be from 1 to 4, got 0");
    CHECK_THROWS_AS(lost(kSource, tensor<std::int64_t>({4, 2}), kIn, kOut)(), ShapeError);
    check_throws<ShapeError>(lost(kSource, kLengths, kIn, slice(kOut, 1, 0, 2)),
                             "Seq2Seq: target_in is [3, 3], target_out [3, 2]");
    check_throws<ShapeError>(lost(kSource, kLengths, slice(kIn, 0, 0, 2), slice(kOut, 0, 0, 2)),
                             "Seq2Seq: 2 targets for 3 sources");
    check_throws<ValueError>(lost(kSource, kLengths, kIn, zeros({3, 3}, DType::i64)),
                             "Seq2Seq: target_out is padding (0) everywhere: there is nothing to "
                             "learn");
    const Tensor none({0, 4}, DType::i64), empty({3, 0}, DType::i64);
    CHECK_THROWS_AS(lost(none, {}, kIn, kOut)(), ShapeError);
    CHECK_THROWS_AS(lost(empty, {}, kIn, kOut)(), ShapeError);
    CHECK_THROWS_AS(lost(kSource, kLengths, empty, empty)(), ShapeError);
    CHECK_THROWS_AS(lost(kSource, kLengths, none, none)(), ShapeError);
    CHECK_THROWS_AS(lost(ones({3, 4}), {}, kIn, kOut)(), DTypeError);
    CHECK_THROWS_AS(lost(kSource, kLengths, kIn, ones({3, 3}))(), DTypeError);
    CHECK_THROWS_AS(lost(Tensor(), {}, kIn, kOut)(), Error);
    CHECK_THROWS_AS(lost(kSource, {}, Tensor(), kOut)(), Error);
    CHECK_THROWS_AS(lost(kSource, {}, kIn, Tensor())(), Error);

    check_throws<IndexError>([&] { model->greedy(kSource, kLengths, 5, kEnd, 3); },
                             "Seq2Seq: begin_id 5 is outside the vocabulary of 5");
    check_throws<IndexError>([&] { model->greedy(kSource, kLengths, kBegin, -1, 3); },
                             "Seq2Seq: end_id -1 is outside the vocabulary of 5");
    check_throws<ValueError>([&] { model->greedy(kSource, kLengths, kBegin, kEnd, 0); },
                             "Seq2Seq: max_length must be positive, got 0");
    CHECK_THROWS_AS(model->greedy(none, {}, kBegin, kEnd, 3), ShapeError);
    Tensor weights;
    check_throws<ValueError>(
        [&] { made(tiny(Alignment::none))->greedy(kSource, kLengths, kBegin, kEnd, 3, &weights); },
        "Seq2Seq: a model without attention has no alignment");
}
