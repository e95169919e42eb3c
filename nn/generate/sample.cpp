#include <tapestry/nn/generate/sample.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/nn/generate/stop_texts.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/ops/order.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace tapestry {
namespace {

void check(const SampleOptions& options, const std::vector<std::int64_t>& prompt) {
    require(!prompt.empty(), "sample: the prompt is empty");
    require(options.tokens >= 0, "sample: tokens must be >= 0, got {}", options.tokens);
    require(options.temperature >= 0 && std::isfinite(options.temperature),
            "sample: temperature must be finite and >= 0, got {}", options.temperature);
    require(options.top_k >= 0, "sample: top_k must be >= 0, got {}", options.top_k);
    require(options.top_p > 0 && options.top_p <= 1, "sample: top_p must be in (0, 1], got {}",
            options.top_p);
    require(options.min_p >= 0 && options.min_p <= 1, "sample: min_p must be in [0, 1], got {}",
            options.min_p);
    require(options.repeat_penalty > 0 && std::isfinite(options.repeat_penalty),
            "sample: repeat_penalty must be finite and > 0, got {}", options.repeat_penalty);
    require(options.repeat_last >= 0, "sample: repeat_last must be >= 0, got {}",
            options.repeat_last);
    require(options.probabilities >= 0, "sample: probabilities must be >= 0, got {}",
            options.probabilities);
}

// The logits [1, V] with those of repeated tokens reduced; each once, however often it occurs.
Tensor penalized(const Tensor& logits, const std::vector<std::int64_t>& ids,
                 const SampleOptions& options) {
    if (options.repeat_penalty == 1) return logits;
    std::vector<double> values = logits.to_vector<double>();
    const auto last = static_cast<std::size_t>(options.repeat_last);
    const std::size_t count = last == 0 ? ids.size() : std::min(last, ids.size());
    std::vector<std::int64_t> repeated(ids.end() - static_cast<std::ptrdiff_t>(count), ids.end());
    std::sort(repeated.begin(), repeated.end());
    repeated.erase(std::unique(repeated.begin(), repeated.end()), repeated.end());
    for (const std::int64_t id : repeated) {  // the model has not seen those before its context
        require<IndexError>(id >= 0 && id < logits.size(1), "sample: id {} is not in 0..{}", id,
                            logits.size(1) - 1);
        double& value = values[static_cast<std::size_t>(id)];
        value = value > 0 ? value / options.repeat_penalty : value * options.repeat_penalty;
    }
    return tensor(values, logits.shape());
}

// What the model says of a token: its logits [1, V], before anything changes them.
SampledToken described(std::int64_t id, const Tensor& logits, std::int64_t likeliest) {
    const std::vector<double> values = logits.to_vector<double>();
    const double largest = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (const double value : values) sum += std::exp(value - largest);
    const auto probability = [&](double logit) { return std::exp(logit - largest) / sum; };
    SampledToken token{.id = id, .probability = probability(values[static_cast<std::size_t>(id)])};
    if (likeliest == 0) return token;
    const Selection best = topk(logits, std::min(likeliest, logits.size(1)));
    const auto ids = best.indices.to_vector<std::int64_t>();
    const auto of_best = best.values.to_vector<double>();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        token.likeliest.emplace_back(ids[i], probability(of_best[i]));
    }
    return token;
}

// Tokens by descending logits, sorted only as far as requested: a vocabulary has fifty thousand,
// and most samples are among the first.
class Ranking {
public:
    // Considers the first `size` of logits [1, V].
    Ranking(const Tensor& logits, std::int64_t size) : logits_(logits), size_(size) {}

    std::int64_t size() const { return size_; }
    std::int64_t id(std::int64_t i) {
        reach(i);
        return ids_[static_cast<std::size_t>(i)];
    }
    double logit(std::int64_t i) {
        reach(i);
        return values_[static_cast<std::size_t>(i)];
    }

private:
    void reach(std::int64_t i) {
        const auto known = static_cast<std::int64_t>(ids_.size());
        if (i < known) return;
        std::int64_t wanted = std::max<std::int64_t>(64, 16 * known);
        if (wanted > size_ / 16) wanted = size_;  // topk then sorts all of them
        const Selection likeliest = topk(logits_, wanted);
        ids_ = likeliest.indices.to_vector<std::int64_t>();
        values_ = likeliest.values.to_vector<double>();
    }

    Tensor logits_;
    std::int64_t size_;
    std::vector<std::int64_t> ids_;
    std::vector<double> values_;
};

