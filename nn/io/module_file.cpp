#include <tapestry/nn/io/module_file.h>

#include <tapestry/core/text/shown.h>
#include <tapestry/nn/io/safetensors.h>

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

void save(const std::filesystem::path& path, const Module& module) {
    write_safetensors(path, saved_tensors(module), {{"format", "tapestry-module"}});
}

std::vector<std::pair<Tensor, Tensor>> match_tensors(const std::string& file,
                                                     const NamedTensors& stored,
                                                     const Module& module,
                                                     const LoadOptions& options,
                                                     Unmatched& unmatched) {
    std::map<std::string, Tensor> left(stored.begin(), stored.end());
    std::vector<std::pair<Tensor, Tensor>> pairs;
    std::vector<std::string> others;  // of another shape or dtype
    for (const auto& [name, to] : saved_tensors(module)) {
        const auto found = left.find(name);
        if (found == left.end()) {
            unmatched.missing.push_back(name);
            continue;
        }
        const Tensor& from = found->second;
        if (from.shape() == to.shape() && from.dtype() == to.dtype()) {
            pairs.emplace_back(from, to);
        } else {
            others.push_back(fmt::format("{} ({} {} in the file, {} {} in the module)", name,
                                         from.dtype(), from.shape(), to.dtype(), to.shape()));
        }
        left.erase(found);
    }
    for (const auto& [name, tensor] : left) unmatched.unknown.push_back(name);
    std::vector<std::string> flaws;
    if (options.strict) {
        describe(flaws, "missing", unmatched.missing);
        describe(flaws, "unknown", unmatched.unknown);
    }
    describe(flaws, "different", others);
    require<IoError>(flaws.empty(), "{}: the tensors do not fit the {}: {}", file, module.kind(),
                     fmt::join(flaws, "; "));
    return pairs;
}

Unmatched load(const std::filesystem::path& path, Module& module, const LoadOptions& options) {
    Unmatched unmatched;
    const SafetensorsFile file = read_safetensors(path);
    const auto pairs = match_tensors(shown(path), file.tensors, module, options, unmatched);
    for (const auto& [from, to] : pairs) Tensor(to).copy_(from);
    return unmatched;
}

}  // namespace tapestry
