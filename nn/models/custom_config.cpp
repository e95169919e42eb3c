#include <tapestry/nn/models/custom_config.h>

namespace tapestry {

double parameter_count(const CustomConfig& config) {
    return static_cast<double>(config.parameters);
}

double training_bytes(const CustomConfig& config, std::int64_t batch, std::int64_t gradient_sets,
                      std::int64_t moments) {
    const auto copies = static_cast<double>(1 + gradient_sets + moments);
    const double tokens = static_cast<double>(batch) * static_cast<double>(config.context);
    const double vectors = 1 + 17 * static_cast<double>(config.layers);
    return 4 *
           (copies * parameter_count(config) + tokens * vectors * static_cast<double>(config.dim));
}

double step_flops(const CustomConfig& config, std::int64_t batch) {
    return 6 * parameter_count(config) * static_cast<double>(batch) *
           static_cast<double>(config.context);
}

}  // namespace tapestry
