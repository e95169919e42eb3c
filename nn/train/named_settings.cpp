#include <tapestry/nn/train/named_settings.h>

#include <algorithm>

namespace tapestry {
namespace {

template <class Config>
void take_all_but(const std::vector<std::string>& given, Config& config, const Config& from) {
    for_each_field<Config>([&](const auto& one) {
        if (std::find(given.begin(), given.end(), one.name) != given.end()) return;
        config.*one.member = from.*one.member;
    });
}

// Written for characters, the default model's size and two thousand times as many tokens as it has
// time for: few steps at a high rate, of a model that need not learn first what can be told to it.
TrainingConfig fast() {
    TrainingConfig config{.recipe = Recipe::fast};
    config.model.activation = Activation::relu_squared;
    config.model.positions = Positions::rotary;
    config.model.qk_norm = QKNorm::rms;
    config.model.bias = false;
    config.model.tied_head = false;
    config.model.zero_outputs = true;
    config.model.earlier = 2;
    config.optimizer = OptimizerKind::muon;
    config.muon_momentum = 0.8;
    config.muon_iterations = 3;
    config.steps = 260;
    config.lr = 6e-3;
    config.min_lr = 0;
    config.warmup = 20;
    config.eval_every = config.steps;
    config.eval_batches = 200;
    return config;
}

}  // namespace

TrainingConfig settings_of(Recipe recipe) {
    switch (recipe) {
        case Recipe::standard: return {};
        case Recipe::fast: return fast();
    }
    fail("training: unknown recipe");
}

void fill_in_recipe(TrainingConfig& config, const std::vector<std::string>& given) {
    std::vector<std::string> kept = given;
    kept.emplace_back("recipe");
    const TrainingConfig from = settings_of(config.recipe);
    take_all_but(kept, config, from);
    take_all_but(kept, config.model, from.model);
}

}  // namespace tapestry
