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

/// n x n, n = 64 to 2048, in all four forms.
std::vector<Product> square_products();

/// Those of the linear layers of a GPT, forward and backward: dim 128 and 384, 768 and 4096 rows.
std::vector<Product> gpt_products();

struct GemmOptions {
    DType dtype = DType::f32;
    double seconds = 0.2;  ///< for each product
};

struct GemmRow {
    Product product;
    Measurement measurement;
};

std::vector<GemmRow> measure_gemm(const std::vector<Product>& products, const GemmOptions& options,
                                  const Told& told = {});

}  // namespace tapestry::bench
