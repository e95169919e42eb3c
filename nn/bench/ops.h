// What a training step of a GPT consists of besides its products. These wait for memory, so bytes
// are what counts: each number that must be read or written, once.
#pragma once

#include <tapestry/core/dtype.h>
#include <tapestry/nn/bench/measurement.h>

#include <cstdint>
#include <vector>

namespace tapestry::bench {

struct OpsOptions {
    std::int64_t rows = 4096;  ///< batch times context
    std::int64_t dim = 384;
    std::int64_t vocab = 65;
    DType dtype = DType::f32;
    double seconds = 0.2;  ///< for each row of the table
};

/// A row for each op, and another for its backward pass where it has work to do; then the
/// optimiser's, over the weights of one layer.
std::vector<Measurement> measure_ops(const OpsOptions& options, const Told& told = {});

}  // namespace tapestry::bench
