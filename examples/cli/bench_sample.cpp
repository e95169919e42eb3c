// tapestry bench sample: writing tokens one at a time, with the cache of keys and values and
// without.
#include <tapestry/core/storage.h>
#include <tapestry/examples/cli/bench.h>
#include <tapestry/examples/cli/bench_report.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace tapestry::cli {
namespace {

using Json = nlohmann::ordered_json;

// Seconds to write s.tokens tokens at temperature 0, and the tokens.
std::pair<double, std::vector<std::int64_t>> timed_sample(const GPT& model, const BenchSettings& s,
                                                          bool cache) {
    Generator generator(1);
    const SampleOptions options{.tokens = s.tokens, .temperature = 0, .cache = cache};
    std::vector<std::int64_t> ids;
    const double seconds = seconds_of([&] { ids = sample(model, {0}, options, generator); });
    return {seconds, std::move(ids)};
}

}  // namespace

int bench_sample(const BenchSettings& s) {
    set_num_threads(s.threads);
    check_memory(s.model, 1);
    Generator generator(1);
    GPT model(s.model, generator);
    model.eval();
    const MachinePeak peak = measure_peak();
    if (!s.json) fmt::print("{}\n", peak_text(peak, DType::f32));
    // The least that one token needs: every weight read once. Embeddings are looked up, not read.
    const double bytes =
        4 * static_cast<double>(model.parameter_count() - s.model.context * s.model.dim);
    const double reading = measure_reading(static_cast<std::size_t>(bytes));
    timed_sample(model, s, true);  // warm-up
    reset_peak_memory();
    std::vector<double> seconds;
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 3; ++i) {
        auto [taken, written] = timed_sample(model, s, true);
        seconds.push_back(taken);
        ids = std::move(written);
    }
    const std::size_t peak_bytes = memory_statistics().peak;
    const auto [without, same] = timed_sample(model, s, false);
    const auto count = static_cast<double>(s.tokens);
    const Times times = times_of(seconds);
    const Times token{times.median / count, times.min / count};
    const double rate = bytes / token.median;
    const double share = rate / reading;
    if (s.json) {
        const Json json{{"tokens_per_s", 1 / token.median},
                        {"median_ms", 1e3 * token.median},
                        {"min_ms", 1e3 * token.min},
                        {"tokens_per_s_without_cache", count / without},
                        {"gb_per_s", rate / 1e9},
                        {"reading_gb_per_s", reading / 1e9},
                        {"share", share},
                        {"peak_bytes", peak_bytes},
                        {"same_tokens", ids == same},
                        {"threads", num_threads()},
                        {"ceiling", Json::parse(peak_json(peak, DType::f32))}};
        fmt::print("{}\n", json.dump());
    } else {
        fmt::print(
            "{} parameters, {} threads: {:.0f} tokens/s ({:.1f} GB/s of weights); without the "
            "cache {:.0f} tokens/s, {} tokens\n",
            model.parameter_count(), num_threads(), 1 / token.median, rate / 1e9, count / without,
            ids == same ? "the same" : "other");
        fmt::print("median {:.3f} ms, fastest {:.3f} ms per token, at most {:.0f} MB\n",
                   1e3 * token.median, 1e3 * token.min, static_cast<double>(peak_bytes) / 1e6);
        fmt::print("{} of the peak: the weights can be read at {:.1f} GB/s\n", percent(share),
                   reading / 1e9);
    }
    return kSuccess;
}

}  // namespace tapestry::cli
