// A run's latest state, changed by hand: what an attacker writes into a checkpoint's metadata. The
// manifest lists it as it is then.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace tapestry::test {

inline constexpr const char* kState = "checkpoints/step-00000060.safetensors";

using StateJson = nlohmann::ordered_json;

/// Changes the JSON of the metadata: "step", "generators", "optimizer", "config", "run", ...
void change_state(const std::filesystem::path& run, const std::function<void(StateJson&)>& change);

/// Changes a text that is in it: "config" and "run" are JSON once more.
void change_text(const std::filesystem::path& run, const char* member,
                 const std::function<void(std::string&)>& change);

/// Changes the configuration, such a text of JSON in that JSON: "text", "data", "steps", "model",
/// ...
void change_config(const std::filesystem::path& run, const std::function<void(StateJson&)>& change);

/// Changes how the run went, another one: "segments", "metrics", "best", ...
void change_history(const std::filesystem::path& run,
                    const std::function<void(StateJson&)>& change);

/// The metadata's text, and another in its place.
std::string metadata_of(const std::filesystem::path& run);
void set_metadata(const std::filesystem::path& run, const std::string& text);

/// Lets the directory's manifest, if there is one, list the file as it is now.
void list_again(const std::filesystem::path& directory, const std::string& name);

}  // namespace tapestry::test
