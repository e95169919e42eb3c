#include <tapestry/nn/io/saved_names.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace tapestry {
namespace {

constexpr std::string_view kStep = "step-", kSuffix = ".safetensors", kStaged = ".saving-";
constexpr std::size_t kStageDigits = 16;

constexpr std::array<std::string_view, 6> kModelFiles{
    kConfigName, kWeightsName, kTokenizerName, kCharTokenizerName, "vocab.json", "merges.txt"};

bool is_model_file(std::string_view file) {
    return std::find(kModelFiles.begin(), kModelFiles.end(), file) != kModelFiles.end();
}

bool belongs(std::string_view folder, std::string_view file) {
    if (folder.empty()) return is_model_file(file) || file == kMetricsName;
    if (folder == kBestFolder) return is_model_file(file) || file == kManifestName;
    const bool holds_states = folder == kCheckpointsFolder || folder == kRewindFolder;
    return holds_states && step_of_state(file).has_value();
}

// See staged_flat().
bool belonged(std::string_view flat) {
    return std::any_of(
        std::begin(kRunFolders), std::end(kRunFolders), [flat](std::string_view folder) {
            return flat.size() > folder.size() && flat.starts_with(folder) &&
                   flat[folder.size()] == '-' && belongs(folder, flat.substr(folder.size() + 1));
        });
}

}  // namespace

SavedName parts_of(std::string_view name) {
    const auto slash = name.find('/');
    if (slash == name.npos) return {.file = std::string(name)};
    return {std::string(name.substr(0, slash)), std::string(name.substr(slash + 1))};
}

std::optional<SavedName> saved_name(std::string_view name) {
    SavedName parts = parts_of(name);
    if (name.starts_with('/') || !belongs(parts.folder, parts.file)) return std::nullopt;
    return parts;
}

std::string state_file(std::int64_t step) { return fmt::format("{}{:08}{}", kStep, step, kSuffix); }

std::optional<std::int64_t> step_of_state(std::string_view file) {
    if (!file.starts_with(kStep) || !file.ends_with(kSuffix)) return std::nullopt;
    std::int64_t step = -1;
    const char* const end = file.data() + file.size() - kSuffix.size();
    const auto [stop, error] = std::from_chars(file.data() + kStep.size(), end, step);
    if (error != std::errc{} || stop != end || step < 0 || state_file(step) != file)
        return std::nullopt;
    return step;
}

bool is_stage(std::string_view text) {
    return text.size() == kStageDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string staged_file(std::string_view stage, std::string_view file) {
    return fmt::format("{}{}-{}", kStaged, stage, file);
}

std::string staged_flat(std::string_view stage, const SavedName& name) {
    return staged_file(stage, name.folder + "-" + name.file);
}

bool is_staged_file(std::string_view folder, std::string_view file) {
    const std::size_t begin = kStaged.size() + kStageDigits;
    if (!file.starts_with(kStaged) || file.size() <= begin || file[begin] != '-') return false;
    if (!is_stage(file.substr(kStaged.size(), kStageDigits))) return false;
    const std::string_view name = file.substr(begin + 1);
    return belongs(folder, name) || (folder.empty() && belonged(name));
}

}  // namespace tapestry
