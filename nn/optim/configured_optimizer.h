// The base of the library's optimisers: it takes settings, their range checks and their place in a
// checkpoint from the fields of a configuration, so a class adds its moments and its step:
//
//     class Lion : public ConfiguredOptimizer<Lion, LionConfig> {
//     public:
//         explicit Lion(ParameterGroups groups, const LionConfig& config = {});
//         static std::vector<std::string> moments(const LionConfig&) { return {"m"}; }
//     protected:
//         void update_one(Slot& slot, double grad_scale) override;
//     };
//
// FieldsOf<LionConfig> lists what an OptimizerState keeps as settings: all but lr and weight_decay,
// which belong to Optimizer and to the groups. Read next: sgd.h, the shortest optimiser;
// optimizer_registry.h, where each of them has a row.
#pragma once

#include <tapestry/nn/module/config_fields.h>
#include <tapestry/nn/optim/optimizer.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapestry {

/// The largest number below 1, and the smallest above 0: bounds of settings.
inline constexpr double kBelowOne = 1 - std::numeric_limits<double>::epsilon() / 2;
inline constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();
/// A share in [0, 1).
inline constexpr FieldTraits kFraction{.low = 0, .high = kBelowOne};
/// A share in (0, 1).
inline constexpr FieldTraits kOpenFraction{.low = kAboveZero, .high = kBelowOne};
/// A finite number, at least 0.
inline constexpr FieldTraits kNotNegative{.low = 0, .high = std::numeric_limits<double>::max()};

/// Throws ValueError, naming `kind`, for a number outside a setting's bounds, and for one with a
/// fraction if `whole`.
void check_setting(const char* kind, const char* name, double value, const FieldTraits& traits,
                   bool whole);

/// The fields of a configuration as numbers; yes is 1.
template <class Config>
OptimizerState::Settings setting_values(const Config& config) {
    OptimizerState::Settings values;
    for_each_field<Config>([&](const auto& one) {
        if constexpr (std::is_arithmetic_v<typename std::decay_t<decltype(one)>::Value>) {
            values[one.name] = static_cast<double>(config.*one.member);
        }
    });
    return values;
}

/// `config` with those of its fields that have a value in `values`. Throws ValueError as
/// check_setting does.
template <class Config>
Config with_settings(const char* kind, Config config, const OptimizerState::Settings& values) {
    for_each_field<Config>([&](const auto& one) {
        using Value = typename std::decay_t<decltype(one)>::Value;
        const auto found = values.find(one.name);
        if (found == values.end()) return;
        if constexpr (std::is_same_v<Value, bool>) {
            config.*one.member = found->second != 0;
        } else if constexpr (std::is_arithmetic_v<Value>) {
            check_setting(kind, one.name, found->second, one.traits, std::is_integral_v<Value>);
            config.*one.member = static_cast<Value>(found->second);
        }
    });
    return config;
}

/// `Self` has `static std::vector<std::string> moments(const Config&)`: the names of the tensors
/// that are kept for a parameter. It may define `check`, for rules between settings.
template <class Self, class Config>
class ConfiguredOptimizer : public Optimizer {
public:
    /// The optimiser's name, for errors: "Lion".
    const char* kind() const override { return kind_; }

protected:
    /// `weight_decay` is for groups that set none.
    ConfiguredOptimizer(const char* kind, ParameterGroups groups, const Config& config,
                        double weight_decay)
        : Optimizer(std::move(groups), config.lr, weight_decay), kind_(kind), config_(config) {
        ConfiguredOptimizer::set_settings(setting_values(config));
    }
    ConfiguredOptimizer(const char* kind, ParameterGroups groups, const Config& config)
        : ConfiguredOptimizer(kind, std::move(groups), config, config.weight_decay) {}

    /// Rules between settings; none unless `Self` has its own.
    static void check(const Config& /*config*/) {}

    /// update_one for each, unless overridden: a class overrides one of the two.
    void update(const std::vector<Slot*>& slots, double grad_scale) override {
        for (Slot* slot : slots) update_one(*slot, grad_scale);
    }
    /// Steps one parameter, whose gradient is multiplied by `grad_scale` first.
    virtual void update_one(Slot& /*slot*/, double /*grad_scale*/) {
        fail("{}: it must override update or update_one", kind_);
    }

    /// The fields of the configuration as numbers; a rounding_seed only if there is rounding.
    Settings settings() const override {
        Settings values = setting_values(config_);
        if (!has_narrow()) values.erase("rounding_seed");
        return values;
    }
    /// Throws ValueError for a value out of range.
    void set_settings(const Settings& settings) override {
        const Config config = with_settings(kind_, config_, settings);
        Self::check(config);
        config_ = config;
    }
    /// The names of the tensors kept for a parameter under these settings.
    std::vector<std::string> moment_names(const Settings& settings) const override {
        return Self::moments(with_settings(kind_, config_, settings));
    }

    /// The present settings.
    const Config& config() const { return config_; }

private:
    const char* kind_;
    Config config_;
};

}  // namespace tapestry
