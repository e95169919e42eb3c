// RNN, GRU, LSTM and their forms of attention: values against plain loops, padded sequences against
// each by itself, gradients against differences, errors.
#include <tapestry/nn/attention/masks.h>
#include <tapestry/nn/recurrent/attention.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>
#include <tapestry/tests/nn/plain_recurrent.h>
#include <tapestry/tests/nn/support.h>

#include <cmath>
#include <limits>

using namespace tapestry;
using doctest::Approx;
using test::check_gradients;
using test::check_throws;
using test::difference;
using test::random;
using test::plain::Cell;
using test::plain::Numbers;
using test::plain::numbers;

namespace {

constexpr double kExact = 1e-13;  // f64: the same sums in another order
constexpr Cell kCells[] = {Cell::rnn_tanh, Cell::rnn_relu, Cell::gru, Cell::lstm};

std::unique_ptr<Recurrent> made(Cell cell, const RecurrentConfig& config, std::uint64_t seed = 1) {
    static Generator generator(0);  // dropout draws from it later
    generator.set_state(seed, 0);
    switch (cell) {
        case Cell::rnn_relu: return std::make_unique<RNN>(config, RNNActivation::relu, generator);
        case Cell::gru: return make_recurrent(RecurrentCell::gru, config, generator);
        case Cell::lstm: return make_recurrent(RecurrentCell::lstm, config, generator);
        default: return make_recurrent(RecurrentCell::rnn, config, generator);
    }
}

std::unique_ptr<Recurrent> made_f64(Cell cell, const RecurrentConfig& config) {
    auto module = made(cell, config);
    module->to(DType::f64);
    return module;
}

RecurrentState random_state(const Recurrent& module, std::int64_t batch, std::uint64_t seed = 70) {
    const Shape shape{static_cast<std::int64_t>(module.weights.size()), batch,
                      module.config().hidden};
    return {.h = random(shape, seed), .c = module.has_cell() ? random(shape, seed + 1) : Tensor()};
}

// All three outputs as one row.
Tensor everything(const RecurrentOutput& y) {
    Tensors parts{flatten(y.output), flatten(y.state.h)};
    if (y.state.c.defined()) parts.push_back(flatten(y.state.c));
    return concat(parts, 0);
}

std::vector<Tensor*> members_of(Recurrent& module) {
    std::vector<Tensor*> members;
    for (RecurrentWeights& w : module.weights) {
        for (Tensor* part : {&w.weight_ih, &w.weight_hh, &w.bias_ih, &w.bias_hh}) {
            if (part->defined()) members.push_back(part);
        }
    }
    return members;
}

// Compares with plain loops, sequence by sequence.
void check_values(Cell cell, const Recurrent& module, const Tensor& x, const RecurrentInputs& in) {
    const std::int64_t batch = x.size(0), steps = x.size(1), hidden = module.config().hidden;
    const auto count = static_cast<std::int64_t>(module.weights.size());
    const std::int64_t width = module.directions() * hidden;
    Numbers output({batch, steps, width}), h({count, batch, hidden}), c({count, batch, hidden});
    for (std::int64_t b = 0; b < batch; ++b) {
        const std::int64_t length = in.lengths.defined() ? in.lengths.at<std::int64_t>({b}) : steps;
        auto states = test::plain::zero_states(module);
        for (std::int64_t i = 0; i < count; ++i) {
            auto& state = states[static_cast<std::size_t>(i)];
            if (in.state.h.defined()) {
                state.h = test::plain::rows(in.state.h, i * batch + b, 1)[0];
            }
            if (in.state.c.defined()) {
                state.c = test::plain::rows(in.state.c, i * batch + b, 1)[0];
            }
        }
        const auto ys = recurrent(cell, module, test::plain::rows(x, b * steps, length), states);
        for (std::int64_t i = 0; i < length * width; ++i) {
            output[b * steps * width + i] =
                ys[static_cast<std::size_t>(i / width)][static_cast<std::size_t>(i % width)];
        }
        for (std::int64_t i = 0; i < count * hidden; ++i) {
            const auto& state = states[static_cast<std::size_t>(i / hidden)];
            const std::int64_t to = (i / hidden * batch + b) * hidden + i % hidden;
            h[to] = state.h[static_cast<std::size_t>(i % hidden)];
            c[to] = state.c[static_cast<std::size_t>(i % hidden)];
        }
    }
    const RecurrentOutput y = module(x, in);
    CHECK(difference(y.output, output) < kExact);
    CHECK(difference(y.state.h, h) < kExact);
    CHECK_EQ(y.state.c.defined(), cell == Cell::lstm);
    if (y.state.c.defined()) CHECK(difference(y.state.c, c) < kExact);
}

}  // namespace

