#include <tapestry/nn/module/module.h>

#include <tapestry/core/copy.h>
#include <tapestry/ops/cast.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace tapestry {
namespace {

// Two parameters are the same if they share their leaf, two buffers if they share their storage.
const void* identity(const Tensor& x) {
    return x.leaf() ? static_cast<const void*>(x.leaf().get()) : x.storage().get();
}

bool is_frozen(const Tensor& x) { return x.leaf() != nullptr && !x.requires_grad(); }

// Records its place in the leaf, unless it already has another (a tied weight).
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
    : place_(std::make_shared<ModulePlace>(ModulePlace{std::move(kind), {}, nullptr, this})) {}

Module::~Module() {
    place_->module = nullptr;
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
    const auto has_name = [&name](const auto& place) { return place->name == name; };
    const auto old = std::find_if(children_.begin(), children_.end(), has_name);
    if (old == children_.end()) {
        children_.push_back(child.place_);
    } else {
        require((*old)->module == nullptr || *old == child.place_,
                "{}: has a module \"{}\" already; destroy that first", kind(), name);
        *old = child.place_;
    }
    child.place_->name = std::move(name);
    child.place_->parent = place_;
}

Module& Module::alive(const std::shared_ptr<ModulePlace>& child) const {
    require<Error>(child->module != nullptr,
                   "{}: its module \"{}\" ({}) was destroyed; call register_module for the one "
                   "that replaces it",
                   kind(), child->name, child->kind);
    return *child->module;
}

void Module::visit(const std::vector<Place> Module::*places, const std::string& path,
                   const Visit& f) const {
    for (const Place& place : this->*places) {
        if (place->tensor->defined()) f(path + place->name, place);
    }
    for (const auto& child : children_) alive(child).visit(places, path + child->name + ".", f);
}

NamedTensors Module::collect(const std::vector<Place> Module::*places,
                             bool remove_duplicate) const {
    NamedTensors found;
    std::set<const void*> seen;
    visit(places, "", [&](const std::string& path, const Place& place) {
        settle(place);  // in case a tensor was assigned
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
    for (const auto& child : children_) alive(child).apply(f);
    f(*this);
}

void Module::zero_grad() {
    for (Tensor& parameter : parameters()) parameter.clear_grad();
}

void Module::to(DType dtype) {
    require<DTypeError>(is_floating(dtype), "Module::to: needs floating-point numbers, got {}",
                        dtype);
    // Keeps replaced tensors until the end: their addresses, which identify ties, must not be
    // reused.
    std::map<const void*, std::pair<Tensor, Tensor>> converted;  // old and new
    std::set<const Tensor*> done;  // a module registered twice is visited twice
    for (const auto places : {&Module::parameters_, &Module::buffers_}) {
        visit(places, "", [&](const std::string&, const Place& place) {
            Tensor& tensor = *place->tensor;
            if (!is_floating(tensor.dtype()) || !done.insert(&tensor).second) return;
            auto& [before, after] = converted[identity(tensor)];
            if (!after.defined()) {
                before = tensor;
                after = tensor.dtype() == dtype ? tensor.clone() : cast(tensor, dtype);
                if (places == &Module::parameters_) after.set_requires_grad();
                if (is_frozen(tensor)) after.set_requires_grad(false);
            }
            tensor = after;
            settle(place);
        });
    }
}

Tensor Module::to(const Tensor& x, DType dtype) { return tapestry::to(x, dtype); }

void Module::summarise(int depth, std::string& text) const {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    const std::string label = name().empty() ? kind() : fmt::format("{}: {}", name(), kind());
    const std::string set = settings().empty() ? "" : fmt::format("({})", settings());
    text += fmt::format("{:<62}{:>12}\n", indent + label + set, parameter_count());
    for (const auto& child : children_) alive(child).summarise(depth + 1, text);
}

std::string Module::summary() const {
    std::string text;
    summarise(0, text);
    return text;
}

// ---- state --------------------------------------------------------------------------------------

namespace {

// "missing: a, b, and 7 more"; empty for no names.
void describe(std::vector<std::string>& flaws, const char* what,
              const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 5;
    if (names.empty()) return;
    const std::vector<std::string> shown(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
    const std::string rest =
        names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "";
    flaws.push_back(fmt::format("{}: {}{}", what, fmt::join(shown, ", "), rest));
}

}  // namespace

NamedTensors saved_tensors(const Module& module) {
    NamedTensors tensors = module.named_parameters();
    const NamedTensors buffers = module.named_buffers();
    tensors.insert(tensors.end(), buffers.begin(), buffers.end());
    return tensors;
}

Match::Match(const NamedTensors& stored, const Module& module, bool strict, const char* what) {
    std::map<std::string, Tensor> left(stored.begin(), stored.end());
    std::vector<std::string> others;  // of another shape or dtype
    for (const auto& [name, to] : saved_tensors(module)) {
        const auto found = left.find(name);
        if (found == left.end()) {
            unmatched.missing.push_back(name);
            continue;
        }
        const Tensor& from = found->second;
        const bool widens = is_narrow(from.dtype()) && to.dtype() == DType::f32;
        if (from.shape() == to.shape() && (from.dtype() == to.dtype() || widens)) {
            pairs.emplace_back(from, to);
        } else {
            others.push_back(fmt::format("{} ({} {} in the {}, {} {} in the module)", name,
                                         from.dtype(), from.shape(), what, to.dtype(), to.shape()));
        }
        left.erase(found);
    }
    for (const auto& [name, tensor] : left) unmatched.unknown.push_back(name);
    std::vector<std::string> all;
    if (strict) {
        describe(all, "missing", unmatched.missing);
        describe(all, "unknown", unmatched.unknown);
    }
    describe(all, "different", others);
    if (all.empty()) return;
    flaws = fmt::format("the tensors do not fit the {}: {}", module.kind(), fmt::join(all, "; "));
}

NamedTensors Module::state_dict() const {
    NamedTensors state = saved_tensors(*this);
    for (auto& [name, tensor] : state) tensor = tensor.clone();
    return state;
}

Unmatched Module::load_state_dict(const NamedTensors& state, bool strict) {
    Match match(state, *this, strict, "state");
    require(match.flaws.empty(), "load_state_dict: {}", match.flaws);
    for (const auto& [from, to] : match.pairs) Tensor(to).copy_(from);
    return std::move(match.unmatched);
}

// ---- forward hooks ------------------------------------------------------------------------------

// The module holds weak references, so hook and module may be destroyed in either order.

std::shared_ptr<const void> Module::register_forward_hook(ForwardHook hook) {
    require(hook != nullptr, "register_forward_hook: no function is given");
    std::erase_if(hooks_, [](const auto& one) { return one.expired(); });
    auto owned = std::make_shared<const ForwardHook>(std::move(hook));
    hooks_.push_back(owned);
    return owned;
}

bool Module::is_hooked() const {
    return std::ranges::any_of(hooks_, [](const auto& one) { return !one.expired(); });
}

Tensor Module::run_hooks(const Tensors& inputs, Tensor output) const {
    const auto hooks = hooks_;  // a hook may register another
    for (const auto& one : hooks) {
        const std::shared_ptr<const ForwardHook> hook = one.lock();
        if (!hook) continue;
        Tensor replaced = (*hook)(*this, inputs, output);
        if (replaced.defined()) output = std::move(replaced);
    }
    return output;
}

}  // namespace tapestry

fmt::appender fmt::formatter<tapestry::Module>::format(const tapestry::Module& module,
                                                       fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", module.summary());
}
