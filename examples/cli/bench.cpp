// tapestry bench: how fast a training step, a matrix product and writing are, here and now.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/matmul.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

namespace tapestry::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BenchSettings {
    GPTConfig model{.vocab = 65};
    std::int64_t batch = 12;
    std::int64_t steps = 50;
    std::int64_t tokens = 256;
    int threads = num_threads();
    bool json = false;
};

struct Times {
    double median;
    double min;
};

Times sorted_times(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    return {seconds[seconds.size() / 2], seconds.front()};
}

// ---- a training step ----------------------------------------------------------------------------

// Floating-point operations of one step: 6 per parameter and token (2 forward, 4 backward), and
// attention's two products over the half of the scores that a causal model needs.
double step_flops(const GPT& model, std::int64_t batch) {
    const GPTConfig& c = model.config();
    const auto tokens = static_cast<double>(batch * c.context);
    return 6 * static_cast<double>(model.parameter_count()) * tokens +
           6 * static_cast<double>(c.layers * c.dim * c.context) * tokens;
}

int bench_step(const BenchSettings& s) {
    set_num_threads(s.threads);
    check_memory(s.model, s.batch);
    Generator generator(1);
    GPT model(s.model, generator);
    AdamW optimizer(decay_groups(model, 0.1), {.lr = 1e-3, .beta2 = 0.99});
    constexpr std::int64_t kWarmUp = 5;
    std::vector<double> seconds;
    const TrainCallbacks callbacks{
        .loss =
            [&] {  // fresh random tokens each step, as a real training has
                const Tensor ids =
                    randint(0, s.model.vocab, {s.batch, s.model.context + 1}, generator);
                return model.loss(views::slice(ids, 1, 0, s.model.context),
                                  views::slice(ids, 1, 1, s.model.context + 1));
            },
        .evaluate = {},
        .report =
            [&](const StepMetrics& m) {
                if (m.step == kWarmUp) reset_peak_memory();
                if (m.step > kWarmUp) seconds.push_back(m.step_seconds);
                return true;
            }};
    train(optimizer, {.steps = s.steps + kWarmUp}, callbacks);

    const Times times = sorted_times(seconds);
    const double tokens = static_cast<double>(s.batch * s.model.context) / times.median;
    const double gflops = step_flops(model, s.batch) / times.median / 1e9;
    const std::size_t peak = memory_statistics().peak;
    if (s.json) {
        const Json json{{"median_ms", 1e3 * times.median},
                        {"min_ms", 1e3 * times.min},
                        {"tokens_per_s", tokens},
                        {"gflops", gflops},
                        {"peak_bytes", peak},
                        {"parameters", model.parameter_count()},
                        {"threads", num_threads()}};
        fmt::print("{}\n", json.dump());
    } else {
        fmt::print("{} parameters, {} threads: median {:.2f} ms, fastest {:.2f} ms per step\n",
                   model.parameter_count(), num_threads(), 1e3 * times.median, 1e3 * times.min);
        fmt::print("{:.0f} tokens/s, {:.1f} GFLOP/s, {:.0f} MB at the peak\n", tokens, gflops,
                   static_cast<double>(peak) / 1e6);
    }
    return kSuccess;
}

// ---- matrix products ----------------------------------------------------------------------------

// Median GFLOP/s of op(A) op(B), n x n, transposed as asked.
double gemm_gflops(std::int64_t n, bool transpose_a, bool transpose_b) {
    Generator generator(1);
    const auto operand = [&](bool transposed) {
        const Tensor x = randn({n, n}, generator);
        return transposed ? views::transpose(x, 0, 1) : x;
    };
    const Tensor a = operand(transpose_a);
    const Tensor b = operand(transpose_b);
    const double flops = 2.0 * static_cast<double>(n * n * n);
    const auto repeats = static_cast<int>(std::clamp(2e10 / flops, 7.0, 2000.0));
    std::vector<double> seconds;
    for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        matmul(a, b);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (i > 0) seconds.push_back(taken.count());
    }
    return flops / sorted_times(seconds).median / 1e9;
}

