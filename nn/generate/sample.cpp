#include <tapestry/nn/generate/sample.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>

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

// One id drawn from softmax(logits / temperature), restricted to the likeliest.
std::int64_t draw(const std::vector<double>& logits, const SampleOptions& options,
                  Generator& generator) {
    for (const double logit : logits) {  // neither sorting nor adding up bears NaN
        require(std::isfinite(logit), "sample: the model's logits hold {}: it has diverged", logit);
    }
    std::vector<std::size_t> order(logits.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
    if (options.temperature == 0) return static_cast<std::int64_t>(order[0]);

    if (options.top_k > 0 && static_cast<std::size_t>(options.top_k) < order.size()) {
        order.resize(static_cast<std::size_t>(options.top_k));
    }
    std::vector<double> weights;
    for (const std::size_t id : order) {
        weights.push_back(std::exp((logits[id] - logits[order[0]]) / options.temperature));
    }
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    double kept = 0;
    std::size_t count = 0;
    while (count < weights.size() && kept < options.top_p * all) kept += weights[count++];

    double rest = generator.uniform() * kept;
    for (std::size_t i = 0; i < count; ++i) {
        rest -= weights[i];
        if (rest < 0) return static_cast<std::int64_t>(order[i]);
    }
    return static_cast<std::int64_t>(order[count - 1]);  // what rounding left over
}

// The logits after the last of `ids`, of which the model sees as many as its context holds.
std::vector<double> last_logits(GPTDecoding& decoding, const std::vector<std::int64_t>& ids,
                                std::int64_t context, bool cache) {
    const auto count = static_cast<std::int64_t>(ids.size());
    const bool continues = cache && decoding.length() > 0 && count <= context;
    if (!continues) decoding.clear();
    const std::int64_t seen = continues ? count - decoding.length() : std::min(count, context);
    const std::vector<std::int64_t> window(ids.end() - seen, ids.end());
    return decoding.read(tensor(window, {1, seen})).to_vector<double>();  // [1, V]
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
        const std::vector<double> logits =
            last_logits(decoding, ids, model.config().context, options.cache);
        const std::int64_t id = draw(logits, options, generator);
        ids.push_back(id);
        drawn.push_back(id);
        if (on_token && !on_token(id)) break;
    }
    return drawn;
}

}  // namespace tapestry
