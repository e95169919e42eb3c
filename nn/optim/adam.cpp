#include <tapestry/nn/optim/adam.h>

#include <tapestry/core/random.h>
#include <tapestry/ops/optimizer_step.h>

#include <algorithm>
#include <cmath>

namespace tapestry {
namespace {

constexpr const char* kSeed = "rounding_seed";

bool has_bf16(const Tensors& parameters) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [](const Tensor& p) { return p.dtype() == DType::bf16; });
}

}  // namespace

Adam::Adam(ParameterGroups groups, const AdamConfig& config, bool decoupled)
    : Optimizer(std::move(groups), config.lr, config.weight_decay.value_or(decoupled ? 0.01 : 0)),
      decoupled_(decoupled),
      rounds_(has_bf16(parameters())) {
    set_settings({{"beta1", config.beta1},
                  {"beta2", config.beta2},
                  {"eps", config.eps},
                  {kSeed, static_cast<double>(config.rounding_seed)}});
}

Optimizer::Settings Adam::settings() const {
    Settings settings{{"beta1", beta1_}, {"beta2", beta2_}, {"eps", eps_}};
    if (rounds_) settings[kSeed] = static_cast<double>(rounding_seed_);
    return settings;
}

void Adam::set_settings(const Settings& settings) {
    const double beta1 = settings.at("beta1"), beta2 = settings.at("beta2");
    const double eps = settings.at("eps");
    const auto fraction = [](double beta) { return beta >= 0 && beta < 1; };
    require(fraction(beta1) && fraction(beta2) && eps >= 0 && std::isfinite(eps),
            "{}: beta1 {}, beta2 {} must lie in [0, 1) and eps {} be finite and not negative",
            kind(), beta1, beta2, eps);
    const auto seed = settings.find(kSeed);
    if (seed != settings.end()) {
        require(
            seed->second >= 0 && seed->second <= 0x1p53 && seed->second == std::floor(seed->second),
            "{}: rounding_seed {} is no whole number from 0 to 2^53", kind(), seed->second);
        rounding_seed_ = static_cast<std::uint64_t>(seed->second);
    }
    beta1_ = beta1;
    beta2_ = beta2;
    eps_ = eps;
}

// The running means of g and of g^2.
std::vector<std::string> Adam::moment_names(const Settings&) const { return {"m", "v"}; }

void Adam::update(const std::vector<Slot*>& slots, double grad_scale) {
    AdamUpdate update{.beta1 = beta1_,
                      .beta2 = beta2_,
                      .eps = eps_,
                      .decoupled = decoupled_,
                      .grad_scale = grad_scale};
    RecycledVector<AdamParameter> all;
    all.reserve(slots.size());
    for (const Slot* slot : slots) {
        if (slot->parameter.dtype() == DType::bf16) {
            const auto step = static_cast<std::uint64_t>(slot->steps);
            update.rounding_key = stream(rounding_seed_, slot->part.of, step).seed();
            update.first = slot->part.first;
        }
        all.push_back(adam_step(*slot, update));
    }
    adamw_update_(all);
}

// ---- RMSprop ------------------------------------------------------------------------------------

RMSprop::RMSprop(ParameterGroups groups, const RMSpropConfig& config)
    : Optimizer(std::move(groups), config.lr, config.weight_decay) {
    set_settings({{"alpha", config.alpha},
                  {"eps", config.eps},
                  {"momentum", config.momentum},
                  {"centered", config.centered ? 1 : 0}});
}

Optimizer::Settings RMSprop::settings() const {
    return {
        {"alpha", alpha_}, {"eps", eps_}, {"momentum", momentum_}, {"centered", centered_ ? 1 : 0}};
}

void RMSprop::set_settings(const Settings& settings) {
    const double alpha = settings.at("alpha"), eps = settings.at("eps");
    const double momentum = settings.at("momentum");
    require(
        alpha >= 0 && alpha < 1 && momentum >= 0 && momentum < 1 && eps >= 0 && std::isfinite(eps),
        "RMSprop: alpha {}, momentum {} must lie in [0, 1) and eps {} be finite and not "
        "negative",
        alpha, momentum, eps);
    alpha_ = alpha;
    eps_ = eps;
    momentum_ = momentum;
    centered_ = settings.at("centered") != 0;
}

// The running means of g^2 and, if centred, of g; the velocity last.
std::vector<std::string> RMSprop::moment_names(const Settings& settings) const {
    std::vector<std::string> names{"v"};
    if (settings.at("centered") != 0) names.emplace_back("mean");
    if (settings.at("momentum") > 0) names.emplace_back("momentum");
    return names;
}

void RMSprop::update(const std::vector<Slot*>& slots, double grad_scale) {
    Tensor none;
    for (Slot* slot : slots) {
        Tensors& moments = slot->moments;
        rmsprop_update_(slot->parameter, slot->parameter.grad(), moments.front(),
                        centered_ ? moments[1] : none, momentum_ > 0 ? moments.back() : none,
                        {.lr = lr_of(*slot),
                         .alpha = alpha_,
                         .eps = eps_,
                         .weight_decay = weight_decay_of(*slot),
                         .momentum = momentum_,
                         .centered = centered_,
                         .grad_scale = grad_scale});
    }
}

// ---- Lion ---------------------------------------------------------------------------------------

Lion::Lion(ParameterGroups groups, const LionConfig& config)
    : Optimizer(std::move(groups), config.lr, config.weight_decay) {
    set_settings({{"beta1", config.beta1}, {"beta2", config.beta2}});
}

Optimizer::Settings Lion::settings() const { return {{"beta1", beta1_}, {"beta2", beta2_}}; }

void Lion::set_settings(const Settings& settings) {
    const double beta1 = settings.at("beta1"), beta2 = settings.at("beta2");
    const auto fraction = [](double beta) { return beta >= 0 && beta < 1; };
    require(fraction(beta1) && fraction(beta2), "Lion: beta1 {}, beta2 {} must lie in [0, 1)",
            beta1, beta2);
    beta1_ = beta1;
    beta2_ = beta2;
}

// The running mean of g.
std::vector<std::string> Lion::moment_names(const Settings&) const { return {"m"}; }

void Lion::update(const std::vector<Slot*>& slots, double grad_scale) {
    for (Slot* slot : slots) {
        lion_update_(slot->parameter, slot->parameter.grad(), slot->moments[0],
                     {.lr = lr_of(*slot),
                      .beta1 = beta1_,
                      .beta2 = beta2_,
                      .weight_decay = weight_decay_of(*slot),
                      .grad_scale = grad_scale});
    }
}

}  // namespace tapestry