int bench_gemm(const BenchSettings& s) {
    set_num_threads(s.threads);
    Json rows = Json::array();
    if (!s.json)
        fmt::print("f32, {} threads, GFLOP/s\n{:>6}{:>9}{:>9}{:>9}{:>9}\n", num_threads(), "n",
                   "NN", "NT", "TN", "TT");
    for (const std::int64_t n : {64, 128, 256, 512, 1024, 2048}) {
        const double nn = gemm_gflops(n, false, false);
        const double nt = gemm_gflops(n, false, true);
        const double tn = gemm_gflops(n, true, false);
        const double tt = gemm_gflops(n, true, true);
        rows.push_back({{"n", n}, {"nn", nn}, {"nt", nt}, {"tn", tn}, {"tt", tt}});
        if (!s.json) fmt::print("{:>6}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}\n", n, nn, nt, tn, tt);
    }
    if (s.json) fmt::print("{}\n", Json{{"threads", num_threads()}, {"gflops", rows}}.dump());
    return kSuccess;
}

// ---- writing ------------------------------------------------------------------------------------

// Seconds to write s.tokens tokens at temperature 0, and the tokens.
std::pair<double, std::vector<std::int64_t>> timed_sample(const GPT& model, const BenchSettings& s,
                                                          bool cache) {
    Generator generator(1);
    const SampleOptions options{.tokens = s.tokens, .temperature = 0, .cache = cache};
    const auto start = std::chrono::steady_clock::now();
    auto ids = sample(model, {0}, options, generator);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return {taken.count(), std::move(ids)};
}

int bench_sample(const BenchSettings& s) {
    set_num_threads(s.threads);
    check_memory(s.model, 1);
    Generator generator(1);
    GPT model(s.model, generator);
    model.eval();
    timed_sample(model, s, true);  // warm-up
    const auto [with, ids] = timed_sample(model, s, true);
    const auto [without, same] = timed_sample(model, s, false);
    const auto count = static_cast<double>(s.tokens);
    // The least that one token needs: every weight read once. Embeddings are looked up, not read.
    const double bytes =
        4 * static_cast<double>(model.parameter_count() - s.model.context * s.model.dim);
    if (s.json) {
        const Json json{{"tokens_per_s", count / with},
                        {"tokens_per_s_without_cache", count / without},
                        {"gb_per_s", bytes * count / with / 1e9},
                        {"same_tokens", ids == same},
                        {"threads", num_threads()}};
        fmt::print("{}\n", json.dump());
    } else {
        fmt::print(
            "{} parameters, {} threads: {:.0f} tokens/s ({:.1f} GB/s of weights); without "
            "the cache {:.0f} tokens/s, {} tokens\n",
            model.parameter_count(), num_threads(), count / with, bytes * count / with / 1e9,
            count / without, ids == same ? "the same" : "other");
    }
    return kSuccess;
}

}  // namespace

void add_bench(CLI::App& app, Run& run) {
    auto s = std::make_shared<BenchSettings>();
    CLI::App& bench = *app.add_subcommand("bench", "Measure speed");
    bench.require_subcommand(1);

    CLI::App& step = *bench.add_subcommand("step", "One training step on random tokens");
    add_model_options(step, s->model, s->batch);
    step.add_option("--vocab", s->model.vocab, "Tokens in the vocabulary")
        ->capture_default_str()
        ->check(count_from(1));
    step.add_option("--steps", s->steps, "Steps to measure")
        ->capture_default_str()
        ->check(count_from(1));
    add_threads(step, s->threads);
    step.add_flag("--json", s->json, "Print one JSON object");
    step.callback([s, &run] { run = [s] { return bench_step(*s); }; });

    CLI::App& gemm = *bench.add_subcommand("gemm", "Square matrix products, all transpositions");
    add_threads(gemm, s->threads);
    gemm.add_flag("--json", s->json, "Print one JSON object");
    gemm.callback([s, &run] { run = [s] { return bench_gemm(*s); }; });

    CLI::App& sample = *bench.add_subcommand("sample", "Writing tokens one at a time");
    add_model_options(sample, s->model, s->batch);
    sample.add_option("--tokens", s->tokens, "Tokens to write")
        ->capture_default_str()
        ->check(count_from(1));
    add_threads(sample, s->threads);
    sample.add_flag("--json", s->json, "Print one JSON object");
    sample.callback([s, &run] { run = [s] { return bench_sample(*s); }; });
}

}  // namespace tapestry::cli
