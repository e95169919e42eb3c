// The whole model: values, causality, gradients of every parameter, determinism, learning.
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/optimizer_registry.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/module_gradients.h>

#include <cmath>

using namespace tapestry;
using doctest::Approx;
using test::check_throws;

namespace {

const GPTConfig kTiny{.vocab = 11, .context = 6, .layers = 2, .heads = 2, .dim = 8};

Tensor random_ids(const Shape& shape, std::int64_t vocab, std::uint64_t seed = 1) {
    Generator generator(seed);
    return randint(0, vocab, shape, generator);
}

double deviation(const Tensor& x) {
    double squares = 0;
    for (const double value : x.to_vector<double>()) squares += value * value;
    return std::sqrt(squares / static_cast<double>(x.numel()));
}

}  // namespace

TEST_CASE("GPT: logits are those of the plain loops") {
    for (const bool tied : {true, false}) {
        GPTConfig config = kTiny;
        config.tied_head = tied;
        config.bias = tied;
        Generator generator(1);
        GPT model(config, generator);
        model.to(DType::f64);
        for (Tensor& parameter : model.parameters()) {  // larger than at initialization
            parameter.copy_(test::random(parameter.shape(), 7));
        }
        for (const std::int64_t length : {1, 4, 6}) {
            const Tensor ids = random_ids({3, length}, config.vocab);
            const Tensor logits = model(ids);
            CHECK(test::difference(logits, test::plain::gpt(ids, model)) < 1e-12);
            const Tensor targets = random_ids({3, length}, config.vocab, 2);
            const auto loss = reference::cross_entropy(test::plain::gpt(ids, model),
                                                       test::plain::numbers(targets), -100, 0,
                                                       reference::Reduction::mean);
            CHECK_EQ(model.loss(ids, targets).item(), Approx(loss[0]).epsilon(1e-12));
        }
    }
}

TEST_CASE("GPT: a token does not change the logits before it") {
    Generator generator(1);
    const GPT model(kTiny, generator);
    const std::vector<std::int64_t> ids{3, 1, 4, 1, 5, 9};
    const auto logits = model(tensor(ids, {1, 6})).to_vector<float>();
    for (std::size_t t = 0; t < 6; ++t) {
        auto changed = ids;
        changed[t] = 10;
        const auto others = model(tensor(changed, {1, 6})).to_vector<float>();
        const auto end = static_cast<std::ptrdiff_t>(11 * t);
        CHECK(std::equal(logits.begin(), logits.begin() + end, others.begin()));
        for (std::size_t later = t; later < 6; ++later) {
            CHECK(!std::equal(logits.begin() + static_cast<std::ptrdiff_t>(11 * later),
                              logits.begin() + static_cast<std::ptrdiff_t>(11 * (later + 1)),
                              others.begin() + static_cast<std::ptrdiff_t>(11 * later)));
        }
    }
}

TEST_CASE("GPT: the number of parameters") {
    for (const bool tied : {true, false}) {
        for (const bool bias : {true, false}) {
            const std::int64_t v = 13, t = 7, l = 3, c = 12;
            const GPT model({.vocab = v,
                             .context = t,
                             .layers = l,
                             .heads = 3,
                             .dim = c,
                             .bias = bias,
                             .tied_head = tied});
            const std::int64_t block = 12 * c * c + (bias ? 13 * c : 2 * c);
            CHECK_EQ(model.parameter_count(),
                     v * c + t * c + l * block + (bias ? 2 * c : c) + (tied ? 0 : v * c));
        }
    }
}

TEST_CASE("GPT: names, and how it starts") {
    Generator generator(1);
    const GPT model({.vocab = 200, .context = 100, .layers = 8, .heads = 4, .dim = 64}, generator);
    const double residual = 0.02 / 4;  // sqrt(2 * 8)
    std::size_t count = 0;
    for (const auto& entry : model.named_parameters()) {
        const std::string& name = entry.first;
        const Tensor& parameter = entry.second;
        CAPTURE(name);
        ++count;
        const bool writes =
            name.ends_with("attention.output.weight") || name.ends_with("feed_forward.down.weight");
        if (name.ends_with(".bias")) {
            CHECK_EQ(deviation(parameter), 0);
        } else if (parameter.rank() == 1) {
            CHECK_EQ(parameter.to_vector<double>(), std::vector<double>(64, 1));
        } else {
            CHECK_EQ(deviation(parameter), Approx(writes ? residual : 0.02).epsilon(0.05));
        }
    }
    CHECK_EQ(count, 2 + 8 * 12 + 2);
    CHECK_EQ(model.named_parameters()[0].first, "token_embedding.weight");
    CHECK_EQ(model.named_parameters()[4].first, "blocks.0.attention.qkv.weight");
    CHECK_EQ(model.head.weight.leaf(), model.token_embedding.weight.leaf());
    CHECK_EQ(model.settings(), "context 100, 8 layers, tied head");
    const Tensor loss = model.loss(random_ids({4, 100}, 200), random_ids({4, 100}, 200, 2));
    CHECK_EQ(loss.item(), Approx(std::log(200.0)).epsilon(0.02));
    Generator same(1);
    CHECK(test::numbers_of<float>(GPT(kTiny, generator)) !=
          test::numbers_of<float>(GPT(kTiny, same)));
}