TEST_CASE("recurrent: values of every cell, layers, directions, lengths, states") {
    const Tensor x = random({3, 5, 2});
    for (const Cell cell : kCells) {
        for (int variant = 0; variant < 32; ++variant) {
            CAPTURE(static_cast<int>(cell));
            CAPTURE(variant);
            const auto module = made_f64(cell, {.input = 2,
                                                .hidden = 3,
                                                .layers = (variant & 1) + 1,
                                                .bidirectional = (variant & 2) != 0,
                                                .bias = (variant & 4) == 0});
            RecurrentInputs inputs;
            if ((variant & 8) != 0) inputs.state = random_state(*module, 3);
            if ((variant & 16) != 0) inputs.lengths = tensor<std::int64_t>({5, 1, 3});
            check_values(cell, *module, x, inputs);
        }
    }
}

TEST_CASE("recurrent: sequences that all end early, and one step alone") {
    for (const Cell cell : kCells) {
        const auto module =
            made_f64(cell, {.input = 2, .hidden = 3, .layers = 2, .bidirectional = true});
        check_values(cell, *module, random({2, 6, 2}), {.lengths = tensor<std::int64_t>({2, 4})});
        check_values(cell, *module, random({2, 6, 2}), {.lengths = tensor<std::int64_t>({6, 6})});
        check_values(cell, *module, random({1, 1, 2}), {.lengths = tensor<std::int64_t>({1})});
        check_values(cell, *module, random({1, 1, 2}), {});
    }
}

TEST_CASE("recurrent: what stands past the end of a sequence is not looked at") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor lengths = tensor<std::int64_t>({4, 2});
    for (const Cell cell : kCells) {
        const auto module =
            made_f64(cell, {.input = 2, .hidden = 3, .layers = 2, .bidirectional = true});
        const auto gradients = [&](double padding) {
            Tensor x = random({2, 4, 2});
            views::slice(views::slice(x, 0, 1, 2), 1, 2, 4).fill_(padding);
            x.set_requires_grad();
            module->zero_grad();
            Tape tape;
            tape.backward(sum(everything((*module)(x, {.lengths = lengths}))));
            auto all = x.grad().to_vector<double>();
            for (const Tensor& parameter : module->parameters()) {
                const auto grad = parameter.grad().to_vector<double>();
                all.insert(all.end(), grad.begin(), grad.end());
            }
            return all;
        };
        const auto clean = gradients(0);
        CHECK_EQ(gradients(7), clean);
        CHECK_EQ(gradients(nan), clean);
        // x.grad [2, 4, 2]: index 11 is the last real value of sequence 1.
        CHECK(std::all_of(clean.begin() + 12, clean.begin() + 16, [](double g) { return g == 0; }));
        CHECK(clean[11] != 0);
    }
}

