// What all optimisers share: parameters by name, in groups; a learning rate; what is remembered of
// every parameter (its moments), given out and taken back under its name.
//
//     const OptimizerState kept = optimizer.state();   // a copy
//     optimizer.load_state(kept);                      // back to where it stood
//
// A training that would go wrong in silence is an error of its first step: see step(). Read next:
// configured_optimizer.h, the library's optimisers, and optimizer_registry.h, the table of them;
// nn/io/checkpoint.h, a state in a file.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/ops/optimizer_step.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

// ---- what an optimiser is given -----------------------------------------------------------------

// Parameters and their names, in groups that share their settings:
//
//     AdamW all(model, {.lr = 1e-3});                       // what is not frozen
//     AdamW some(decay_groups(model, 0.1), {.lr = 1e-3});
//     SGD plain({{.parameters = {w, b}, .lr_factor = 0.1}}, {.lr = 1e-2});
//
// Under the names an optimiser gives its state out and takes it back.

/// Parameters by name. Those that come as plain tensors are called "0", "1", ... in the order in
/// which the optimiser was given them.
class ParameterList : public NamedTensors {
public:
    ParameterList() = default;
    /// Parameters with their names: Module::named_parameters().
    ParameterList(NamedTensors named) : NamedTensors(std::move(named)) {}
    /// Parameters with their names.
    ParameterList(std::initializer_list<value_type> named) : NamedTensors(named) {}
    /// Named "0", "1", ...
    ParameterList(const Tensors& tensors);
    /// Named "0", "1", ...
    ParameterList(std::initializer_list<Tensor> tensors) : ParameterList(Tensors(tensors)) {}
};

/// Parameters that share their settings.
struct ParameterGroup {
    ParameterList parameters;                 ///< the group's parameters
    std::optional<double> weight_decay = {};  ///< the optimiser's own if not given
    double lr_factor = 1;                     ///< times the optimiser's learning rate
};

/// One group or several; a module is one group with its parameters.
class ParameterGroups : public std::vector<ParameterGroup> {
public:
    ParameterGroups() = default;
    /// Several groups, as decay_groups() makes them.
    ParameterGroups(std::vector<ParameterGroup> groups) : vector(std::move(groups)) {}
    /// Several groups.
    ParameterGroups(std::initializer_list<ParameterGroup> groups) : vector(groups) {}
    /// All parameters of a module.
    ParameterGroups(const Module& module) : ParameterGroups(module.named_parameters()) {}
    /// Parameters named "0", "1", ...
    ParameterGroups(const Tensors& parameters) : vector{{.parameters = parameters}} {}
    /// Parameters with their names.
    ParameterGroups(const NamedTensors& parameters) : vector{{.parameters = parameters}} {}
};

/// Two groups: tensors of rank 2 and above decay, norms' weights and biases (rank 0 and 1) do not.
std::vector<ParameterGroup> decay_groups(const Module& model, double weight_decay);

/// The state of an optimiser as a value: all that its next step depends on except parameters
/// and gradients. Optimizer::state() returns it, Optimizer::load_state() restores it.
struct OptimizerState {
    using Settings = std::map<std::string, double>;  ///< numbers by name
    /// One group of parameters.
    struct Group {
        std::vector<std::string> parameters;  ///< their names
        double weight_decay = 0;              ///< of the group
        double lr_factor = 1;                 ///< times lr
    };

    std::string kind;                ///< "AdamW"
    std::int64_t steps = 0;          ///< taken so far
    double lr = 0;                   ///< the optimiser's learning rate
    Settings settings = {};          ///< "beta1", "beta2", "eps"; "momentum", "nesterov"
    std::vector<Group> groups = {};  ///< in the optimiser's order
    /// Of parameter NAME "steps.NAME", i64 [], the steps in which it had a gradient; and unless
    /// that is 0, its moments, of its shape and dtype: "m.NAME" and "v.NAME" of Adam and AdamW,
    /// "momentum.NAME" of SGD with momentum, and of the matrices of Muon.
    NamedTensors tensors = {};
};

// ---- the optimiser ------------------------------------------------------------------------------

/// Changes parameters by their gradients. Read the opening comment of this file first.
class Optimizer {
public:
    virtual ~Optimizer();
    Optimizer(const Optimizer&) = delete;
    Optimizer& operator=(const Optimizer&) = delete;

    /// "AdamW"
    virtual const char* kind() const = 0;