// Samples one id from softmax(logits / temperature), logits [1, V], restricted by top_k, top_p and
// min_p.
std::int64_t draw(const Tensor& logits, const SampleOptions& options, Generator& generator) {
    const std::vector<double> of_all = logits.to_vector<double>();
    for (const double logit : of_all) {
        require<DivergedError>(std::isfinite(logit),
                               "sample: the model's logits contain {}: it has diverged",
                               std::isnan(logit) ? std::abs(logit) : logit);  // avoids "-nan"
    }
    const std::int64_t vocab = logits.size(1);
    const std::int64_t asked = options.temperature == 0 ? 1 : options.top_k;
    const bool few = asked > 0 && asked < vocab;
    Ranking ranking(logits, few ? asked : vocab);
    const double largest = ranking.logit(0);
    if (options.temperature == 0) return ranking.id(0);

    const auto weight = [&](double logit) {
        return std::exp((logit - largest) / options.temperature);
    };
    double all = 0;
    if (few) {
        for (std::int64_t i = 0; i < ranking.size(); ++i) all += weight(ranking.logit(i));
    } else {
        for (const double logit : of_all) all += weight(logit);
    }
    double kept = options.top_p < 1 ? 0 : all;
    std::int64_t count = options.top_p < 1 ? 0 : ranking.size();
    while (count < ranking.size() && kept < options.top_p * all) {
        kept += weight(ranking.logit(count++));
    }
    if (options.min_p > 0) {  // weights are relative to the largest probability
        const std::int64_t most = count;
        count = 0;
        kept = 0;
        while (count < most && weight(ranking.logit(count)) >= options.min_p) {
            kept += weight(ranking.logit(count++));
        }
    }

    double rest = generator.uniform() * kept;
    std::int64_t last = 0;  // takes the remainder left by rounding
    for (std::int64_t i = 0; i < count; ++i) {
        const double share = weight(ranking.logit(i));
        rest -= share;
        if (rest < 0) return ranking.id(i);
        if (share > 0) last = i;
    }
    return ranking.id(last);
}

// The logits after the last of `ids`; the model sees as many as its context holds.
Tensor last_logits(LanguageModelDecoding& decoding, const std::vector<std::int64_t>& ids,
                   std::int64_t context, bool cache) {
    const auto count = static_cast<std::int64_t>(ids.size());
    const bool continues = cache && decoding.length() > 0 && count <= context;
    if (!continues) decoding.clear();
    const std::int64_t seen = continues ? count - decoding.length() : std::min(count, context);
    const std::vector<std::int64_t> window(ids.end() - seen, ids.end());
    return decoding.read(tensor(window, {1, seen}));  // [1, V]
}

}  // namespace

std::vector<std::int64_t> sample(const LanguageModel& model,
                                 const std::vector<std::int64_t>& prompt,
                                 const SampleOptions& options, Generator& generator,
                                 const std::function<bool(std::int64_t)>& on_token) {
    const FloatingPointGuard standard;  // probabilities are computed outside loops
    check(options, prompt);
    const NoGradGuard no_grad;
    std::vector<std::int64_t> ids = prompt;
    std::vector<std::int64_t> drawn;
    const std::int64_t context = common_settings(model.model_config()).context;
    LanguageModelDecoding decoding(model);
    for (std::int64_t i = 0; i < options.tokens; ++i) {
        const Tensor logits = last_logits(decoding, ids, context, options.cache);
        const std::int64_t id = draw(penalized(logits, ids, options), options, generator);
        if (options.on_choice) options.on_choice(described(id, logits, options.probabilities));
        if (options.end == id) break;
        ids.push_back(id);
        drawn.push_back(id);
        if (on_token && !on_token(id)) break;
    }
    return drawn;
}

std::string StreamDecoder::next(std::int64_t id) {
    // A model's table may have more rows than the tokenizer has tokens.
    if (id >= tokenizer_.vocab_size()) return stream_.push("\xFF");
    return stream_.push(tokenizer_.decode(std::span(&id, 1)));
}

std::string sample_text(const LanguageModel& model, const Tokenizer& tokenizer,
                        const std::string& prompt, const SampleOptions& options,
                        Generator& generator,
                        const std::function<bool(const std::string&)>& on_text) {
    std::vector<std::int64_t> ids = tokenizer.encode(prompt, "prompt");
    tokenizer.begin_text(ids);
    if (ids.empty()) ids.push_back(tokenizer.beginning());
    StopTexts stops(options.stop);
    SampleOptions own = options;
    std::vector<std::int64_t> ends;
    if (!own.end && !own.past_end) {
        own.end = tokenizer.end_of_text();
        ends = tokenizer.declared_ends();
    }
    std::string written;
    const auto tell = [&](const std::string& text) {
        written += text;
        return !on_text || on_text(text);
    };
    if (!tell(prompt)) return written;
    StreamDecoder drawn(tokenizer);
    sample(model, ids, own, generator, [&](std::int64_t id) {
        if (std::find(ends.begin(), ends.end(), id) != ends.end()) return false;
        return tell(stops.next(drawn.next(id))) && !stops.found();
    });
    const std::string last = stops.next(drawn.finish());
    tell(last + stops.finish());
    return written;
}

}  // namespace tapestry
