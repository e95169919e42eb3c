// scaled_dot_product_attention alone: forward as in inference, forward and backward as in training.
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/nn/bench/measurement.h>

#include <cstdint>
#include <vector>

namespace tapestry::bench {

struct AttentionOptions {
    std::int64_t batch = 4;
    std::int64_t heads = 6;
    std::int64_t kv_heads = 0;  ///< of keys and values, which heads share; heads if 0
    std::int64_t context = 1024;
    std::int64_t head_dim = 64;
    bool causal = true;
    DType dtype = DType::f32;
    double seconds = 0.2;  ///< for each row
};

/// "causal attention, batch 4, 6 heads (over 2 of keys and values), context 1024, 64 per head, f32"
std::string title_of(const AttentionOptions& options);

/// Two rows: "forward", "forward and backward".
std::vector<Measurement> measure_attention(const AttentionOptions& options, const Told& told = {});

}  // namespace tapestry::bench