    /// One step along the gradients that the tapes have put into grad(), multiplied by grad_scale
    /// (clipping in the same pass over memory). Parameters without a gradient stay as they are.
    ///
    /// Throws ValueError, before anything has changed, if the optimiser has no parameters; if none
    /// has a gradient, because no backward pass since zero_grad() reached them; if a parameter has
    /// been replaced since the optimiser was made (by an assignment or Module::to); or if a
    /// module's parameter that no living optimiser holds got a gradient: it was forgotten, should
    /// be frozen, or its module was never registered.
    void step(double grad_scale = 1);

    /// Clears the gradients of its parameters.
    void zero_grad();
    double lr() const { return lr_; }  ///< learning rate of the next step
    /// Sets the learning rate of the steps that follow. Throws ValueError unless it is finite and
    /// at least 0.
    void set_lr(double lr);
    /// Steps taken so far.
    std::int64_t steps() const { return steps_; }

    /// The parameters of all groups.
    Tensors parameters() const;

    /// The position of a parameter that is a part of a larger one: its elements from `first` on.
    /// Steps that round stochastically (bf16) then draw the same random numbers as the whole would.
    struct Part {
        std::string of;          ///< name of the whole parameter
        std::int64_t first = 0;  ///< index of the part's first number in it
    };
    /// Sets the parts, one per parameter, in order. Throws ValueError for another number of them.
    void set_parts(const std::vector<Part>& parts);

    /// A copy of all that the next step depends on except gradients and parameters.
    OptimizerState state() const;
    /// The same without copies: its moments change with the next step.
    OptimizerState shared_state() const;

    /// Replaces moments, counts, learning rate and all settings by those of `state`, as PyTorch's
    /// load_state_dict does. Throws ValueError, and changes nothing, unless `state` is of the same
    /// kind of optimiser, with parameters of the same names, shapes and dtypes in the same groups.
    void load_state(const OptimizerState& state);

protected:
    using Settings = OptimizerState::Settings;  ///< settings of this kind, by name

    /// `weight_decay` is for groups that set none. Frozen parameters are left out. Throws
    /// ValueError for a parameter that does not require a gradient, is in two groups or has the
    /// name of another, and for settings out of range.
    Optimizer(ParameterGroups groups, double lr, double weight_decay);

    /// A parameter, and what is remembered of it.
    struct Slot {
        std::string name;   ///< its name
        Tensor parameter;   ///< the member itself
        std::size_t group;  ///< index of its group
        Part part;          ///< the whole of itself, unless set_parts() says otherwise
        std::shared_ptr<const ParameterPlace> place;  ///< in its module, if it has one
        std::int64_t steps = 0;  ///< it had a gradient in, the one that is being taken included
        Tensors moments;         ///< as many as moment_names_in(group), zeros before the first step
    };

    /// The learning rate and the weight decay of a slot.
    double lr_of(const Slot& slot) const { return lr_ * groups_[slot.group].lr_factor; }
    /// Of its group.
    double weight_decay_of(const Slot& slot) const { return groups_[slot.group].weight_decay; }

    /// Whether a parameter is bf16, so that steps round.
    bool has_narrow() const { return has_narrow_; }

    /// The numbers of a slot, and AdamW's or Adam's step for them: `update`, which has the rest, at
    /// the slot's rate and decay, and counted by it: a parameter may miss a step, and its moments
    /// are then younger.
    AdamParameter adam_step(const Slot& slot, AdamUpdate update) const;

    /// One step for these, which have a gradient.
    virtual void update(const std::vector<Slot*>& slots, double grad_scale) = 0;

    /// The settings of this kind of optimiser, by name, and others in their place (ValueError for
    /// those out of range).
    virtual Settings settings() const = 0;
    /// Replaces them. Throws ValueError for those out of range.
    virtual void set_settings(const Settings& settings) = 0;

    /// The names of each parameter's moments with these settings: "m", "v".
    virtual std::vector<std::string> moment_names(const Settings& settings) const = 0;

    /// The same for the parameters of one group; override it if groups differ.
    virtual std::vector<std::string> moment_names_in(std::size_t /*group*/,
                                                     const Settings& settings) const {
        return moment_names(settings);
    }

private:
    struct Group {
        double weight_decay;
        double lr_factor;
    };
    void add_group(const ParameterGroup& group, double weight_decay, std::size_t& listed);
    void check_parameters() const;
    void check_groups(const OptimizerState& state) const;
    std::vector<Slot> restored(const OptimizerState& state) const;

    std::vector<Group> groups_;
    std::vector<Slot> slots_;
    std::vector<Slot*> due_;  // those that have a gradient in the step that is being taken
    double lr_;
    std::int64_t steps_ = 0;
    bool has_narrow_ = false;
};

}  // namespace tapestry
