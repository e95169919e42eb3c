// tapestry bench step: a whole training step, as `tapestry train` takes it. Nothing watches it;
// where the time goes is what `tapestry profile` tells.
#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/examples/cli/bench.h>
#include <tapestry/examples/cli/bench_report.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace tapestry::cli {

using Json = nlohmann::ordered_json;

int bench_step(const BenchSettings& s) {
    set_num_threads(s.threads);
    check_memory(s.model, s.batch);
    Generator generator(1);
    GPT model(s.model, generator);
    AdamW optimizer(decay_groups(model, 0.1), {.lr = 1e-3, .beta2 = 0.99});
    const MachinePeak peak = measure_peak();
    if (!s.json) fmt::print("{}\n", peak_text(peak, DType::f32));
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

    const Measurement m{.what = "step",
                        .times = times_of(seconds),
                        .flops = step_flops(s.model, s.batch),
                        .peak_bytes = memory_statistics().peak};
    const double tokens = static_cast<double>(s.batch * s.model.context) / m.times.median;
    const double gflops = m.flops / m.times.median / 1e9;
    if (s.json) {
        const Json json{{"median_ms", 1e3 * m.times.median},
                        {"min_ms", 1e3 * m.times.min},
                        {"tokens_per_s", tokens},
                        {"gflops", gflops},
                        {"share", m.share(peak)},
                        {"peak_bytes", m.peak_bytes},
                        {"parameters", model.parameter_count()},
                        {"threads", num_threads()},
                        {"ceiling", Json::parse(peak_json(peak, DType::f32))}};
        fmt::print("{}\n", json.dump());
    } else {
        fmt::print("{} parameters, {} threads: median {:.2f} ms, fastest {:.2f} ms per step\n",
                   model.parameter_count(), num_threads(), 1e3 * m.times.median, 1e3 * m.times.min);
        fmt::print("{:.0f} tokens/s, {:.1f} GFLOP/s ({} of the peak), at most {:.0f} MB\n", tokens,
                   gflops, percent(m.share(peak)), static_cast<double>(m.peak_bytes) / 1e6);
    }
    return kSuccess;
}

}  // namespace tapestry::cli