TEST_CASE("recurrent: a sequence in two pieces, the state handed on, is the sequence") {
    for (const Cell cell : kCells) {
        const auto module = made_f64(cell, {.input = 2, .hidden = 3, .layers = 2});
        const Tensor x = random({2, 7, 2});
        const RecurrentOutput whole = (*module)(x);
        const RecurrentOutput first = (*module)(slice(x, 1, 0, 4));
        const RecurrentOutput second = (*module)(slice(x, 1, 4, 7), {.state = first.state});
        CHECK(difference(concat({first.output, second.output}, 1), numbers(whole.output)) < kExact);
        CHECK(difference(second.state.h, numbers(whole.state.h)) < kExact);
        if (module->has_cell()) {
            CHECK(difference(second.state.c, numbers(whole.state.c)) < kExact);
        }
        // The last layer's last state is its last output.
        CHECK_EQ(slice(whole.output, 1, 6, 7).to_vector<double>(),
                 slice(whole.state.h, 0, 1, 2).to_vector<double>());
    }
}

TEST_CASE("recurrent: gradients through the whole module, twice") {
    for (const Cell cell : kCells) {
        CAPTURE(static_cast<int>(cell));
        const auto check = [&](const RecurrentConfig& config, const Tensor& lengths, bool twice) {
            const auto module = made_f64(cell, config);
            const RecurrentState start = random_state(*module, 2);
            Tensors inputs{random({2, 3, 2}), start.h};
            if (module->has_cell()) inputs.push_back(start.c);
            check_gradients(
                *module, members_of(*module),
                [&](const Tensors& in) {
                    const RecurrentState state{in[1], in.size() > 2 ? in[2] : Tensor()};
                    return everything((*module)(in[0], {.state = state, .lengths = lengths}));
                },
                inputs, twice);
        };
        const Tensor lengths = tensor<std::int64_t>({3, 2});
        check({.input = 2, .hidden = 2}, {}, true);
        check({.input = 2, .hidden = 2, .bias = false}, lengths, true);
        check({.input = 2, .hidden = 2, .layers = 2, .bidirectional = true}, lengths, false);
    }
}

TEST_CASE("recurrent: parameters have PyTorch's names, shapes and start") {
    const auto module =
        made(Cell::lstm, {.input = 3, .hidden = 4, .layers = 2, .bidirectional = true});
    std::vector<std::string> names;
    for (const auto& entry : module->named_parameters()) {
        names.push_back(fmt::format("{} {}", entry.first, entry.second.shape()));
        for (const double w : entry.second.to_vector<double>()) CHECK(std::abs(w) <= 0.5);
    }
    CHECK_EQ(names,
             std::vector<std::string>{
                 "weight_ih_l0 [16, 3]", "weight_hh_l0 [16, 4]", "bias_ih_l0 [16]",
                 "bias_hh_l0 [16]", "weight_ih_l0_reverse [16, 3]", "weight_hh_l0_reverse [16, 4]",
                 "bias_ih_l0_reverse [16]", "bias_hh_l0_reverse [16]", "weight_ih_l1 [16, 8]",
                 "weight_hh_l1 [16, 4]", "bias_ih_l1 [16]", "bias_hh_l1 [16]",
                 "weight_ih_l1_reverse [16, 8]", "weight_hh_l1_reverse [16, 4]",
                 "bias_ih_l1_reverse [16]", "bias_hh_l1_reverse [16]"});
    CHECK_EQ(made(Cell::gru, {.input = 3, .hidden = 4})->weights[0].weight_ih.shape(),
             Shape{12, 3});
    CHECK_EQ(made(Cell::rnn_tanh, {.input = 3, .hidden = 4, .bias = false})->parameter_count(),
             4 * 3 + 4 * 4);
    // Uniform in +-1/sqrt(1000): the variance is the bound squared, divided by three.
    const auto wide = made(Cell::rnn_tanh, {.input = 5, .hidden = 1000});
    CHECK(var(wide->weights[0].weight_hh).item() == Approx(1.0 / 3000).epsilon(0.01));
    CHECK_EQ(made(Cell::gru, {.input = 3, .hidden = 4})->weights[0].weight_hh.to_vector<float>(),
             made(Cell::gru, {.input = 3, .hidden = 4})->weights[0].weight_hh.to_vector<float>());
    CHECK_EQ(module->settings(), "3 -> 4, 2 layers, bidirectional");
    CHECK_EQ(module->kind(), "LSTM");
}

