#include <tapestry/nn/io/module_file.h>

#include <tapestry/core/text/shown.h>
#include <tapestry/nn/io/safetensors.h>

namespace tapestry {

void save(const std::filesystem::path& path, const Module& module) {
    write_safetensors(path, saved_tensors(module), {{"format", "tapestry-module"}});
}

std::vector<std::pair<Tensor, Tensor>> match_tensors(const std::string& file,
                                                     const NamedTensors& stored,
                                                     const Module& module,
                                                     const LoadOptions& options,
                                                     Unmatched& unmatched) {
    Match match(stored, module, options.strict, "file");
    require<IoError>(match.flaws.empty(), "{}: {}", file, match.flaws);
    unmatched = std::move(match.unmatched);
    return std::move(match.pairs);
}

Unmatched load(const std::filesystem::path& path, Module& module, const LoadOptions& options) {
    Unmatched unmatched;
    const SafetensorsFile file = read_safetensors(path);
    const auto pairs = match_tensors(shown(path), file.tensors, module, options, unmatched);
    for (const auto& [from, to] : pairs) Tensor(to).copy_(from);
    return unmatched;
}

}  // namespace tapestry
