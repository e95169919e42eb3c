#include <tapestry/nn/module/module.h>

#include <tapestry/core/copy.h>

#include <algorithm>
#include <map>
#include <set>

namespace tapestry {
namespace {

// Two parameters are one if they share their gradient; two buffers if they share their memory.
const void* identity(const Tensor& x) {
    return x.leaf() ? static_cast<const void*>(x.leaf().get()) : x.storage().get();
}

bool is_frozen(const Tensor& x) { return x.leaf() != nullptr && !x.requires_grad(); }

// The leaf learns where it stands, unless it stands somewhere else as well (a tied weight).
void settle(const std::shared_ptr<ParameterPlace>& place) {
    const auto& leaf = place->tensor->leaf();
    if (leaf == nullptr) return;
    const bool elsewhere =
        leaf->place && leaf->place->tensor != nullptr && leaf->place->tensor->leaf() == leaf;
    if (!elsewhere) leaf->place = place;
}

}  // namespace

std::string ParameterPlace::path() const {
    std::string path = name;
    for (const ModulePlace* at = module.get(); at != nullptr; at = at->parent.get()) {
        if (!at->name.empty()) path = at->name + "." + path;
    }
    return path;
}

Module::Module(std::string kind)
    : place_(std::make_shared<ModulePlace>(ModulePlace{std::move(kind), {}, nullptr})) {}

Module::~Module() {
    for (const auto* places : {&parameters_, &buffers_}) {
        for (const Place& place : *places) place->tensor = nullptr;
    }
}

void Module::register_parameter(std::string name, Tensor& parameter) {
    if (parameter.defined()) parameter.set_requires_grad();
    parameters_.push_back(
        std::make_shared<ParameterPlace>(ParameterPlace{&parameter, std::move(name), place_}));
    settle(parameters_.back());
}

void Module::register_buffer(std::string name, Tensor& buffer) {
    buffers_.push_back(
        std::make_shared<ParameterPlace>(ParameterPlace{&buffer, std::move(name), place_}));
}

void Module::register_module(std::string name, Module& child) {
    child.place_->name = std::move(name);
    child.place_->parent = place_;
    children_.push_back(&child);
}

void Module::visit(const std::vector<Place> Module::*places, const std::string& path,
                   const Visit& f) const {
    for (const Place& place : this->*places) {
        if (place->tensor->defined()) f(path + place->name, place);
    }
    for (const Module* child : children_) child->visit(places, path + child->name() + ".", f);
}

NamedTensors Module::collect(const std::vector<Place> Module::*places,
                             bool remove_duplicate) const {
    NamedTensors found;
    std::set<const void*> seen;
    visit(places, "", [&](const std::string& path, const Place& place) {
        settle(place);  // a tensor that was assigned since
        const bool is_new = seen.insert(identity(*place->tensor)).second;
        if (is_new || !remove_duplicate) found.emplace_back(path, *place->tensor);
    });
    return found;
}

NamedTensors Module::named_parameters(bool remove_duplicate) const {
    return collect(&Module::parameters_, remove_duplicate);
}

NamedTensors Module::named_buffers() const { return collect(&Module::buffers_, true); }

Tensors Module::parameters() const {
    Tensors tensors;
    for (auto& [name, tensor] : named_parameters()) tensors.push_back(tensor);
    return tensors;
}

std::int64_t Module::parameter_count() const {
    std::int64_t count = 0;
    for (const auto& [name, tensor] : named_parameters()) count += tensor.numel();
    return count;
}

void Module::train(bool on) {
    apply([on](Module& module) { module.training_ = on; });
}

void Module::apply(const std::function<void(Module&)>& f) {
    for (Module* child : children_) child->apply(f);
    f(*this);
}

void Module::zero_grad() {
    for (Tensor& parameter : parameters()) parameter.clear_grad();
}

void Module::to(DType dtype) {
    require<DTypeError>(is_floating(dtype), "Module::to: needs floating numbers, got {}", dtype);
    // What is replaced is kept until the end: its address, which tells ties, must not be used
    // again.
    std::map<const void*, std::pair<Tensor, Tensor>> converted;  // old and new
    std::set<const Tensor*> done;  // a module registered twice is visited twice
    for (const auto places : {&Module::parameters_, &Module::buffers_}) {
        visit(places, "", [&](const std::string&, const Place& place) {
            Tensor& tensor = *place->tensor;
            if (!is_floating(tensor.dtype()) || !done.insert(&tensor).second) return;
            auto& [before, after] = converted[identity(tensor)];
            if (!after.defined()) {
                before = tensor;
                after = cast(tensor, dtype).clone();
                if (places == &Module::parameters_) after.set_requires_grad();
                if (is_frozen(tensor)) after.set_requires_grad(false);
            }
            tensor = after;
            settle(place);
        });
    }
}

void Module::summarise(int depth, std::string& text) const {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    const std::string label = name().empty() ? kind() : fmt::format("{}: {}", name(), kind());
    const std::string set = settings().empty() ? "" : fmt::format("({})", settings());
    text += fmt::format("{:<62}{:>12}\n", indent + label + set, parameter_count());
    for (const Module* child : children_) child->summarise(depth + 1, text);
}

std::string Module::summary() const {
    std::string text;
    summarise(0, text);
    return text;
}

}  // namespace tapestry

fmt::appender fmt::formatter<tapestry::Module>::format(const tapestry::Module& module,
                                                       fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", module.summary());
}