TEST_CASE("recurrent: dropout acts only between layers, and only in training") {
    const Tensor x = random({2, 4, 3}, 1, DType::f32);
    const auto run = [&](Recurrent& module) { return module(x).output.to_vector<float>(); };
    const auto one = made(Cell::gru, {.input = 3, .hidden = 4, .dropout = 0.5});
    CHECK_EQ(run(*one), run(*one));
    Generator generator(1);
    GRU two({.input = 3, .hidden = 4, .layers = 2, .dropout = 0.5}, generator);
    CHECK(run(two) != run(two));
    generator.set_state(9, 0);
    const auto first = run(two);
    generator.set_state(9, 0);
    CHECK_EQ(run(two), first);
    two.eval();
    CHECK_EQ(run(two), run(*made(Cell::gru, {.input = 3, .hidden = 4, .layers = 2})));
}

TEST_CASE("recurrent: the same bits for any number of threads") {
    for (const Cell cell : kCells) {
        const auto bits = [&](int threads) {
            const ThreadsGuard with(threads);
            const auto module =
                made(cell, {.input = 33, .hidden = 40, .layers = 2, .bidirectional = true});
            Tensor x = random({12, 9, 33}, 1, DType::f32);
            Tape tape;
            tape.backward(sum(everything((*module)(
                x, {.lengths = tensor<std::int64_t>({9, 3, 4, 9, 1, 2, 8, 8, 9, 5, 6, 7})}))));
            std::vector<float> all;
            for (const Tensor& parameter : module->parameters()) {
                const auto grad = parameter.grad().to_vector<float>();
                all.insert(all.end(), grad.begin(), grad.end());
            }
            return all;
        };
        const auto one = bits(1);
        CHECK(one == bits(2));
        CHECK(one == bits(3));
    }
}

TEST_CASE("recurrent: what is refused") {
    check_throws<ValueError>([] { LSTM({.input = 0, .hidden = 3}); },
                             "LSTM: input 0, hidden 3 and layers 1 must be positive");
    check_throws<ValueError>([] { GRU({.input = 2, .hidden = 3, .layers = 0}); },
                             "GRU: input 2, hidden 3 and layers 0 must be positive");
    CHECK_THROWS_AS(RNN({.input = 2, .hidden = 3, .layers = 2, .dropout = 1.5}), ValueError);

    const LSTM lstm({.input = 2, .hidden = 3});
    const GRU gru({.input = 2, .hidden = 3, .layers = 2});
    const Tensor x = ones({2, 4, 2});
    check_throws<ShapeError>(
        [&] {
            lstm(ones({2, 4, 5}));
        },
        "LSTM: needs x [B, T, 2], got [2, 4, 5]");
    CHECK_THROWS_AS(lstm(ones({4, 2})), ShapeError);
    CHECK_THROWS_AS(lstm(Tensor()), Error);
    check_throws<ShapeError>(
        [&] {
            lstm(ones({0, 4, 2}));
        },
        "LSTM: the batch is empty: x is [0, 4, 2]");
    check_throws<ShapeError>(
        [&] {
            gru(ones({2, 0, 2}));
        },
        "GRU: the sequences are empty: x is [2, 0, 2]");
    CHECK_THROWS_AS(lstm(ones({2, 4, 2}, DType::f64)), DTypeError);

    const auto with_lengths = [&](const Tensor& lengths) {
        return [&, lengths] { lstm(x, {.lengths = lengths}); };
    };
    check_throws<ValueError>(with_lengths(tensor<std::int64_t>({4, 0})),
                             "LSTM: lengths[1] must be from 1 to 4, got 0");
    check_throws<ValueError>(with_lengths(tensor<std::int64_t>({5, 1})),
                             "LSTM: lengths[0] must be from 1 to 4, got 5");
    check_throws<ValueError>(with_lengths(tensor<std::int64_t>({-1, 1})),
                             "LSTM: lengths[0] must be from 1 to 4, got -1");
    check_throws<ShapeError>(with_lengths(tensor<std::int64_t>({4})),
                             "LSTM: needs one length per sequence, [2], got [1]");
    check_throws<DTypeError>(with_lengths(ones({2})), "LSTM: lengths: needs i64, got f32");

    const Tensor h = ones({1, 2, 3});
    check_throws<ValueError>([&] { lstm(x, {.state = {.h = h}}); },
                             "LSTM: got h but not c of the state");
    check_throws<ValueError>([&] { lstm(x, {.state = {.c = h}}); },
                             "LSTM: got c but not h of the state");
    check_throws<ShapeError>(
        [&] {
            lstm(x, {.state = {.h = h, .c = ones({2, 3})}});
        },
        "LSTM: the state c is [2, 3], not [1, 2, 3]");
    check_throws<ShapeError>([&] { gru(x, {.state = {.h = h}}); },
                             "GRU: the state h is [1, 2, 3], not [2, 2, 3]");
    check_throws<ValueError>(
        [&] {
            gru(x, {.state = {.h = ones({2, 2, 3}), .c = h}});
        },
        "GRU: got a cell state c, but it has none");
    CHECK_THROWS_AS(gru(x, {.state = {.h = ones({2, 2, 3}, DType::f64)}}), DTypeError);
}

