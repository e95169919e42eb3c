// Matrix products: square ones, or those that the layers of a GPT ask for.
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/nn/bench/measurement.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry::bench {

/// C [m, n] = op(A) [m, k] op(B) [k, n].
struct Product {
    std::int64_t m, n, k;
    std::string form;       ///< "NT": op(B) is a transpose, whose columns lie together in memory
    std::string name = {};  ///< "up dx", of a layer's
};

/// n x n for each of these, in all four forms.
std::vector<Product> square_products(const std::vector<std::int64_t>& sizes);

/// Those of the linear layers of a GPT, forward and backward: dim 128 and 384, 768 and 4096 rows.
std::vector<Product> gpt_products();

struct GemmOptions {
    DType dtype = DType::f32;
    double seconds = 0.2;                                            ///< for each product
    std::vector<std::int64_t> sizes{64, 128, 256, 512, 1024, 2048};  ///< of the square ones
    bool of_layers = false;  ///< a GPT's instead of square ones
};

struct GemmRow {
    Product product;
    Measurement measurement;
};

/// What the options ask for.
std::vector<GemmRow> measure_gemm(const GemmOptions& options, const Told& told = {});
std::vector<GemmRow> measure_gemm(const std::vector<Product>& products, const GemmOptions& options,
                                  const Told& told = {});

}  // namespace tapestry::bench
