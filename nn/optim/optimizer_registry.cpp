#include <tapestry/nn/optim/optimizer_registry.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/muon.h>
#include <tapestry/nn/optim/sgd.h>

#include <fmt/ranges.h>

#include <optional>
#include <typeinfo>

namespace tapestry {
namespace {

double value_of(double weight_decay) { return weight_decay; }
double value_of(std::optional<double> weight_decay) { return weight_decay.value_or(0); }

template <class Config>
OptimizerOptions options_of(const Config& config) {
    OptimizerOptions options = setting_values(config);
    options["lr"] = config.lr;
    options["weight_decay"] = value_of(config.weight_decay);
    return options;
}

template <class Config>
Config config_from(const OptimizerOptions& options) {
    Config config = with_settings("optimizer", Config{}, options);
    config.lr = options.at("lr");
    return config;
}

// The row of T, whose step is element by element and whose options are called like the fields of
// its configuration. `usual` has the defaults.
template <class T, class Config>
OptimizerRow row(const char* name, const char* summary, const Config& usual,
                 bool rounds_bf16 = false) {
    return {.name = name,
            .summary = summary,
            .defaults = options_of(usual),
            .elementwise = true,
            .rounds_bf16 = rounds_bf16,
            .type = typeid(T),
            .make = [](const Module& model,
                       const OptimizerOptions& options) -> std::unique_ptr<Optimizer> {
                return std::make_unique<T>(decay_groups(model, options.at("weight_decay")),
                                           config_from<Config>(options));
            },
            .make_for = [](const ParameterGroups& groups) -> std::unique_ptr<Optimizer> {
                return std::make_unique<T>(groups);
            },
            .moments =
                [](const OptimizerOptions& options) {
                    return T::moments(with_settings("optimizer", Config{}, options));
                }};
}

// Muon's own options are called muon_...; the others are those of AdamW, which moves the rest.
OptimizerRow muon_row() {
    OptimizerRow row{
        .name = "muon",
        .summary = "orthogonal momentum for the matrices of the blocks, AdamW for the rest",
        .defaults = options_of(MuonConfig{.beta2 = 0.99, .weight_decay = 0.1}),
        .elementwise = false,
        .rounds_bf16 = false,
        .type = typeid(Muon),
        .make = [](const Module& model,
                   const OptimizerOptions& options) -> std::unique_ptr<Optimizer> {
            MuonGroups groups = muon_groups(model, options.at("weight_decay"));
            for (ParameterGroup& group : groups.matrices) group.lr_factor = options.at("muon_lr");
            OptimizerOptions named = options;
            named["momentum"] = options.at("muon_momentum");
            named["iterations"] = options.at("muon_iterations");
            return std::make_unique<Muon>(groups, config_from<MuonConfig>(named));
        },
        .make_for = nullptr,
        .moments = [](const OptimizerOptions&) { return Muon::moments({}); }};
    for (const char* own : {"momentum", "iterations"}) {
        row.defaults[fmt::format("muon_{}", own)] = row.defaults.at(own);
        row.defaults.erase(own);
    }
    row.defaults["muon_lr"] = 1;
    return row;
}

}  // namespace

// AdamW's defaults are nanoGPT's for small models. Lion's rate is a third of AdamW's and its decay
// three times as large; Chen et al. 2023, section 5, advise a factor of 3 to 10. SGD, RMSprop and
// Adam add decay to the gradient, where a tenth would be too much: they have little or none.
const std::vector<OptimizerRow>& optimizer_rows() {
    static const std::vector<OptimizerRow> rows{
        row<SGD>("sgd", "gradient descent with momentum",
                 SGDConfig{.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4}, true),
        row<RMSprop>("rmsprop", "divides each gradient by the root of its mean square",
                     RMSpropConfig{.lr = 1e-3}),
        row<Adam>("adam", "RMSprop with a mean of gradients; decay is added to the gradient",
                  AdamConfig{.beta2 = 0.99}, true),
        row<AdamW>("adamw", "Adam with decoupled weight decay",
                   AdamConfig{.beta2 = 0.99, .weight_decay = 0.1}, true),
        row<Lion>("lion", "the sign of a mean of gradients; half of Adam's memory",
                  LionConfig{.lr = 3e-4, .weight_decay = 0.3}),
        muon_row()};
    return rows;
}

std::vector<std::string> optimizer_names() {
    std::vector<std::string> names;
    for (const OptimizerRow& row : optimizer_rows()) names.emplace_back(row.name);
    return names;
}

const OptimizerRow& optimizer_row(std::string_view name) {
    for (const OptimizerRow& row : optimizer_rows()) {
        if (row.name == name) return row;
    }
    fail("optimizer: unknown optimizer {}; must be one of {}", utf8::quoted(name),
         fmt::join(optimizer_names(), ", "));
}

const OptimizerRow* find_row(const Optimizer& optimizer) {
    for (const OptimizerRow& row : optimizer_rows()) {
        if (row.type == typeid(optimizer)) return &row;
    }
    return nullptr;
}

std::unique_ptr<Optimizer> make_optimizer(const Module& model, std::string_view name,
                                          const OptimizerOptions& options) {
    const OptimizerRow& row = optimizer_row(name);
    OptimizerOptions all = row.defaults;
    for (const auto& [option, value] : options) {
        require(all.contains(option), "optimizer: {} has no {}", name, utf8::quoted(option));
        all[option] = value;
    }
    return row.make(model, all);
}

}  // namespace tapestry
