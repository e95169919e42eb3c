// tapestry bench attention: scaled_dot_product_attention alone, forward as in inference, and
// forward and backward as in training.
#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/examples/cli/bench.h>
#include <tapestry/examples/cli/bench_report.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/ops/attention.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace tapestry::cli {
namespace {

using Json = nlohmann::ordered_json;

// Both products of the forward pass, q k^T and P v, over the pairs that a query sees.
double forward_flops(const AttentionBenchSettings& s) {
    const auto context = static_cast<double>(s.context);
    const double pairs = s.causal ? context * (context + 1) / 2 : context * context;
    return 4 * pairs * static_cast<double>(s.head_dim * s.batch * s.heads);
}

std::vector<Measurement> measured(const AttentionBenchSettings& s) {
    Generator generator(1);
    const Shape shape{s.batch, s.heads, s.context, s.head_dim};
    Tensors qkv;
    for (int i = 0; i < 3; ++i)
        qkv.push_back(randn(shape, generator, s.type()).set_requires_grad());
    const Tensor g = randn(shape, generator, s.type());
    const auto attend = [&] {
        return scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {.causal = s.causal});
    };
    const auto size = static_cast<double>(g.bytes());
    const double flops = forward_flops(s);

    reset_peak_memory();
    Measurement forward{.what = "forward",
                        .times = timed(s.seconds, [&] { attend(); }),
                        .flops = flops,
                        .bytes = 4 * size};  // q, k, v; y
    forward.peak_bytes = memory_statistics().peak;

    reset_peak_memory();
    Measurement both{.what = "forward and backward",
                     .times = timed(s.seconds,
                                    [&] {
                                        Tape tape;
                                        tape.gradient(attend(), qkv, {.cotangent = g});
                                    }),
                     .flops = 3 * flops,
                     .bytes = 12 * size};  // and q, k, v, y, g; dq, dk, dv
    both.peak_bytes = memory_statistics().peak;
    return {forward, both};
}

}  // namespace

int bench_attention(const AttentionBenchSettings& s) {
    set_num_threads(s.threads);
    const MachinePeak peak = measure_peak(s.type());
    const std::string title =
        fmt::format("{}attention, batch {}, {} heads, context {}, {} per head, {}",
                    s.causal ? "causal " : "", s.batch, s.heads, s.context, s.head_dim, s.dtype);
    if (!s.json) {
        fmt::print("{}\n{}\n{}\n", peak_text(peak, s.type()), title, measurement_head());
    }
    Json rows = Json::array();
    for (const Measurement& m : measured(s)) {
        rows.push_back(Json::parse(measurement_json(m, peak)));
        if (!s.json) fmt::print("{}\n", measurement_text(m, peak));
    }
    if (s.json) {
        const Json json{{"what", title},
                        {"threads", num_threads()},
                        {"rows", rows},
                        {"ceiling", Json::parse(peak_json(peak, s.type()))}};
        fmt::print("{}\n", json.dump());
    }
    return kSuccess;
}

}  // namespace tapestry::cli
