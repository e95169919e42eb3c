#include <tapestry/nn/bench/attention.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/ops/attention.h>

#include <fmt/format.h>

namespace tapestry::bench {
namespace {

// Both products of the forward pass, q k^T and P v, over the pairs that a query sees.
double forward_flops(const AttentionOptions& o) {
    const auto context = static_cast<double>(o.context);
    const double pairs = o.causal ? context * (context + 1) / 2 : context * context;
    return 4 * pairs * static_cast<double>(o.head_dim * o.batch * o.heads);
}

}  // namespace

std::string title_of(const AttentionOptions& o) {
    const std::string shared =
        o.kv_heads == 0 ? "" : fmt::format(" over {} of keys and values", o.kv_heads);
    return fmt::format("{}attention, batch {}, {} heads{}, context {}, {} per head, {}",
                       o.causal ? "causal " : "", o.batch, o.heads, shared, o.context, o.head_dim,
                       name_of(o.dtype));
}

std::vector<Measurement> measure_attention(const AttentionOptions& o, const Told& told) {
    Generator generator(1);
    const Shape shape{o.batch, o.heads, o.context, o.head_dim};
    Shape shared = shape;
    if (o.kv_heads > 0) shared[1] = o.kv_heads;
    Tensors qkv;
    for (const Shape& one : {shape, shared, shared}) {
        qkv.push_back(randn(one, generator, o.dtype).set_requires_grad());
    }
    const Tensor g = randn(shape, generator, o.dtype);
    const auto attend = [&] {
        return scaled_dot_product_attention(qkv[0], qkv[1], qkv[2],
                                            {.causal = o.causal, .grouped = true});
    };
    const auto both = [&] {
        Tape tape;
        tape.gradient(attend(), qkv, {.cotangent = g});
    };
    const auto size = static_cast<double>(g.bytes()), keys = static_cast<double>(qkv[1].bytes());
    const double flops = forward_flops(o);

    std::vector<Measurement> rows;
    const auto add = [&](Measurement m, const std::function<void()>& f) {
        reset_peak_memory();
        m.times = timed(o.seconds, f);
        m.peak_bytes = memory_statistics().peak;
        rows.push_back(m);
        if (told) told(m);
    };
    add({.what = "forward", .flops = flops, .bytes = 2 * size + 2 * keys}, attend);  // q, k, v; y
    add({.what = "forward and backward", .flops = 3 * flops, .bytes = 6 * size + 6 * keys},
        both);  // and q, k, v, y, g; dq, dk, dv
    return rows;
}

}  // namespace tapestry::bench
