// Benchmarks of single operations: matrix products, attention, and the other ops in a GPT's
// training step.
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/nn/bench/measurement.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry::bench {

// ---- matrix products ----------------------------------------------------------------------------

// Square products, or those of a GPT's layers.

/// C [m, n] = op(A) [m, k] op(B) [k, n].
struct Product {
    std::int64_t m,         ///< rows of A and C
        n,                  ///< columns of B and C
        k;                  ///< columns of A, rows of B
    std::string form;       ///< "NT": op(B) is a transpose, whose columns lie together in memory
    std::string name = {};  ///< "up dx", of a layer's
};

/// n x n for each size, in all four forms.
std::vector<Product> square_products(const std::vector<std::int64_t>& sizes);

/// Products of a GPT's linear layers, forward and backward: dim 128 and 384, 768 and 4096 rows.
std::vector<Product> gpt_products();

/// The matrix products to measure.
struct GemmOptions {
    DType dtype = DType::f32;                                        ///< of the operands
    double seconds = 0.2;                                            ///< for each product
    std::vector<std::int64_t> sizes{64, 128, 256, 512, 1024, 2048};  ///< of the square ones
    bool of_layers = false;  ///< a GPT's instead of square ones
};

/// One product and its speed.
struct GemmRow {
    Product product;          ///< its shape
    Measurement measurement;  ///< its time and work
};

/// Measures the products that the options select.
std::vector<GemmRow> measure_gemm(const GemmOptions& options, const Told& told = {});
std::vector<GemmRow> measure_gemm(const std::vector<Product>& products, const GemmOptions& options,
                                  const Told& told = {});

// ---- attention ----------------------------------------------------------------------------------

// Only scaled_dot_product_attention: forward as in inference, forward and backward as in training.

/// The attention to measure.
struct AttentionOptions {
    std::int64_t batch = 4;       ///< sequences, B
    std::int64_t heads = 6;       ///< of queries, H
    std::int64_t kv_heads = 0;    ///< of keys and values, which heads share; heads if 0
    std::int64_t context = 1024;  ///< tokens per sequence, T
    std::int64_t head_dim = 64;   ///< width of a head, D
    bool causal = true;           ///< no query sees later keys
    DType dtype = DType::f32;     ///< of queries, keys and values
    double seconds = 0.2;         ///< for each row
};

/// "causal attention, batch 4, 6 heads (over 2 of keys and values), context 1024, 64 per head, f32"
std::string title_of(const AttentionOptions& options);

/// Two rows: "forward", "forward and backward".
std::vector<Measurement> measure_attention(const AttentionOptions& options, const Told& told = {});

// ---- the other operations of a step -------------------------------------------------------------

// These are limited by memory, so bytes count: each number that must be read or written, once.

/// The sizes of a step.
struct OpsOptions {
    std::int64_t rows = 4096;  ///< batch times context
    std::int64_t dim = 384;    ///< width of the model
    std::int64_t vocab = 65;   ///< tokens in the vocabulary
    DType dtype = DType::f32;  ///< of the activations
    double seconds = 0.2;      ///< for each row of the table
};

/// A row for each op, and another for its backward if that has work to do; then the optimiser
/// updates, over the weights of one layer.
std::vector<Measurement> measure_ops(const OpsOptions& options, const Told& told = {});

}  // namespace tapestry::bench
