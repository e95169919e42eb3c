#include <tapestry/tests/hostile/states.h>

#include <tapestry/nn/io/safetensors.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/hostile/manifest_text.h>

namespace tapestry::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "tapestry-manifest.json";

void change_json(const fs::path& run, const char* member,
                 const std::function<void(StateJson&)>& change) {
    change_text(run, member, [&](std::string& text) {
        StateJson json = StateJson::parse(text);
        change(json);
        text = json.dump();
    });
}

}  // namespace

void change_state(const fs::path& run, const std::function<void(StateJson&)>& change) {
    StateJson json = StateJson::parse(metadata_of(run));
    change(json);
    set_metadata(run, json.dump());
}

void change_text(const fs::path& run, const char* member,
                 const std::function<void(std::string&)>& change) {
    change_state(run, [&](StateJson& state) {
        std::string text = state.at(member).get<std::string>();
        change(text);
        state[member] = text;
    });
}

void change_config(const fs::path& run, const std::function<void(StateJson&)>& change) {
    change_json(run, "config", change);
}

void change_history(const fs::path& run, const std::function<void(StateJson&)>& change) {
    change_json(run, "run", change);
}

std::string metadata_of(const fs::path& run) {
    return read_safetensors(run / kState).metadata.at("checkpoint");
}

void set_metadata(const fs::path& run, const std::string& text) {
    SafetensorsFile file = read_safetensors(run / kState);
    file.metadata["checkpoint"] = text;
    write_safetensors(run / kState, file.tensors, file.metadata);
    list_again(run, kState);
}

void list_again(const fs::path& directory, const std::string& name) {
    if (name == kManifest || !fs::exists(directory / kManifest)) return;
    ManifestText manifest(directory);
    manifest.drop(name);
    manifest.list(name, slurp(directory / name));
    manifest.write(directory);
}

}  // namespace tapestry::test
