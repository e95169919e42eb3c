// adapter_config.json of the PEFT library, read: rank, alpha and what else decides an update, for
// all matrices and for those that rank_pattern and alpha_pattern name. Internal to nn/io. Read
// next: peft.h.
#pragma once

#include <tapestry/nn/layers/low_rank.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// The keys of a rank_pattern or alpha_pattern: names of modules, or their ends, as a regular
/// expression. PEFT: re.match(rf"(.*\.)?({key})$", name). Of regular expressions there are literal
/// text, `.`, a digit's class, `+` and `*` after these two, `(a|b)`, `^` in front and `$` at the
/// end.
class ModulePattern {
public:
    /// Throws ValueError, with the reason, for another regular expression.
    explicit ModulePattern(std::string key);

    /// Whether the module `name`, "model.layers.3.self_attn.q_proj", has it.
    bool matches(std::string_view name) const;

private:
    std::string key_;
    bool is_whole_ = false;  // the key is the whole name
};

/// An adapter's settings.
struct AdapterConfig {
    LowRankConfig update = {};  ///< of the matrices that no pattern names
    std::vector<std::pair<ModulePattern, std::int64_t>> ranks = {};  ///< the first that fits counts
    std::vector<std::pair<ModulePattern, double>> alphas = {};       ///< likewise

    /// Those of a module.
    LowRankConfig of(std::string_view module) const;
};

/// Throws IoError, with the file and the reason: see load_adapter().
AdapterConfig read_adapter_config(const std::filesystem::path& path);

}  // namespace tapestry
