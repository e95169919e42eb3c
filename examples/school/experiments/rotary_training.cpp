// Read rotary_training.h first.
#include <tapestry/examples/school/experiments/rotary_training.h>

#include <tapestry/examples/school/tasks/task.h>
#include <tapestry/tapestry.h>

#include <cmath>

namespace tapestry::experiments {
namespace {

constexpr std::int64_t kSymbols = 16, kDim = 32, kLength = 64, kBatch = 16;

class Looker : public Module {
public:
    Embedding token;
    MultiHeadAttention attention;
    Linear out;

    explicit Looker(Generator& generator)
        : Module("Looker"),
          token(kSymbols, kDim, generator),
          attention({.dim = kDim, .heads = 1, .causal = true, .positions = Positions::rotary},
                    generator),
          out(kDim, kSymbols, true, generator) {
        register_module("token", token);
        register_module("attention", attention);
        register_module("out", out);
    }
    Tensor operator()(const Tensor& ids, AttentionRecord* record = nullptr) const {
        return out(attention(token(ids), {.record = record}));
    }
};

// [T, T]: row i has the same share for each of the positions asked for, 0 elsewhere.
Tensor asked_positions(std::int64_t first, std::int64_t last) {
    Tensor matrix = zeros({kLength, kLength});
    float* m = matrix.mutable_data<float>();
    for (std::int64_t i = last; i < kLength; ++i) {
        for (std::int64_t d = first; d <= last; ++d) {
            m[i * kLength + i - d] = 1 / static_cast<float>(last - first + 1);
        }
    }
    return matrix;
}

// Mean squared error of the shares, at the positions that have all they are asked for.
Tensor error_of(const Looker& model, const Tensor& ids, const Tensor& asked, std::int64_t last) {
    const Tensor shares = matmul(asked, one_hot(ids, kSymbols));  // [B, T, V]
    return mean(square(slice(model(ids) - shares, 1, last, kLength)));
}

// |mean q| |mean k| of every pair, over all symbols: what the pair adds to a score whatever stands
// there.
std::vector<double> parts_of_pairs(const Looker& model) {
    const Tensor symbol = mean(model.token.weight.detach(), {0}, true);  // [1, C]
    const Tensor all = (*model.attention.qkv)(symbol);                   // [1, 3 C]
    const auto values = all.detach().to_vector<float>();
    std::vector<double> parts;
    for (std::size_t i = 0; i < kDim; i += 2) {
        const double q = std::hypot(values[i], values[i + 1]);
        const double k = std::hypot(values[kDim + i], values[kDim + i + 1]);
        parts.push_back(q * k);
    }
    return parts;
}

}  // namespace

Measured train_rotary_head(std::int64_t first, std::int64_t last, std::int64_t steps,
                           std::uint64_t seed) {
    Generator generator(seed);
    Looker model(generator);
    const Tensor asked = asked_positions(first, last);
    const auto draw = [&] { return randint(0, kSymbols, {kBatch, kLength}, generator); };
    examples::fit(
        model, {.steps = steps, .rate = 1e-2, .print = false},
        [&] { return error_of(model, draw(), asked, last) * kSymbols; },
        [] { return examples::Score{}; });
    const NoGradGuard no_grad;
    Measured m;
    const Tensor ids = draw();
    const Tensor shares = slice(matmul(asked, one_hot(ids, kSymbols)), 1, last, kLength);
    m.numbers["error"] =
        error_of(model, ids, asked, last).item() / mean(square(shares - 1.0 / kSymbols)).item();
    AttentionRecord record;
    model(ids, &record);
    const Tensor weights = mean(record.weights, {0, 1});  // [T, T]
    m.numbers["weight"] = 0;
    for (std::int64_t d = 0; d < kLength; ++d) {
        const double weight = weights.at({kLength - 1, kLength - 1 - d});
        m.curves["profile"].push_back(weight);
        if (first <= d && d <= last) m.numbers["weight"] += weight;
    }
    double sum = 0, weighted = 0;
    m.curves["pairs"] = parts_of_pairs(model);
    for (std::size_t pair = 0; pair < m.curves["pairs"].size(); ++pair) {
        sum += m.curves["pairs"][pair];
        weighted += static_cast<double>(pair) * m.curves["pairs"][pair];
    }
    m.numbers["pair"] = weighted / sum;
    return m;
}

}  // namespace tapestry::experiments
