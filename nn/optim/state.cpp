// Out and back again: the half of Optimizer that is about its state.
#include <tapestry/nn/optim/state.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/optim/optimizer.h>

#include <cmath>

namespace tapestry {
namespace {

// The tensors of a state, asked for one by one.
class StoredTensors {
public:
    explicit StoredTensors(const NamedTensors& tensors) {
        for (const auto& [name, tensor] : tensors) {
            require(tensors_.emplace(name, tensor).second,
                    "load_state: tensor \"{}\" comes twice in the state", utf8::printable(name));
        }
    }

    Tensor take(const std::string& name, const Shape& shape, DType dtype) {
        const auto found = tensors_.find(name);
        require(found != tensors_.end() && found->second.defined(),
                "load_state: tensor \"{}\" is missing from the state", name);
        const Tensor tensor = found->second;
        require(tensor.shape() == shape && tensor.dtype() == dtype,
                "load_state: tensor \"{}\" is {} {} in the state; {} {} is needed", name,
                tensor.dtype(), tensor.shape(), dtype, shape);
        tensors_.erase(found);
        return tensor.clone();
    }

    void check_all_taken() const {
        require(tensors_.empty(), "load_state: tensor \"{}\" of the state is of no use here",
                tensors_.empty() ? "" : utf8::printable(tensors_.begin()->first));
    }

private:
    std::map<std::string, Tensor> tensors_;
};

void check_number(const char* what, double value) {
    require(value >= 0 && std::isfinite(value),
            "load_state: the state's {} is {}, not a finite number >= 0", what, value);
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
                    "load_state: parameter \"{}\" comes twice in the state", utf8::printable(name));
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
