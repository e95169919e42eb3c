#include <tapestry/nn/generate/sample.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/ops/order.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapestry {
namespace {

void check(const SampleOptions& options, const std::vector<std::int64_t>& prompt) {
    require(!prompt.empty(), "sample: the prompt is empty");
    require(options.tokens >= 0, "sample: {} tokens", options.tokens);
    require(options.temperature >= 0 && std::isfinite(options.temperature),
            "sample: temperature {} is not a finite number >= 0", options.temperature);
    require(options.top_k >= 0, "sample: top_k {} is negative", options.top_k);
    require(options.top_p > 0 && options.top_p <= 1, "sample: top_p {} is not in (0, 1]",
            options.top_p);
}

// One id drawn from softmax(logits / temperature), logits [1, V], restricted to the likeliest.
std::int64_t draw(const Tensor& logits, const SampleOptions& options, Generator& generator) {
    for (const double logit : logits.to_vector<double>()) {
        require(std::isfinite(logit), "sample: the model's logits hold {}: it has diverged", logit);
    }
    const std::int64_t vocab = logits.size(1);
    const std::int64_t asked = options.temperature == 0 ? 1 : options.top_k;
    const bool few = asked > 0 && asked < vocab;
    const Selection likeliest = few ? topk(logits, asked) : sort(logits, -1, true);
    const auto ids = likeliest.indices.to_vector<std::int64_t>();
    const auto values = likeliest.values.to_vector<double>();
    if (options.temperature == 0) return ids[0];

    std::vector<double> weights;
    for (const double value : values) {
        weights.push_back(std::exp((value - values[0]) / options.temperature));
    }
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    double kept = 0;
    std::size_t count = 0;
    while (count < weights.size() && kept < options.top_p * all) kept += weights[count++];

    double rest = generator.uniform() * kept;
    for (std::size_t i = 0; i < count; ++i) {
        rest -= weights[i];
        if (rest < 0) return ids[i];
    }
    return ids[count - 1];  // what rounding left over
}

// The logits after the last of `ids`, of which the model sees as many as its context holds.
Tensor last_logits(GPTDecoding& decoding, const std::vector<std::int64_t>& ids,
                   std::int64_t context, bool cache) {
    const auto count = static_cast<std::int64_t>(ids.size());
    const bool continues = cache && decoding.length() > 0 && count <= context;
    if (!continues) decoding.clear();
    const std::int64_t seen = continues ? count - decoding.length() : std::min(count, context);
    const std::vector<std::int64_t> window(ids.end() - seen, ids.end());
    return decoding.read(tensor(window, {1, seen}));  // [1, V]
}

}  // namespace

std::vector<std::int64_t> sample(const GPT& model, const std::vector<std::int64_t>& prompt,
                                 const SampleOptions& options, Generator& generator,
                                 const std::function<bool(std::int64_t)>& on_token) {
    check(options, prompt);
    const NoGradGuard no_grad;
    std::vector<std::int64_t> ids = prompt;
    std::vector<std::int64_t> drawn;
    GPTDecoding decoding(model);
    for (std::int64_t i = 0; i < options.tokens; ++i) {
        const Tensor logits = last_logits(decoding, ids, model.config().context, options.cache);
        const std::int64_t id = draw(logits, options, generator);
        ids.push_back(id);
        drawn.push_back(id);
        if (on_token && !on_token(id)) break;
    }
    return drawn;
}

}  // namespace tapestry
