#include <tapestry/nn/io/adapter_config.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// ---- patterns

// Goes through a key once, with all places of the name that its beginning can reach, so no key
// takes longer than the product of both lengths.
class KeyReader {
public:
    KeyReader(std::string_view key, std::string_view name) : key_(key), name_(name) {}

    using Places = std::vector<bool>;  // name_.size() + 1

    /// The places behind the key, from these.
    Places all(const Places& from) {
        const Places to = alternatives(from, 0);
        require(at_ == key_.size(), "')' has no '('");
        return to;
    }

private:
    static constexpr int kDeepest = 16;

    Places alternatives(const Places& from, int depth) {
        require(depth <= kDeepest, "more than {} groups in one another", kDeepest);
        Places to(from.size());
        while (true) {
            const Places one = sequence(from, depth);
            std::transform(to.begin(), to.end(), one.begin(), to.begin(), std::logical_or<>());
            if (at_ == key_.size() || key_[at_] != '|') return to;
            ++at_;
        }
    }

    Places sequence(Places places, int depth) {
        while (at_ < key_.size() && key_[at_] != '|' && key_[at_] != ')') {
            places = key_[at_] == '(' ? group(places, depth) : characters(places);
        }
        return places;
    }

    Places group(const Places& from, int depth) {
        ++at_;
        if (key_.substr(at_).starts_with("?:")) at_ += 2;
        Places to = alternatives(from, depth + 1);
        require(at_ < key_.size(), "'(' has no ')'");
        ++at_;
        require(at_ == key_.size() || !is_repetition(key_[at_]), "a group cannot be repeated");
        return to;
    }

    static bool is_repetition(char c) { return c == '+' || c == '*'; }

    // A character, or a class of them and its repetition.
    Places characters(const Places& from) {
        const bool is_escape = key_[at_] == '\\' && at_ + 1 < key_.size();
        if (is_escape) ++at_;
        const char c = key_[at_++];
        const bool is_any = !is_escape && c == '.', is_digit = is_escape && c == 'd';
        constexpr std::string_view kOthers = "[]{}?*+^$\\";
        const bool is_letter = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        require(is_digit || !(is_escape ? is_letter : kOthers.find(c) != kOthers.npos),
                "'{}{}' is not supported", is_escape ? "\\" : "", c);
        const bool repeats = at_ < key_.size() && is_repetition(key_[at_]);
        require(!repeats || is_any || is_digit, "only . and \\d can be repeated");
        const bool or_none = repeats && key_[at_] == '*';
        if (repeats) ++at_;
        const auto fits = [&](char x) {
            return is_any || (is_digit ? x >= '0' && x <= '9' : x == c);
        };
        return behind(from, fits, repeats, or_none);
    }

    template <class Fits>
    Places behind(const Places& from, const Fits& fits, bool repeats, bool or_none) const {
        Places to = or_none ? from : Places(from.size());
        for (std::size_t i = 0; i < name_.size(); ++i) {
            const bool is_reached = from[i] || (repeats && to[i]);
            if (is_reached && fits(name_[i])) to[i + 1] = true;
        }
        return to;
    }

    std::string_view key_, name_;
    std::size_t at_ = 0;
};

// ---- settings

// Settings that change nothing here: places, names, and how training began.
const std::set<std::string>& harmless() {
    static const std::set<std::string> names{"alpha_pattern",
                                             "auto_mapping",
                                             "base_model_name_or_path",
                                             "bias",
                                             "eva_config",
                                             "exclude_modules",
                                             "fan_in_fan_out",
                                             "inference_mode",
                                             "init_lora_weights",
                                             "layers_pattern",
                                             "layers_to_transform",
                                             "lora_alpha",
                                             "lora_dropout",
                                             "megatron_core",
                                             "peft_type",
                                             "peft_version",
                                             "qalora_group_size",
                                             "r",
                                             "rank_pattern",
                                             "revision",
                                             "target_modules",
                                             "task_type",
                                             "use_rslora"};
    return names;
}

// null, false, 0, "", [] and {} turn a setting off.
bool is_off(const JsonNode& value) {
    switch (value.kind()) {
        case JsonKind::null: return true;
        case JsonKind::boolean: return !value.get<bool>();
        case JsonKind::number: return value.holds<double>() && value.get<double>() == 0;
        case JsonKind::string: return value.get<std::string>().empty();
        case JsonKind::array: return value.elements().empty();
        case JsonKind::object: return value.members().empty();
    }
    return false;
}

