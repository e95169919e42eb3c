#include <tapestry/nn/optim/optimizer.h>

#include <tapestry/core/create.h>
#include <tapestry/core/floating_point.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tapestry {

ParameterList::ParameterList(const Tensors& tensors) {
    for (const Tensor& tensor : tensors) emplace_back("", tensor);
}

std::vector<ParameterGroup> decay_groups(const Module& model, double weight_decay) {
    ParameterGroup decayed{.parameters = {}, .weight_decay = weight_decay};
    ParameterGroup others{.parameters = {}, .weight_decay = 0};
    for (const auto& [name, parameter] : model.named_parameters()) {
        (parameter.rank() >= 2 ? decayed : others).parameters.emplace_back(name, parameter);
    }
    return {decayed, others};
}

Optimizer::Optimizer(ParameterGroups groups, double lr, double weight_decay) {
    set_lr(lr);
    std::size_t listed = 0;
    for (const ParameterGroup& group : groups) add_group(group, weight_decay, listed);
    std::set<const Leaf*> leaves;
    std::set<std::string_view> names;
    for (const Slot& slot : slots_) {
        require(leaves.insert(slot.parameter.leaf().get()).second,
                "optimizer: parameter \"{}\" {} is listed twice", slot.name,
                slot.parameter.shape());
        require(names.insert(slot.name).second,
                "optimizer: two parameters have the name \"{}\"; add a prefix to the names of each "
                "module",
                slot.name);
    }
    for (const Slot& slot : slots_) ++slot.parameter.leaf()->optimizers;
}

Optimizer::~Optimizer() {
    for (const Slot& slot : slots_) --slot.parameter.leaf()->optimizers;
}

void Optimizer::add_group(const ParameterGroup& group, double weight_decay, std::size_t& listed) {
    const double decay = group.weight_decay.value_or(weight_decay);
    const auto good = [](double x) { return x >= 0 && std::isfinite(x); };
    require(good(decay) && good(group.lr_factor),
            "optimizer: weight decay {} and learning rate factor {} must be finite numbers >= 0",
            decay, group.lr_factor);
    groups_.push_back({decay, group.lr_factor});
    for (const auto& [name, parameter] : group.parameters) {
        const std::string number = std::to_string(listed++);
        const std::string& known_as = name.empty() ? number : name;
        require(parameter.leaf() != nullptr,
                "optimizer: parameter \"{}\" {} does not require a gradient (set_requires_grad)",
                known_as, parameter.shape());
        if (!parameter.requires_grad()) continue;  // frozen
        const auto& place = parameter.leaf()->place;
        const bool there = place && place->tensor && place->tensor->leaf() == parameter.leaf();
        has_narrow_ = has_narrow_ || is_narrow(parameter.dtype());
        slots_.push_back({.name = known_as,
                          .parameter = parameter,
                          .group = groups_.size() - 1,
                          .part = {known_as, 0},
                          .place = there ? place : nullptr,
                          .moments = {}});
    }
}

void Optimizer::set_lr(double lr) {
    require(lr >= 0 && std::isfinite(lr),
            "optimizer: learning rate must be finite and >= 0, got {}", lr);
    lr_ = lr;
}

// ---- what would go wrong in silence -------------------------------------------------------------

namespace {

// Whether this leaf is a module's parameter with a gradient that no optimiser will use.
bool is_untrained(const Leaf& leaf) {
    return leaf.optimizers == 0 && leaf.requires_grad && leaf.grad.defined() && leaf.place &&
           leaf.place->tensor != nullptr && leaf.place->tensor->leaf().get() == &leaf;
}

[[noreturn]] void fail_untrained(const ParameterPlace& place) {
    const ModulePlace& module = *place.module;
    const bool alone = module.parent == nullptr;
    fail(
        "optimizer: parameter \"{}\" {}{} got a gradient, but no optimizer holds it: {}give it to "
        "one, or freeze it",
        place.path(), place.tensor->shape(),
        alone ? fmt::format(" of a {} that is registered in no module", module.kind) : "",
        alone ? "register the module (register_module), " : "");
}

}  // namespace