TEST_CASE("GPT: blocks that begin as if they were not there, and logits that are bent") {
    GPTConfig config = kTiny;
    config.zero_outputs = true;
    config.positions = Positions::none;
    Generator generator(1);
    const GPT empty(config, generator);
    const Tensor ids = random_ids({2, 5}, config.vocab);
    CHECK_EQ(empty(ids).to_vector<float>(),
             empty.head(empty.final_norm(empty.token_embedding(ids))).to_vector<float>());
    config = kTiny;
    Generator again(1), once_more(1);
    GPT straight(config, again);
    config.softcap = 0.25;
    GPT bent(config, once_more);
    for (GPT* model : {&straight, &bent}) {
        model->to(DType::f64);
        test::move_parameters(*model, 0.5, 3);
    }
    const auto logits = straight(ids).to_vector<double>(), less = bent(ids).to_vector<double>();
    for (std::size_t i = 0; i < logits.size(); ++i) {
        CHECK_EQ(less[i], Approx(0.25 * std::tanh(logits[i] / 0.25)).epsilon(1e-12));
    }
    config.softcap = -1;
    check_throws<ValueError>([&] { GPT model(config); },
                             "GPT: softcap must be finite and >= 0, got -1");
}

TEST_CASE("GPT: what it refuses") {
    const auto with = [](auto change) {
        return [change] {
            GPTConfig config = kTiny;
            change(config);
            GPT model(config);
        };
    };
    check_throws<ValueError>(with([](GPTConfig& c) { c.vocab = 0; }),
                             "GPT: vocab must be positive, got 0");
    check_throws<ValueError>(with([](GPTConfig& c) { c.layers = -1; }),
                             "GPT: layers must be positive, got -1");
    check_throws<ValueError>(with([](GPTConfig& c) { c.heads = 3; }),
                             "GPT: 3 heads do not divide dim 8 (remainder 2)");
    CHECK_THROWS_AS(with([](GPTConfig& c) { c.dropout = 1.5; })(), ValueError);
    CHECK_THROWS_AS(with([](GPTConfig& c) { c.context = 0; })(), ValueError);
    CHECK_THROWS_AS(with([](GPTConfig& c) { c.dim = std::int64_t{1} << 62; })(), Error);
    const GPT model(kTiny);
    check_throws<ShapeError>(
        [&] {
            model(random_ids({1, 7}, 11));
        },
        "GPT: 7 tokens are more than the context of 6");
    check_throws<ShapeError>([&] { model(random_ids({6}, 11)); }, "GPT: needs ids [B, T], got [6]");
    check_throws<ShapeError>(
        [&] {
            model(zeros({0, 3}, DType::i64));
        },
        "GPT: ids [0, 3] are an empty batch");
    check_throws<ShapeError>(
        [&] {
            model(zeros({2, 0}, DType::i64));
        },
        "GPT: ids [2, 0] are empty sequences");
    check_throws<DTypeError>([&] { model(ones({1, 2})); }, "GPT: needs ids of type i64, got f32");
    check_throws<ValueError>(with([](GPTConfig& c) { c.deviation = -1; }),
                             "GPT: deviation must be finite and >= 0, got -1");
    CHECK_THROWS_AS(model(Tensor()), Error);
    CHECK_THROWS_AS(model(ones({1, 3})), DTypeError);
    CHECK_THROWS_AS(model(full({1, 3}, 11, DType::i64)), IndexError);
    CHECK_THROWS_AS(model.loss(random_ids({1, 3}, 11), random_ids({1, 4}, 11)), ShapeError);
}

TEST_CASE("GPT: the gradient of the loss, for every parameter") {
    for (const bool tied : {true, false}) {
        Generator generator(1);
        GPT model({.vocab = 7, .context = 5, .layers = 2, .heads = 2, .dim = 4, .tied_head = tied},
                  generator);
        model.to(DType::f64);
        for (Tensor& parameter : model.parameters()) {
            Tensor start = test::random(parameter.shape(), 5);
            parameter.copy_(start);
        }
        const Tensor ids = random_ids({2, 5}, 7);
        const Tensor targets = random_ids({2, 5}, 7, 2);
        test::check_module_gradients(model, [&] { return model.loss(ids, targets); });
    }
}

