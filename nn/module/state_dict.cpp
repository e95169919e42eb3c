#include <tapestry/nn/module/state_dict.h>

#include <fmt/ranges.h>

#include <map>

namespace tapestry {
namespace {

// "missing: a, b, and 7 more"; nothing for nothing.
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
        const bool widens = is_half(from.dtype()) && to.dtype() == DType::f32;
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

}  // namespace tapestry