void Optimizer::check_parameters() const {
    require(!slots_.empty(),
            "optimizer: it has no parameters; a module's parameters must be registered "
            "(register_parameter, register_module) and not frozen");
    for (const Slot& slot : slots_) {
        const std::shared_ptr<Leaf>& leaf = slot.parameter.leaf();
        const bool elsewhere =
            slot.place && slot.place->tensor && slot.place->tensor->leaf() != leaf;
        if (elsewhere || leaf.use_count() == 1) [[unlikely]] {  // no other tensor shares it
            fail(
                "optimizer: parameter \"{}\" {} was replaced (assigned to, or converted by "
                "Module::to) after this optimizer was made; make it afterwards",
                slot.name, slot.parameter.shape());
        }
        if (leaf->untrained.use_count() == 0) continue;
        const auto untrained = leaf->untrained.lock();
        if (untrained && is_untrained(*untrained)) fail_untrained(*untrained->place);
    }
    const auto has_gradient = [](const Slot& slot) { return slot.parameter.grad().defined(); };
    if (std::none_of(slots_.begin(), slots_.end(), has_gradient)) [[unlikely]] {
        fail(
            "optimizer: none of its {} has a gradient: no backward pass since zero_grad reached "
            "them",
            pluralize(static_cast<std::int64_t>(slots_.size()), "parameter"));
    }
}

// ---- a step -------------------------------------------------------------------------------------

void Optimizer::step(double grad_scale) {
    const FloatingPointGuard standard;
    check_parameters();
    ++steps_;
    due_.clear();
    for (Slot& slot : slots_) {
        if (!slot.parameter.grad().defined()) continue;
        if (slot.steps++ == 0) {
            const std::size_t moments = moment_names_in(slot.group, settings()).size();
            while (slot.moments.size() < moments) {
                slot.moments.push_back(zeros_like(slot.parameter));
            }
        }
        due_.push_back(&slot);
    }
    update(due_, grad_scale);
}

AdamParameter Optimizer::adam_step(const Slot& slot, AdamUpdate update) const {
    update.lr = lr_of(slot);
    update.weight_decay = weight_decay_of(slot);
    update.step = slot.steps;
    return {slot.parameter, slot.parameter.grad(), slot.moments[0], slot.moments[1], update};
}

void Optimizer::zero_grad() {
    for (Slot& slot : slots_) slot.parameter.clear_grad();
}

void Optimizer::set_parts(const std::vector<Part>& parts) {
    require(parts.size() == slots_.size(), "optimizer: {} parts for {} parameters", parts.size(),
            slots_.size());
    for (std::size_t i = 0; i < parts.size(); ++i) slots_[i].part = parts[i];
}

Tensors Optimizer::parameters() const {
    Tensors all;
    all.reserve(slots_.size());
    for (const Slot& slot : slots_) all.push_back(slot.parameter);
    return all;
}

// ---- state: out and back again ------------------------------------------------------------------

namespace {

// The tensors of a state, asked for one by one.
class StoredTensors {
public:
    explicit StoredTensors(const NamedTensors& tensors) {
        for (const auto& [name, tensor] : tensors) {
            require(tensors_.emplace(name, tensor).second,
                    "load_state: tensor \"{}\" appears twice in the state", utf8::printable(name));
        }
    }

    Tensor take(const std::string& name, const Shape& shape, DType dtype) {
        const auto found = tensors_.find(name);
        require(found != tensors_.end() && found->second.defined(),
                "load_state: tensor \"{}\" is missing from the state", name);
        const Tensor tensor = found->second;
        require(tensor.shape() == shape && tensor.dtype() == dtype,
                "load_state: tensor \"{}\" is {} {} in the state, expected {} {}", name,
                tensor.dtype(), tensor.shape(), dtype, shape);
        tensors_.erase(found);
        return tensor.clone();
    }

