// Time is the first axis in this file: with time-major rows [T B, I], the steps of a layer are
// adjacent pieces of one product.
#include <tapestry/nn/recurrent/recurrent.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/attention/masks.h>
#include <tapestry/ops/activation.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/masking.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>

namespace tapestry {

Recurrent::Recurrent(std::string kind, std::int64_t gates, const RecurrentConfig& config,
                     Generator& generator)
    : Module(std::move(kind)), config_(config), dropout_(config.dropout, generator) {
    require(config.input > 0 && config.hidden > 0 && config.layers > 0,
            "{}: input {}, hidden {} and layers {} must be positive", this->kind(), config.input,
            config.hidden, config.layers);
    const std::int64_t hidden = config.hidden;
    const double bound = 1 / std::sqrt(static_cast<double>(hidden));
    const auto start = [&](const Shape& shape) { return uniform(shape, -bound, bound, generator); };

    weights.resize(static_cast<std::size_t>(config.layers * directions()));  // never resized again
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const std::int64_t layer = static_cast<std::int64_t>(i) / directions();
        const bool reverse = static_cast<std::int64_t>(i) % directions() == 1;
        RecurrentWeights& w = weights[i];
        w.weight_ih = start({gates * hidden, layer == 0 ? config.input : directions() * hidden});
        w.weight_hh = start({gates * hidden, hidden});
        if (config.bias) w.bias_ih = start({gates * hidden});
        if (config.bias) w.bias_hh = start({gates * hidden});

        const std::string suffix = fmt::format("_l{}{}", layer, reverse ? "_reverse" : "");
        register_parameter("weight_ih" + suffix, w.weight_ih);
        register_parameter("weight_hh" + suffix, w.weight_hh);
        register_parameter("bias_ih" + suffix, w.bias_ih);
        register_parameter("bias_hh" + suffix, w.bias_hh);
    }
    register_module("dropout", dropout_);
}

// ---- sequences that end before the last step ----------------------------------------------------

std::vector<std::int64_t> checked_lengths(std::string_view owner, const Tensor& lengths,
                                          std::int64_t batch, std::int64_t steps) {
    check_dtype(fmt::format("{}: lengths", owner), lengths, DType::i64);
    require<ShapeError>(lengths.shape() == Shape{batch},
                        "{}: needs one length per sequence, [{}], got {}", owner, batch,
                        lengths.shape());
    auto values = lengths.to_vector<std::int64_t>();
    for (std::size_t b = 0; b < values.size(); ++b) {
        require(values[b] >= 1 && values[b] <= steps,
                "{0}: lengths[{1}] must be from 1 to {3}, got {2}", owner, b, values[b], steps);
    }
    return values;
}

struct Recurrent::Padding {
    Tensor rows;   // bool [T B, 1]: true past a sequence's end; undefined if all have T steps
    Tensors real;  // T times bool [B, 1]: still within the sequence; undefined if all are

    Padding(std::string_view owner, const Tensor& lengths, std::int64_t batch, std::int64_t steps)
        : real(static_cast<std::size_t>(steps)) {
        if (!lengths.defined()) return;
        const auto numbers = checked_lengths(owner, lengths, batch, steps);
        const std::int64_t shortest = *std::min_element(numbers.begin(), numbers.end());
        if (shortest == steps) return;
        const Tensor mask =  // [T, B]
            transpose(reshape(length_mask(lengths, steps), {batch, steps}), 0, 1);
        rows = reshape(logical_not(mask), {steps * batch, 1});
        for (std::int64_t t = shortest; t < steps; ++t) {
            real[static_cast<std::size_t>(t)] = reshape(slice(mask, 0, t, t + 1), {batch, 1});
        }
    }

    Tensor zeroed(const Tensor& x) const { return rows.defined() ? masked_fill(x, rows, 0) : x; }
};

// ---- layers, directions, steps ------------------------------------------------------------------

void Recurrent::check(const Tensor& x, const RecurrentInputs& inputs) const {
    require<ShapeError>(x.defined() && x.rank() == 3 && x.size(2) == config_.input,
                        "{}: needs x [B, T, {}], got {}", kind(), config_.input, x.shape());
    require<ShapeError>(x.size(0) > 0, "{}: the batch is empty: x is {}", kind(), x.shape());
    require<ShapeError>(x.size(1) > 0, "{}: the sequences are empty: x is {}", kind(), x.shape());
    check_same_dtype(kind(), x, weights[0].weight_ih);

    const Tensor& h = inputs.state.h;
    const Tensor& c = inputs.state.c;
    require(has_cell() || !c.defined(), "{}: got a cell state c, but it has none", kind());
    require(!has_cell() || h.defined() == c.defined(), "{}: got {} but not {} of the state", kind(),
            h.defined() ? "h" : "c", h.defined() ? "c" : "h");
    const Shape wanted{config_.layers * directions(), x.size(0), config_.hidden};
    for (const Tensor* part : {&h, &c}) {
        if (!part->defined()) continue;
        require<ShapeError>(part->shape() == wanted, "{}: the state {} is {}, not {}", kind(),
                            part == &h ? "h" : "c", part->shape(), wanted);
        check_same_dtype(kind(), *part, x);
    }
}

// One state [B, H] for each layer and direction.
std::vector<RecurrentState> Recurrent::initial_states(const Tensor& x,
                                                      const RecurrentState& given) const {
    const std::int64_t batch = x.size(0), hidden = config_.hidden;
    std::vector<RecurrentState> states(weights.size());
    const auto fill = [&](const Tensor& all, Tensor RecurrentState::*part) {
        const Tensors pieces = all.defined() ? split(all, 1, 0) : Tensors();
        const Tensor zero = pieces.empty() ? zeros({batch, hidden}, x.dtype()) : Tensor();
        for (std::size_t i = 0; i < states.size(); ++i) {
            states[i].*part = pieces.empty() ? zero : reshape(pieces[i], {batch, hidden});
        }
    };
    fill(given.h, &RecurrentState::h);
    if (has_cell()) fill(given.c, &RecurrentState::c);
    return states;
}

