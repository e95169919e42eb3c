// Products with a matrix of whole numbers of eight bits, for those who write one token at a time.
#pragma once

#include <tapestry/ops/kernels/gemm_arguments.h>

namespace tapestry::kernels {

struct Int8Gemm {
    /// C = A B of few rows (gemm_few_rows.h), rows of A and columns of B being runs of memory,
    /// added up in f32 and in the order of f32's. On all threads, if that is worth it.
    void (*few_rows)(const GemmArguments<float, std::int8_t>& g);
};

}  // namespace tapestry::kernels
