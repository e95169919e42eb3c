// What a training step of a GPT has to compute, from the sizes of the model alone. Speeds and
// shares of the peak that are counted this way can be compared between programs that take other
// ways to the same gradients.
#pragma once

#include <tapestry/nn/models/gpt.h>

namespace tapestry::cli {

/// Floating-point operations of the products of one step, the rest being small beside them: forward
/// 2 per token and number of a weight matrix, and per query 4 dim for each key that it sees (q k^T
/// and P v; half of all pairs, for the model looks back alone); backward twice that. With L layers
/// of width d, V tokens in the vocabulary, T in the context, and 4 d hidden units that is
///     B T (72 L d^2 + 6 d V + 6 L d (T + 1)).
double step_flops(const GPTConfig& config, std::int64_t batch);

}  // namespace tapestry::cli