namespace {

// Compares attend(query of step t in sequence b, its real keys, their values) for all with what the
// module returned. `real`: number of real keys per sequence.
template <class Attend>
void check_attended(const Tensor& got, const Tensor& weights, const Tensor& q, const Tensor& k,
                    const Tensor& v, const std::vector<std::int64_t>& real, Attend&& attend) {
    const std::int64_t batch = q.size(0), steps = q.size(1), keys = k.size(1), size = v.size(2);
    Numbers context({batch, steps, size}), w({batch, steps, keys});
    for (std::int64_t row = 0; row < batch * steps; ++row) {
        const std::int64_t b = row / steps, n = real[static_cast<std::size_t>(b)];
        if (n == 0) continue;
        const auto found =
            attend(test::plain::rows(q, row, 1)[0], test::plain::rows(k, b * keys, n),
                   test::plain::rows(v, b * keys, n));
        for (std::int64_t i = 0; i < size; ++i) {
            context[row * size + i] = found.context[static_cast<std::size_t>(i)];
        }
        for (std::int64_t s = 0; s < n; ++s) {
            w[row * keys + s] = found.weights[static_cast<std::size_t>(s)];
        }
    }
    CHECK(difference(got, context) < kExact);
    CHECK(difference(weights, w) < kExact);
}

}  // namespace

TEST_CASE("AdditiveAttention: values, weights, masks") {
    Generator generator(1);
    AdditiveAttention layer({.query = 3, .key = 4, .hidden = 5}, generator);
    layer.to(DType::f64);
    const Tensor q = random({2, 3, 3}, 1), k = random({2, 4, 4}, 2), v = random({2, 4, 6}, 3);
    const auto attend = [&](const auto& query, const auto& keys, const auto& values) {
        return test::plain::additive(layer, query, keys, values);
    };
    Tensor weights;
    const Tensor all = layer(q, layer.remember(k, v), &weights);
    check_attended(all, weights, q, k, v, {4, 4}, attend);
    CHECK_EQ(layer(q, layer.remember(k, v)).to_vector<double>(), all.to_vector<double>());

    for (const std::int64_t other : {std::int64_t{2}, std::int64_t{0}}) {
        const Tensor mask = squeeze(length_mask(tensor<std::int64_t>({3, other}), 4), 1);
        const Tensor some = layer(q, layer.remember(k, v, mask), &weights);
        check_attended(some, weights, q, k, v, {3, other}, attend);
    }
    const Tensor own = layer(q, layer.remember(k), &weights);  // values: the keys themselves
    check_attended(own, weights, q, k, k, {4, 4}, attend);
}

