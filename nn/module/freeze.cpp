#include <tapestry/nn/module/freeze.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace tapestry {
namespace {

// Whether `name` is `prefix` ("blocks.0") or below it ("blocks.0.attention.qkv.weight").
bool stands_under(std::string_view prefix, std::string_view name) {
    return prefix.empty() || name == prefix ||
           (name.starts_with(prefix) && name[prefix.size()] == '.');
}

bool any_under(std::string_view prefix, const NamedTensors& all) {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& named) { return stands_under(prefix, named.first); });
}

// The next components below `prefix`: "0", "1", ... below "blocks".
std::vector<std::string> module_parts(const NamedTensors& all, std::string_view prefix) {
    std::vector<std::string> parts;
    for (const auto& [name, tensor] : all) {
        if (!stands_under(prefix, name) || name == prefix) continue;
        const std::size_t begin = prefix.empty() ? 0 : prefix.size() + 1;
        std::string part = name.substr(begin, name.find('.', begin) - begin);
        if (std::find(parts.begin(), parts.end(), part) == parts.end()) {
            parts.push_back(std::move(part));
        }
    }
    return parts;
}

[[noreturn]] void fail_unknown(const char* function, std::string_view prefix,
                               const NamedTensors& all) {
    constexpr std::size_t kShown = 12;
    std::string_view known = prefix;  // the longest part that exists
    while (!known.empty() && !any_under(known, all)) {
        const std::size_t dot = known.rfind('.');
        known = dot == std::string_view::npos ? "" : known.substr(0, dot);
    }
    std::vector<std::string> parts = module_parts(all, known);
    const bool cut = parts.size() > kShown;
    if (cut) parts.resize(kShown);
    const std::string shown = fmt::format("{}{}", fmt::join(parts, ", "), cut ? ", ..." : "");
    fail("{}: no parameter has the prefix \"{}\"; {}", function, prefix,
         known.empty()   ? fmt::format("the module has {}", all.empty() ? "none" : shown)
         : parts.empty() ? fmt::format("\"{}\" is one parameter", known)
                         : fmt::format("\"{}\" has {}", known, shown));
}

}  // namespace

void Module::set_requires_grad(const char* function, std::string_view prefix, bool wanted) {
    bool found = prefix.empty();
    visit(&Module::parameters_, "", [&](const std::string& path, const Place& place) {
        if (!stands_under(prefix, path)) return;
        found = true;
        place->tensor->set_requires_grad(wanted);
    });
    if (!found) fail_unknown(function, prefix, named_parameters(false));
}

void Module::freeze(std::string_view prefix) { set_requires_grad("freeze", prefix, false); }
void Module::unfreeze(std::string_view prefix) { set_requires_grad("unfreeze", prefix, true); }

std::vector<std::string> train_only(Module& module, const std::vector<std::string>& prefixes) {
    require(!prefixes.empty(), "train_only: no prefix is given, nothing would be trained");
    const NamedTensors all = module.named_parameters(false);
    for (const std::string& prefix : prefixes) {
        if (!any_under(prefix, all)) fail_unknown("train_only", prefix, all);
    }
    const auto is_named = [&](const std::string& name) {
        return std::any_of(prefixes.begin(), prefixes.end(),
                           [&](const std::string& prefix) { return stands_under(prefix, name); });
    };
    std::map<const Leaf*, std::string> first_names;
    for (const auto& [name, tensor] : all) {
        if (tensor.leaf() == nullptr) continue;
        const auto [at, is_new] = first_names.emplace(tensor.leaf().get(), name);
        const bool wanted = is_named(name);
        if (is_new || wanted == is_named(at->second)) continue;
        fail("train_only: \"{}\" and \"{}\" share one tensor: train both or neither",
             wanted ? name : at->second, wanted ? at->second : name);
    }
    for (const auto& [name, tensor] : all) {
        if (is_named(name)) {
            module.unfreeze(name);
        } else {
            module.freeze(name);
        }
    }
    return frozen_parameters(module);
}

std::vector<std::string> frozen_parameters(const Module& module) {
    std::vector<std::string> frozen;
    for (const auto& [name, parameter] : module.named_parameters()) {
        if (!parameter.requires_grad()) frozen.push_back(name);
    }
    return frozen;
}

}  // namespace tapestry
