#include <tapestry/nn/optim/optimizer.h>

#include <tapestry/core/create.h>

#include <cmath>
#include <set>

namespace tapestry {

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
                "optimizer: two parameters are called \"{}\"; put something before the names of "
                "each module",
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
                "optimizer: parameter \"{}\" {} does not ask for its gradient "
                "(set_requires_grad)",
                known_as, parameter.shape());
        if (!parameter.requires_grad()) continue;  // frozen
        const auto& place = parameter.leaf()->place;
        const bool there = place && place->tensor && place->tensor->leaf() == parameter.leaf();
        slots_.push_back({.name = known_as,
                          .parameter = parameter,
                          .group = groups_.size() - 1,
                          .part = {known_as, 0},
                          .place = there ? place : nullptr,
                          .moments = {}});
    }
}

void Optimizer::set_lr(double lr) {
    require(lr >= 0 && std::isfinite(lr), "optimizer: learning rate {} is not a finite number >= 0",
            lr);
    lr_ = lr;
}

// ---- what would go wrong in silence -------------------------------------------------------------

namespace {

// Does a module have this leaf as a parameter, with a gradient that nobody will use?
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
            "optimizer: it has no parameters; a module has those that are registered "
            "(register_parameter, register_module) and not frozen");
    for (const Slot& slot : slots_) {
        const std::shared_ptr<Leaf>& leaf = slot.parameter.leaf();
        const bool elsewhere =
            slot.place && slot.place->tensor && slot.place->tensor->leaf() != leaf;
        if (elsewhere || leaf.use_count() == 1) [[unlikely]] {  // nobody else can compute with it
            fail(
                "optimizer: parameter \"{}\" {} was replaced (assigned to, or converted by "
                "Module::to) after this optimizer was made; make it afterwards",
                slot.name, slot.parameter.shape());
        }
        if (leaf->untrained.use_count() == 0) continue;
        const auto untrained = leaf->untrained.lock();
        if (untrained && is_untrained(*untrained)) fail_untrained(*untrained->place);
    }
}

// ---- a step -------------------------------------------------------------------------------------

void Optimizer::step(double grad_scale) {
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

}  // namespace tapestry