TEST_CASE("AdditiveAttention: gradients, also where nothing may be attended to") {
    AdditiveAttention layer({.query = 2, .key = 3, .hidden = 2});
    const Tensor mask = squeeze(length_mask(tensor<std::int64_t>({2, 0}), 3), 1);
    check_gradients(layer, {&layer.query.weight, &layer.key.weight, &layer.score.weight},
                    [&](const Tensors& x) { return layer(x[0], layer.remember(x[1], x[2], mask)); },
                    {random({2, 2, 2}), random({2, 3, 3}), random({2, 3, 2})});
    check_gradients(layer, {&layer.query.weight, &layer.key.weight, &layer.score.weight},
                    [&](const Tensors& x) { return layer(x[0], layer.remember(x[1])); },
                    {random({1, 2, 2}), random({1, 3, 3})});
}

TEST_CASE("DotAttention: values, weights, masks, gradients") {
    const DotAttention layer;
    const Tensor q = random({2, 3, 4}, 1), k = random({2, 5, 4}, 2), v = random({2, 5, 2}, 3);
    Tensor weights;
    const Tensor all = layer(q, k, v, {}, &weights);
    check_attended(all, weights, q, k, v, {5, 5}, test::plain::dot);
    const Tensor mask = squeeze(length_mask(tensor<std::int64_t>({3, 0}), 5), 1);
    const Tensor some = layer(q, k, v, mask, &weights);
    check_attended(some, weights, q, k, v, {3, 0}, test::plain::dot);
    CHECK_EQ(layer(q, k, v, mask).to_vector<double>(), some.to_vector<double>());
    const TensorFunction f = [&](const Tensors& x) { return layer(x[0], x[1], x[2], mask); };
    test::check_passes(gradcheck(f, {q, k, v}));
}

TEST_CASE("AdditiveAttention and DotAttention: what is refused") {
    check_throws<ValueError>([] { AdditiveAttention({.query = 3, .key = 0, .hidden = 2}); },
                             "AdditiveAttention: query 3, key 0 and hidden 2 must be positive");
    const AdditiveAttention layer({.query = 3, .key = 4, .hidden = 5});
    CHECK_EQ(layer.settings(), "queries 3, keys 4, hidden 5");
    const Tensor keys = ones({2, 6, 4});
    check_throws<ShapeError>(
        [&] {
            layer.remember(ones({2, 6, 3}));
        },
        "AdditiveAttention: needs keys [B, S, 4], got [2, 6, 3]");
    CHECK_THROWS_AS(layer.remember(Tensor()), Error);
    check_throws<ShapeError>(
        [&] {
            layer.remember(keys, ones({2, 5, 4}));
        },
        "AdditiveAttention: needs one value per key, [2, 6, V], got [2, 5, 4]");
    check_throws<ShapeError>(
        [&] {
            layer(ones({1, 2, 3}), layer.remember(keys));
        },
        "AdditiveAttention: needs queries [2, T, 3], got [1, 2, 3]");
    check_throws<Error>(
        [&] {
            layer(ones({2, 2, 3}), {});
        },
        "AdditiveAttention: memory: got an undefined tensor");
    check_throws<DTypeError>(
        [&] {
            layer(ones({2, 2, 3}), layer.remember(keys, {}, ones({2, 1, 6})));
        },
        "AdditiveAttention: mask: needs bool, got f32");
    const Tensor mask = gt(ones({2, 1, 5}), 0);
    check_throws<ShapeError>(
        [&] {
            layer(ones({2, 2, 3}), layer.remember(keys, {}, mask));
        },
        "AdditiveAttention: the mask [2, 1, 5] does not broadcast to [B, T, S] = [2, 2, 6]");
    const DotAttention dot;
    CHECK_THROWS_AS(dot(ones({2, 2, 3}), keys, keys), ShapeError);
    CHECK_THROWS_AS(dot(ones({2, 2, 4}), keys, keys, mask), ShapeError);
}