// One layer in one direction: rows [T B, I] -> [T B, H]; advances `state` from first to last. In
// the backward direction a sequence keeps its initial state until its own last step.
Tensor Recurrent::run(const Tensor& rows, std::int64_t batch, std::size_t index,
                      const Padding& padding, RecurrentState& state) const {
    const RecurrentWeights& w = weights[index];
    const bool backwards = static_cast<std::int64_t>(index) % directions() == 1;
    const Tensors xs = split(linear(rows, w.weight_ih, w.bias_ih), batch, 0);  // T times [B, G H]
    Tensors outputs(xs.size());
    for (std::size_t i = 0; i < xs.size(); ++i) {
        const std::size_t t = backwards ? xs.size() - 1 - i : i;
        RecurrentState next = step(xs[t], state, w);
        if (const Tensor& real = padding.real[t]; real.defined()) {
            next.h = where(real, next.h, state.h);
            if (has_cell()) next.c = where(real, next.c, state.c);
        }
        state = next;
        outputs[t] = state.h;  // [B, H]
    }
    return padding.zeroed(concat(outputs, 0));
}

RecurrentOutput Recurrent::operator()(const Tensor& x, const RecurrentInputs& inputs) const {
    const ModuleScope scope(name());
    check(x, inputs);
    const std::int64_t batch = x.size(0), steps = x.size(1);
    const Padding padding(kind(), inputs.lengths, batch, steps);
    std::vector<RecurrentState> states = initial_states(x, inputs.state);

    Tensor rows = reshape(transpose(x, 0, 1), {steps * batch, config_.input});
    rows = padding.zeroed(rows);
    for (std::size_t i = 0; i < weights.size();) {
        if (i > 0) rows = dropout_(rows);  // [T B, D H]
        Tensors both;
        for (std::int64_t d = 0; d < directions(); ++d, ++i) {
            both.push_back(run(rows, batch, i, padding, states[i]));
        }
        rows = both.size() == 1 ? both[0] : concat(both, -1);
    }
    const auto stacked = [&](Tensor RecurrentState::*part) {
        Tensors parts;
        for (const RecurrentState& state : states) parts.push_back(state.*part);
        return stack(parts, 0);
    };
    const Tensor output = reshape(rows, {steps, batch, directions() * config_.hidden});
    return {hooked(transpose(output, 0, 1), x),
            {stacked(&RecurrentState::h), has_cell() ? stacked(&RecurrentState::c) : Tensor()}};
}

std::string Recurrent::settings() const {
    return fmt::format("{} -> {}{}{}", config_.input, config_.hidden,
                       config_.layers == 1 ? "" : fmt::format(", {} layers", config_.layers),
                       config_.bidirectional ? ", bidirectional" : "");
}

// ---- the three cells ----------------------------------------------------------------------------

RNN::RNN(const RecurrentConfig& config, RNNActivation activation, Generator& generator)
    : Recurrent("RNN", 1, config, generator), activation_(activation) {}

RecurrentState RNN::step(const Tensor& x, const RecurrentState& state,
                         const RecurrentWeights& w) const {
    const Tensor sum = x + linear(state.h, w.weight_hh, w.bias_hh);  // [B, H]
    return {.h = activation_ == RNNActivation::relu ? relu(sum) : tanh(sum)};
}

GRU::GRU(const RecurrentConfig& config, Generator& generator)
    : Recurrent("GRU", 3, config, generator) {}

RecurrentState GRU::step(const Tensor& x, const RecurrentState& state,
                         const RecurrentWeights& w) const {
    const Tensors xs = split(x, config().hidden, -1);  // three times [B, H]
    const Tensors hs = split(linear(state.h, w.weight_hh, w.bias_hh), config().hidden, -1);
    const Tensor r = sigmoid(xs[0] + hs[0]), z = sigmoid(xs[1] + hs[1]);
    const Tensor n = tanh(xs[2] + r * hs[2]);
    return {.h = n + z * (state.h - n)};  // (1 - z) n + z h
}

LSTM::LSTM(const RecurrentConfig& config, Generator& generator)
    : Recurrent("LSTM", 4, config, generator) {}

RecurrentState LSTM::step(const Tensor& x, const RecurrentState& state,
                          const RecurrentWeights& w) const {
    const Tensor a = x + linear(state.h, w.weight_hh, w.bias_hh);  // [B, 4 H]
    const Tensors parts = split(a, config().hidden, -1);
    const Tensor i = sigmoid(parts[0]), f = sigmoid(parts[1]);
    const Tensor g = tanh(parts[2]), o = sigmoid(parts[3]);
    const Tensor c = f * state.c + i * g;  // [B, H]
    return {.h = o * tanh(c), .c = c};
}

std::unique_ptr<Recurrent> make_recurrent(RecurrentCell cell, const RecurrentConfig& config,
                                          Generator& generator) {
    switch (cell) {
        case RecurrentCell::rnn:
            return std::make_unique<RNN>(config, RNNActivation::tanh, generator);
        case RecurrentCell::gru: return std::make_unique<GRU>(config, generator);
        case RecurrentCell::lstm: return std::make_unique<LSTM>(config, generator);
    }
    fail("make_recurrent: unknown cell");
}

}  // namespace tapestry