TEST_CASE("GPT: dropout acts only in training") {
    GPTConfig config = kTiny;
    config.dropout = 0.3;
    Generator generator(1);
    GPT model(config, generator);
    const Tensor ids = random_ids({2, 6}, 11);
    CHECK(model(ids).to_vector<float>() != model(ids).to_vector<float>());
    model.eval();
    CHECK_EQ(model(ids).to_vector<float>(), model(ids).to_vector<float>());
    CHECK(test::difference(model(ids), test::plain::gpt(ids, model)) < 1e-5);
}

TEST_CASE("GPT: three training steps give the same bits for any number of threads") {
    const auto trained = [](int threads) {
        const ThreadsGuard with(threads);
        Generator generator(3);
        GPT model({.vocab = 70, .context = 48, .layers = 2, .heads = 4, .dim = 64, .dropout = 0.1},
                  generator);
        AdamW optimizer(decay_groups(model, 0.1), {.lr = 1e-2});
        for (std::uint64_t step = 0; step < 3; ++step) {
            optimizer.zero_grad();
            Tape tape;
            tape.backward(model.loss(random_ids({8, 48}, 70, step), random_ids({8, 48}, 70, 9)));
            optimizer.step();
        }
        return test::numbers_of<float>(model);
    };
    const auto one = trained(1);
    CHECK(one == trained(1));
    CHECK(one == trained(2));
    CHECK(one == trained(3));
}

TEST_CASE("GPT: learns four sequences by heart") {
    const ThreadsGuard one(1);  // too small for several threads
    Generator generator(1);
    GPT model({.vocab = 12, .context = 8, .layers = 2, .heads = 2, .dim = 32}, generator);
    AdamW optimizer(decay_groups(model, 0), {.lr = 1e-2});
    const Tensor text = random_ids({4, 9}, 12);
    const Tensor ids = slice(text, 1, 0, 8), targets = slice(text, 1, 1, 9);
    for (int step = 0; step < 100; ++step) {
        optimizer.zero_grad();
        Tape tape;
        tape.backward(model.loss(ids, targets));
        optimizer.step();
    }
    CHECK(model.loss(ids, targets).item() < 0.5);  // two sequences may begin with the same token
}

namespace {

// Bytes at the peak of two steps.
double measured_training_bytes(const GPTConfig& config, std::int64_t batch,
                               const char* name = "adamw") {
    Generator generator(1);
    reset_peak_memory();
    const auto before = static_cast<double>(memory_statistics().current);
    GPT model(config, generator);
    const auto optimizer = make_optimizer(model, name);
    for (int step = 0; step < 2; ++step) {
        optimizer->zero_grad();
        Tape tape;
        tape.backward(model.loss(random_ids({batch, 64}, 65), random_ids({batch, 64}, 65, 2)));
        optimizer->step();
    }
    return static_cast<double>(memory_statistics().peak) - before;
}

}  // namespace

TEST_CASE("GPT: the estimate of what training takes") {
    const GPTConfig usual{.vocab = 65, .context = 64, .layers = 4, .heads = 4, .dim = 128};
    GPTConfig turning = usual, shared = usual, biased = usual, narrow = usual;
    turning.positions = Positions::rotary;
    shared.kv_heads = 1;
    shared.qk_norm = QKNorm::rms;
    biased.positions = Positions::relative;
    narrow.weights = ComputeType::bf16;
    for (const GPTConfig& config : {usual, turning, shared, biased, narrow}) {
        INFO(name_of_value(config.positions), ", ", config.kv_heads, name_of_value(config.weights));
        CHECK(training_bytes(config, 12) ==
              Approx(measured_training_bytes(config, 12)).epsilon(0.25));
    }
    // Two optimisers differ by their moments, in any batch.
    constexpr std::int64_t kSmall = 1;
    const GPTConfig large{.vocab = 65, .context = 64, .layers = 2, .heads = 4, .dim = 512};
    const double of_adamw = measured_training_bytes(large, kSmall);
    for (const OptimizerRow& row : optimizer_rows()) {
        if (!row.elementwise) continue;  // the products of others need room, too
        INFO(row.name);
        const std::int64_t moments = std::ssize(row.moments(row.defaults));
        const double less =
            training_bytes(large, kSmall) - training_bytes(large, kSmall, 1, moments);
        CHECK(of_adamw - less ==
              Approx(measured_training_bytes(large, kSmall, row.name)).epsilon(0.01));
    }
    // Layers without numbers to speak of are modules and entries of a tape all the same.
    CHECK_GT(
        training_bytes({.vocab = 50, .context = 4, .layers = 1000000, .heads = 1, .dim = 2}, 1),
        40e9);
}
