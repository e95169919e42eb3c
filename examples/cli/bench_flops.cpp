#include <tapestry/examples/cli/bench_flops.h>

namespace tapestry::cli {

double step_flops(const GPTConfig& config, std::int64_t batch) {
    const auto layers = static_cast<double>(config.layers);
    const auto dim = static_cast<double>(config.dim);
    const auto context = static_cast<double>(config.context);
    const double hidden = config.hidden == 0 ? 4 * dim : static_cast<double>(config.hidden);
    const double wide = config.activation == Activation::swiglu ? 3 : 2;  // matrices
    const double weights =
        layers * (4 * dim * dim + wide * dim * hidden) + dim * static_cast<double>(config.vocab);
    const double pairs = context * (context + 1) / 2;
    const double forward = 2 * weights * context + 4 * layers * dim * pairs;  // of one sequence
    return 3 * forward * static_cast<double>(batch);
}

}  // namespace tapestry::cli