void check_adapter_settings(const std::string& file, const JsonNode& root) {
    for (const auto& [name, value] : root.members()) {
        require<IoError>(harmless().contains(name) || is_off(value),
                         "{}: \"{}\" is {}, which changes what the adapter computes and is not "
                         "supported",
                         file, utf8::printable(name), utf8::printable(value.shown()));
    }
    const auto type = root.get<std::string>("peft_type");
    require<IoError>(type == "LORA", "{}: \"peft_type\" is \"{}\"; only \"LORA\" is supported",
                     file, utf8::printable(type));
    const auto bias = root.find("bias");
    require<IoError>(!bias || bias->get<std::string>() == "none",
                     "{}: \"bias\" is {}; only \"none\" is supported", file,
                     bias ? utf8::printable(bias->shown()) : "");
    const auto initial = root.find("init_lora_weights");
    if (!initial || !initial->is(JsonKind::string)) return;
    const auto name = initial->get<std::string>();
    constexpr std::array<std::string_view, 3> kKnown{"gaussian", "eva", "orthogonal"};
    require<IoError>(std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end(),
                     "{}: \"init_lora_weights\" is \"{}\": such an adapter belongs to weights that "
                     "differ from the base model's; let PEFT convert it "
                     "(path_initial_model_for_weight_conversion)",
                     file, utf8::printable(name));
}

// A number for each key. PEFT takes the first that fits in the file's order, and sorts when it
// writes, as members() does.
template <class T>
std::vector<std::pair<ModulePattern, T>> read_pattern(const std::string& file, const JsonNode& root,
                                                      const char* field) {
    std::vector<std::pair<ModulePattern, T>> all;
    const auto node = root.find(field);
    if (!node || is_off(*node)) return all;
    for (const std::pair<std::string, JsonNode>& member : node->members()) {
        const std::string& key = member.first;
        const JsonNode& value = member.second;
        const std::string place = fmt::format("{}: \"{}\": {}", file, field, utf8::quoted(key));
        require<IoError>(value.holds<T>() && value.get<T>() > 0,
                         "{} is {}; must be a number above 0", place,
                         utf8::printable(value.shown()));
        try {
            all.emplace_back(ModulePattern(key), value.get<T>());
        } catch (const ValueError& error) {
            fail<IoError>("{}: {}; replace the key by the names of the modules, or their ends",
                          place, error.what());
        }
    }
    return all;
}

}  // namespace

ModulePattern::ModulePattern(std::string key) : key_(std::move(key)) {
    is_whole_ = key_.starts_with('^');
    if (is_whole_) key_.erase(0, 1);
    if (key_.ends_with('$') && !key_.ends_with("\\$")) key_.pop_back();
    matches("");
}

bool ModulePattern::matches(std::string_view name) const {
    std::vector<bool> places(name.size() + 1);
    for (std::size_t i = 0; i < name.size(); ++i) {
        places[i] = i == 0 || (!is_whole_ && name[i - 1] == '.');
    }
    return KeyReader(key_, name).all(places).back();
}

LowRankConfig AdapterConfig::of(std::string_view module) const {
    const auto fits = [&](const auto& one) { return one.first.matches(module); };
    LowRankConfig config = update;
    const auto rank = std::find_if(ranks.begin(), ranks.end(), fits);
    if (rank != ranks.end()) config.rank = rank->second;
    const auto alpha = std::find_if(alphas.begin(), alphas.end(), fits);
    if (alpha != alphas.end()) config.alpha = alpha->second;
    return config;
}

AdapterConfig read_adapter_config(const fs::path& path) {
    constexpr std::uint64_t kMostOfSettings = 1 << 20;
    const std::string file = path.string();
    try {
        const JsonTree tree(read_file(path, kMostOfSettings));
        const JsonNode root = tree.root();
        check_adapter_settings(file, root);
        AdapterConfig all{.update = {.rank = root.count("r")},
                          .ranks = read_pattern<std::int64_t>(file, root, "rank_pattern"),
                          .alphas = read_pattern<double>(file, root, "alpha_pattern")};
        LowRankConfig& config = all.update;
        require<IoError>(config.rank >= 1, "{}: \"r\" is {}; must be at least 1", file,
                         config.rank);
        config.alpha = root.find("lora_alpha") ? root.get<double>("lora_alpha") : 8;  // PEFT's
        config.dropout = root.find("lora_dropout") ? root.get<double>("lora_dropout") : 0;
        config.rank_stabilized = root.find("use_rslora") && root.get<bool>("use_rslora");
        return all;
    } catch (const JsonError& error) {
        fail<IoError>("{}: {}", file, error.what());
    }
}

}  // namespace tapestry
