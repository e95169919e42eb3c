#include <tapestry/core/copy.h>
#include <tapestry/nn/module.h>

#include <algorithm>
#include <map>
#include <set>

namespace tapestry {
namespace {

// Two parameters are one if they share their gradient; two buffers if they share their memory.
const void* identity(const Tensor& x) {
    return x.requires_grad() ? static_cast<const void*>(x.leaf().get()) : x.storage().get();
}

}  // namespace

void Module::register_parameter(std::string name, Tensor& parameter) {
    if (parameter.defined()) parameter.set_requires_grad();
    parameters_.emplace_back(std::move(name), &parameter);
}

void Module::register_buffer(std::string name, Tensor& buffer) {
    buffers_.emplace_back(std::move(name), &buffer);
}

void Module::register_module(std::string name, Module& child) {
    child.name_ = std::move(name);
    children_.push_back(&child);
}

void Module::visit_tensors(const std::string& path, bool parameters, const Visit& visit) const {
    for (const auto& [name, tensor] : parameters ? parameters_ : buffers_) {
        if (tensor->defined()) visit(path + name, *tensor);
    }
    for (const Module* child : children_) {
        child->visit_tensors(path + child->name_ + ".", parameters, visit);
    }
}

NamedTensors Module::collect(bool parameters) const {
    NamedTensors found;
    std::set<const void*> seen;
    visit_tensors("", parameters, [&](const std::string& path, const Tensor& tensor) {
        if (seen.insert(identity(tensor)).second) found.emplace_back(path, tensor);
    });
    return found;
}

NamedTensors Module::named_parameters() const { return collect(true); }
NamedTensors Module::named_buffers() const { return collect(false); }

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
    require<DTypeError>(is_floating(dtype), "Module::to: needs f32 or f64, got {}", dtype);
    // What is replaced is kept until the end: its address, which tells ties, must not be used
    // again.
    std::map<const void*, std::pair<Tensor, Tensor>> converted;  // old and new
    std::set<const Tensor*> done;  // a module registered twice is visited twice
    for (const bool parameters : {true, false}) {
        visit_tensors("", parameters, [&](const std::string&, Tensor& tensor) {
            if (!is_floating(tensor.dtype()) || !done.insert(&tensor).second) return;
            auto& [before, after] = converted[identity(tensor)];
            if (!after.defined()) {
                before = tensor;
                after = cast(tensor, dtype).clone();
                if (parameters) after.set_requires_grad();
            }
            tensor = after;
        });
    }
}

void Module::summarise(int depth, std::string& text) const {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    const std::string label = name_.empty() ? kind_ : fmt::format("{}: {}", name_, kind_);
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
