// Recurrent networks and models built from them in plain loops, one sequence at a time without
// masks: a sequence of length n is n vectors.
#pragma once

#include <tapestry/nn/models/seq2seq.h>
#include <tapestry/nn/recurrent/recurrent.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tapestry::test::plain {

using Vector = std::vector<double>;
using Sequence = std::vector<Vector>;  // one vector per step

inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// W x + b for W [O, I]; no b if undefined.
inline Vector affine(const Tensor& weight, const Tensor& bias, const Vector& x) {
    const auto w = weight.to_vector<double>();
    const auto b = bias.defined() ? bias.to_vector<double>() : Vector();
    Vector y(static_cast<std::size_t>(weight.size(0)), 0);
    for (std::size_t o = 0; o < y.size(); ++o) {
        for (std::size_t i = 0; i < x.size(); ++i) y[o] += w[o * x.size() + i] * x[i];
        if (!b.empty()) y[o] += b[o];
    }
    return y;
}

inline Vector joined(const Vector& a, const Vector& b) {
    Vector both = a;
    both.insert(both.end(), b.begin(), b.end());
    return both;
}

enum class Cell { rnn_tanh, rnn_relu, gru, lstm };

struct State {
    Vector h, c;
};

/// torch.nn.RNNCell, GRUCell and LSTMCell, as documented.
inline State step(Cell cell, const RecurrentWeights& w, const Vector& x, const State& s) {
    const Vector p = affine(w.weight_ih, w.bias_ih, x), q = affine(w.weight_hh, w.bias_hh, s.h);
    const std::size_t n = s.h.size();
    State next{Vector(n), s.c};
    for (std::size_t k = 0; k < n; ++k) {
        switch (cell) {
            case Cell::rnn_tanh: next.h[k] = std::tanh(p[k] + q[k]); break;
            case Cell::rnn_relu: next.h[k] = std::max(0.0, p[k] + q[k]); break;
            case Cell::gru: {
                const double r = logistic(p[k] + q[k]);
                const double z = logistic(p[n + k] + q[n + k]);
                const double m = std::tanh(p[2 * n + k] + r * q[2 * n + k]);
                next.h[k] = (1 - z) * m + z * s.h[k];
                break;
            }
            case Cell::lstm: {
                const double i = logistic(p[k] + q[k]);
                const double f = logistic(p[n + k] + q[n + k]);
                const double g = std::tanh(p[2 * n + k] + q[2 * n + k]);
                const double o = logistic(p[3 * n + k] + q[3 * n + k]);
                next.c[k] = f * s.c[k] + i * g;
                next.h[k] = o * std::tanh(next.c[k]);
                break;
            }
        }
    }
    return next;
}

/// All layers and directions over one sequence; updates `states` [layers D].
inline Sequence recurrent(Cell cell, const Recurrent& module, Sequence xs,
                          std::vector<State>& states) {
    const auto directions = static_cast<std::size_t>(module.directions());
    for (std::size_t first = 0; first < module.weights.size(); first += directions) {
        Sequence ys(xs.size());
        for (std::size_t d = 0; d < directions; ++d) {
            Sequence seen = xs;
            if (d == 1) std::reverse(seen.begin(), seen.end());
            Sequence out;
            for (const Vector& x : seen) {
                State& s = states[first + d];
                s = step(cell, module.weights[first + d], x, s);
                out.push_back(s.h);
            }
            if (d == 1) std::reverse(out.begin(), out.end());
            for (std::size_t t = 0; t < ys.size(); ++t) ys[t] = joined(ys[t], out[t]);
        }
        xs = ys;
    }
    return xs;
}

inline std::vector<State> zero_states(const Recurrent& module) {
    const Vector zero(static_cast<std::size_t>(module.config().hidden), 0);
    return std::vector<State>(module.weights.size(), State{zero, zero});
}

/// `count` rows of [..., dim], starting at row `first`.
inline Sequence rows(const Tensor& x, std::int64_t first, std::int64_t count) {
    const Vector all = x.to_vector<double>();
    Sequence found;
    for (std::int64_t r = first; r < first + count; ++r) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(r * x.size(-1));
        found.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(x.size(-1)));
    }
    return found;
}

struct Attended {
    Vector context, weights;
};

/// The mean of `values`, weighted by softmax(scores).
inline Attended weighted_mean(const Vector& scores, const Sequence& values) {
    Attended found{Vector(values[0].size(), 0), scores};
    double sum = 0;
    for (double& w : found.weights) sum += w = std::exp(w);
    for (std::size_t s = 0; s < values.size(); ++s) {
        found.weights[s] /= sum;
        for (std::size_t i = 0; i < found.context.size(); ++i) {
            found.context[i] += found.weights[s] * values[s][i];
        }
    }
    return found;
}

inline Attended additive(const AdditiveAttention& a, const Vector& query, const Sequence& keys,
                         const Sequence& values) {
    Vector scores;
    for (const Vector& key : keys) {
        Vector q = affine(a.query.weight, {}, query);
        const Vector k = affine(a.key.weight, {}, key);
        for (std::size_t i = 0; i < q.size(); ++i) q[i] = std::tanh(q[i] + k[i]);
        scores.push_back(affine(a.score.weight, {}, q)[0]);
    }
    return weighted_mean(scores, values);
}

inline Attended dot(const Vector& query, const Sequence& keys, const Sequence& values) {
    Vector scores;
    for (const Vector& key : keys) {
        double sum = 0;
        for (std::size_t i = 0; i < key.size(); ++i) sum += query[i] * key[i];
        scores.push_back(sum);
    }
    return weighted_mean(scores, values);
}

struct Written {
    Sequence logits, alignment;
};

/// A whole Seq2Seq for one pair of sequences of ids.
inline Written seq2seq(const Seq2Seq& model, const std::vector<std::int64_t>& source,
                       const std::vector<std::int64_t>& target) {
    const Cell cell = model.config().cell == RecurrentCell::rnn   ? Cell::rnn_tanh
                      : model.config().cell == RecurrentCell::gru ? Cell::gru
                                                                  : Cell::lstm;
    Sequence xs;
    for (const auto id : source) xs.push_back(rows(model.source_embedding.weight, id, 1)[0]);
    std::vector<State> read = zero_states(*model.encoder);
    const Sequence memory = recurrent(cell, *model.encoder, xs, read);

    std::vector<State> states;
    const auto directions = static_cast<std::size_t>(model.encoder->directions());
    for (std::size_t i = 0; i < read.size(); i += directions) {
        State s = read[i];
        if (directions == 2) s = {joined(s.h, read[i + 1].h), joined(s.c, read[i + 1].c)};
        states.push_back(s);
    }
    Written written;
    for (const auto id : target) {
        const Vector y = rows(model.target_embedding.weight, id, 1)[0];
        Attended seen;
        Vector x = y;
        if (model.additive) {
            seen = additive(*model.additive, states.back().h, memory, memory);
            x = joined(y, seen.context);
        }
        Vector out = recurrent(cell, *model.decoder, {x}, states)[0];
        if (model.dot) seen = dot(out, memory, memory);
        if (model.combine) {
            out = affine(model.combine->weight, {}, joined(seen.context, out));
            for (double& value : out) value = std::tanh(value);
        }
        written.logits.push_back(affine(model.head.weight, model.head.bias, out));
        written.alignment.push_back(seen.weights);
    }
    return written;
}

}  // namespace tapestry::test::plain
