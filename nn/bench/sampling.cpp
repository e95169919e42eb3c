#include <tapestry/nn/bench/sampling.h>

#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/ops/machine_peak.h>

#include <utility>

namespace tapestry::bench {
namespace {

// Seconds to write so many tokens at temperature 0, and the tokens.
std::pair<double, std::vector<std::int64_t>> timed_sample(const GPT& model, std::int64_t tokens,
                                                          bool cache) {
    Generator generator(1);
    const SampleOptions options{.tokens = tokens, .temperature = 0, .cache = cache};
    std::vector<std::int64_t> ids;
    const double seconds = seconds_of([&] { ids = sample(model, {0}, options, generator); });
    return {seconds, std::move(ids)};
}

}  // namespace

SamplingRow measure_sampling(const SamplingOptions& o) {
    Generator generator(1);
    GPT model(o.model, generator);
    model.eval();
    SamplingRow row;
    row.parameters = model.parameter_count();
    // The least that one token needs: every weight read once. Embeddings are looked up, not read.
    const double size = o.weights == WeightType::f32 ? 4 : o.weights == WeightType::bf16 ? 2 : 1;
    row.bytes = size * static_cast<double>(row.parameters - o.model.context * o.model.dim);
    keep_weights(model, o.weights);
    row.read_speed = measure_reading(static_cast<std::size_t>(row.bytes));
    timed_sample(model, o.tokens, true);  // warm-up
    reset_peak_memory();
    std::vector<double> seconds;
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 3; ++i) {
        auto [taken, written] = timed_sample(model, o.tokens, true);
        seconds.push_back(taken);
        ids = std::move(written);
    }
    row.peak_bytes = memory_statistics().peak;
    const auto [without, same] = timed_sample(model, o.tokens, false);
    const auto count = static_cast<double>(o.tokens);
    const Times times = times_of(seconds);
    row.token = {times.median / count, times.min / count};
    row.tokens_per_second_without_cache = count / without;
    row.same_tokens = ids == same;
    return row;
}

}  // namespace tapestry::bench
