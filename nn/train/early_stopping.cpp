#include <tapestry/nn/train/early_stopping.h>

#include <cmath>

namespace tapestry {

EarlyStopping::EarlyStopping(Module& module, const EarlyStoppingOptions& options)
    : module_(module), options_(options) {
    require(options.patience >= 1, "EarlyStopping: patience {} is not positive", options.patience);
    require(options.min_delta >= 0 && std::isfinite(options.min_delta),
            "EarlyStopping: min_delta {} is not a finite number >= 0", options.min_delta);
}

bool EarlyStopping::operator()(const StepMetrics& metrics) {
    if (!metrics.val_loss) return true;
    if (*metrics.val_loss < best_loss_ - options_.min_delta) {
        best_loss_ = *metrics.val_loss;
        best_step_ = metrics.step;
        best_ = module_.state_dict();
        without_gain_ = 0;
        return true;
    }
    return ++without_gain_ < options_.patience;
}

void EarlyStopping::restore_best() {
    if (!best_.empty()) module_.load_state_dict(best_);
}

}  // namespace tapestry
