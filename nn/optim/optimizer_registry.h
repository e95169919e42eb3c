// The table of the library's optimisers, a row for each. Training by name, the command line and
// its help, checkpoints, the memory estimate, and data-parallel slices all read it:
//
//     auto optimizer = make_optimizer(model, "lion", {{"lr", 3e-4}});
//
// To add an optimiser, write its class (configured_optimizer.h) and its row
// (optimizer_registry.cpp). If it has a new option, also add a field for it,
// with its meaning and bounds, to nn/train/training_config.h.
#pragma once

#include <tapestry/nn/optim/optimizer.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

namespace tapestry {

/// Options of an optimiser by name: "lr", "beta1", "momentum", "weight_decay". Yes is 1.
using OptimizerOptions = std::map<std::string, double>;

/// An optimiser that can be chosen by name.
struct OptimizerRow {
    const char* name;           ///< on the command line: "adamw"
    const char* summary;        ///< for help
    OptimizerOptions defaults;  ///< for training a GPT; exactly the options that it has
    /// Whether a number's step depends on that number's own gradient and state. Then its step can
    /// be cut anywhere, and each of several processes takes a slice of it.
    bool elementwise;
    /// Whether it rounds bf16 parameters stochastically; to nearest, small steps would be lost.
    bool rounds_bf16;
    std::type_index type;  ///< of its class
    /// Matrices of the model decay by options.at("weight_decay"), other parameters do not.
    std::unique_ptr<Optimizer> (*make)(const Module& model, const OptimizerOptions& options);
    /// For these groups, with the class's own defaults; null unless elementwise.
    std::unique_ptr<Optimizer> (*make_for)(const ParameterGroups& groups);
    /// The names of the tensors that it keeps for a parameter, under these options; the most
    /// that it can have.
    std::vector<std::string> (*moments)(const OptimizerOptions& options);
};

/// All optimisers of the library.
const std::vector<OptimizerRow>& optimizer_rows();

/// Two names, as TrainingConfig::optimizer had them when it was an enumeration.
struct OptimizerKind {
    static constexpr const char* adamw = "adamw";  ///< AdamW for all parameters
    static constexpr const char* muon =
        "muon";  ///< Muon for the blocks' matrices, AdamW for the rest
};

/// "sgd", "rmsprop", ...: the names of all rows.
std::vector<std::string> optimizer_names();

/// The row of this name. Throws ValueError, with the names that there are, if there is none.
const OptimizerRow& optimizer_row(std::string_view name);

/// The row of this optimiser's class; null for a custom one.
const OptimizerRow* find_row(const Optimizer& optimizer);

/// An optimiser for what is not frozen of a model. Options that are not given have the row's
/// defaults. Throws ValueError for an unknown name, an option that the optimiser does not have, and
/// values that it refuses.
std::unique_ptr<Optimizer> make_optimizer(const Module& model, std::string_view name,
                                          const OptimizerOptions& options = {});

}  // namespace tapestry