    void check_all_taken() const {
        require(tensors_.empty(),
                "load_state: tensor \"{}\" of the state is not used by this optimizer",
                tensors_.empty() ? "" : utf8::printable(tensors_.begin()->first));
    }

private:
    std::map<std::string, Tensor> tensors_;
};

void check_number(const char* what, double value) {
    require(value >= 0 && std::isfinite(value),
            "load_state: the state's {} must be finite and >= 0, got {}", what, value);
}

void check_names(const OptimizerState::Settings& wanted, const OptimizerState::Settings& given) {
    for (const auto& [name, value] : wanted) {
        require(given.contains(name), "load_state: setting \"{}\" is missing from the state", name);
    }
    for (const auto& [name, value] : given) {
        require(wanted.contains(name), "load_state: setting \"{}\" of the state is unknown",
                utf8::printable(name));
    }
}

}  // namespace

OptimizerState Optimizer::state() const {
    OptimizerState state = shared_state();
    for (auto& [name, tensor] : state.tensors) tensor = tensor.clone();
    return state;
}

OptimizerState Optimizer::shared_state() const {
    OptimizerState state{.kind = kind(), .steps = steps_, .lr = lr_, .settings = settings()};
    for (const Group& group : groups_) {
        state.groups.push_back({{}, group.weight_decay, group.lr_factor});
    }
    for (const Slot& slot : slots_) {
        const std::vector<std::string> moments = moment_names_in(slot.group, state.settings);
        state.groups[slot.group].parameters.push_back(slot.name);
        state.tensors.emplace_back("steps." + slot.name, tensor(std::vector{slot.steps}, {}));
        if (slot.steps == 0) continue;
        for (std::size_t i = 0; i < moments.size(); ++i) {
            state.tensors.emplace_back(moments[i] + "." + slot.name, slot.moments[i]);
        }
    }
    return state;
}

void Optimizer::check_groups(const OptimizerState& state) const {
    require(state.groups.size() == groups_.size(),
            "load_state: {} groups of parameters in the state, {} in this {}", state.groups.size(),
            groups_.size(), kind());
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        check_number("weight decay", state.groups[i].weight_decay);
        check_number("learning rate factor", state.groups[i].lr_factor);
        for (const std::string& name : state.groups[i].parameters) {
            require(places.emplace(name, i).second,
                    "load_state: parameter \"{}\" appears twice in the state",
                    utf8::printable(name));
        }
    }
    for (const Slot& slot : slots_) {
        const auto found = places.find(slot.name);
        require(found != places.end(), "load_state: parameter \"{}\" is missing from the state",
                slot.name);
        require(found->second == slot.group,
                "load_state: parameter \"{}\" is in group {} of the state and in group {} of this "
                "{}",
                slot.name, found->second, slot.group, kind());
        places.erase(found);
    }
    require(places.empty(), "load_state: parameter \"{}\" of the state is unknown to this {}",
            places.empty() ? "" : utf8::printable(places.begin()->first), kind());
}

// The slots as they will be.
std::vector<Optimizer::Slot> Optimizer::restored(const OptimizerState& state) const {
    StoredTensors stored(state.tensors);
    std::vector<Slot> slots = slots_;
    for (Slot& slot : slots) {
        slot.steps = stored.take("steps." + slot.name, {}, DType::i64).item<std::int64_t>();
        require(slot.steps >= 0 && slot.steps <= state.steps,
                "load_state: parameter \"{}\" has taken {} of {} steps", slot.name, slot.steps,
                state.steps);
        slot.moments.clear();
        if (slot.steps == 0) continue;
        for (const std::string& moment : moment_names_in(slot.group, state.settings)) {
            slot.moments.push_back(stored.take(moment + "." + slot.name, slot.parameter.shape(),
                                               slot.parameter.dtype()));
        }
    }
    stored.check_all_taken();
    return slots;
}

void Optimizer::load_state(const OptimizerState& state) {
    require(state.kind == kind(), "load_state: the state is of {}, this optimizer is {}",
            state.kind, kind());
    check_names(settings(), state.settings);
    check_number("learning rate", state.lr);
    check_groups(state);
    std::vector<Slot> slots = restored(state);
    set_settings(state.settings);  // the last that may throw
    slots_ = std::move(slots);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        groups_[i] = {state.groups[i].weight_decay, state.groups[i].lr_factor};
    }
    lr_ = state.lr;
    steps_ = state.steps;
}

}  // namespace tapestry
