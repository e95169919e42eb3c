// A run's latest state, edited as by an attacker who writes a checkpoint's metadata. The manifest
// is updated to match.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace tapestry::test {

inline constexpr const char* kState = "checkpoints/step-00000060.safetensors";

using StateJson = nlohmann::ordered_json;

/// Edits the JSON of the metadata: "step", "generators", "optimizer", "config", "run", ...
void change_state(const std::filesystem::path& run, const std::function<void(StateJson&)>& change);

/// Edits a text inside it: "config" and "run" are again JSON.
void change_text(const std::filesystem::path& run, const char* member,
                 const std::function<void(std::string&)>& change);

/// Edits the configuration, one of those JSON texts: "text", "data", "steps", "model", ...
void change_config(const std::filesystem::path& run, const std::function<void(StateJson&)>& change);

/// Edits the run's history, another one: "segments", "metrics", "best", ...
void change_history(const std::filesystem::path& run,
                    const std::function<void(StateJson&)>& change);

/// Gets and replaces the metadata's text.
std::string metadata_of(const std::filesystem::path& run);
void set_metadata(const std::filesystem::path& run, const std::string& text);

/// Updates the file's entry in the directory's manifest, if there is one.
void list_again(const std::filesystem::path& directory, const std::string& name);

}  // namespace tapestry::test
