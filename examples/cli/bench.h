// `tapestry bench` has a file for each of its parts. What they share: the settings.
#pragma once

#include <tapestry/core/parallel.h>
#include <tapestry/nn/models/gpt.h>

#include <string>

namespace tapestry::cli {

struct BenchSettings {
    GPTConfig model{.vocab = 65};
    std::int64_t batch = 12;
    std::int64_t steps = 50;
    std::int64_t tokens = 256;
    std::string dtype = "f32";
    bool model_shapes = false;  ///< of the products
    double seconds = 0.2;       ///< for each row of a table
    int threads = num_threads();
    bool json = false;

    DType type() const { return dtype == "f64" ? DType::f64 : DType::f32; }
};

struct AttentionBenchSettings : BenchSettings {
    std::int64_t heads = 6;
    std::int64_t context = 1024;
    std::int64_t head_dim = 64;
    bool causal = true;
};

struct OpsBenchSettings : BenchSettings {
    std::int64_t rows = 4096;
    std::int64_t dim = 384;
    std::int64_t vocab = 65;
};

int bench_step(const BenchSettings& s);
int bench_gemm(const BenchSettings& s);
int bench_attention(const AttentionBenchSettings& s);
int bench_ops(const OpsBenchSettings& s);
int bench_sample(const BenchSettings& s);

}  // namespace tapestry::cli
