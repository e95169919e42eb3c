#include <tapestry/nn/io/checkpoint.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/text/shown.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/version.h>
#include <tapestry/nn/freeze.h>
#include <tapestry/nn/io/module_file.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/json_tree.h>
#include <tapestry/nn/json_writer.h>

#include <algorithm>

namespace tapestry {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kFormat = "tapestry-checkpoint";
constexpr std::uint64_t kVersion = 2;
constexpr std::string_view kOptimizer = "optimizer.";

// Shortest decimal forms are read as the same bits; integers are written whole. All numbers here
// are finite.
void write(JsonWriter& json, const OptimizerState::Group& group) {
    json.object([&] {
        json.member("weight_decay", group.weight_decay);
        json.member("lr_factor", group.lr_factor);
        json.member("parameters", group.parameters);
    });
}

void write(JsonWriter& json, const OptimizerState& state) {
    json.object([&] {
        json.member("kind", state.kind);
        json.member("steps", state.steps);
        json.member("lr", state.lr);
        json.member("settings", [&] {
            json.object([&] {
                for (const auto& setting : state.settings) {
                    json.member(setting.first, setting.second);
                }
            });
        });
        json.list("groups", state.groups,
                  [&](const OptimizerState::Group& group) { write(json, group); });
    });
}

void write_generators(JsonWriter& json, const Checkpoint& c) {
    json.object([&] {
        for (const auto& entry : c.generators) {
            const Generator* generator = entry.second;
            require(generator != nullptr, "checkpoint: generator \"{}\" is null", entry.first);
            json.member(entry.first, [&] {
                json.object([&] {
                    json.member("seed", generator->seed());
                    json.member("offset", generator->offset());
                });
            });
        }
    });
}

std::string json_of(const Checkpoint& c, const OptimizerState& state) {
    JsonWriter json;
    json.object([&] {
        json.member("version", kVersion);
        json.member("tapestry", version());
        json.member("isa", name_of(current_isa()));
        json.member("step", c.step);
        json.member("generators", [&] { write_generators(json, c); });
        json.member("optimizer", [&] { write(json, state); });
        json.member("frozen", frozen_parameters(c.module));
        json.member("config", c.config);
        json.member("data", c.data);
        json.member("run", c.run);
    });
    return json.text();
}

// Every number and name with the type it must have; the JSON library would convert silently.
template <class T>
T get(const Json& object, const char* name) {
    const Json& value = object.at(name);
    bool fits = false;
    if constexpr (std::is_same_v<T, std::string>) {
        fits = value.is_string();
    } else if constexpr (std::is_same_v<T, double>) {
        fits = value.is_number();
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        fits = value.is_number_unsigned();
    } else {
        fits = value.is_number_integer() &&
               (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    }
    require(fits, "\"{}\" is {}, which is not what belongs there", name, value.dump());
    return value.get<T>();
}

OptimizerState state_of(const Json& json) {
    OptimizerState state{.kind = get<std::string>(json, "kind"),
                         .steps = get<std::int64_t>(json, "steps"),
                         .lr = get<double>(json, "lr")};
    for (const auto& [name, value] : json.at("settings").items()) {
        state.settings[name] = get<double>(json.at("settings"), name.c_str());
    }
    for (const Json& group : json.at("groups")) {
        state.groups.push_back({group.at("parameters").get<std::vector<std::string>>(),
                                get<double>(group, "weight_decay"),
                                get<double>(group, "lr_factor")});
    }
    return state;
}

struct GeneratorState {
    std::uint64_t seed;
    std::uint64_t offset;
};

// A checkpoint's file, read.
struct Contents {
    CheckpointInfo info;
    OptimizerState state;
    std::map<std::string, GeneratorState> generators;
};

Contents parse(const std::string& text) {
    JsonTree tree;
    tree.parse(text);
    const Json& json = tree.root();
    const auto number = get<std::uint64_t>(json, "version");
    require(number == kVersion, "it is of version {}; this Tapestry reads version {}", number,
            kVersion);
    Contents contents{.info = {.step = get<std::int64_t>(json, "step"),
                               .config = get<std::string>(json, "config"),
                               .data = get<std::string>(json, "data"),
                               .run = get<std::string>(json, "run"),
                               .version = get<std::string>(json, "tapestry"),
                               .isa = get<std::string>(json, "isa"),
                               .optimizer = get<std::string>(json.at("optimizer"), "kind"),
                               .frozen = json.at("frozen").get<std::vector<std::string>>()},
                      .state = state_of(json.at("optimizer")),
                      .generators = {}};
    for (const auto& [name, value] : json.at("generators").items()) {
        contents.generators[name] = {get<std::uint64_t>(value, "seed"),
                                     get<std::uint64_t>(value, "offset")};
    }
    return contents;
}

Contents contents_of(const fs::path& path, const std::map<std::string, std::string>& metadata) {
    const auto format = metadata.find("format");
    const auto text = metadata.find("checkpoint");
    require<IoError>(format != metadata.end() && format->second == kFormat,
                     "{}: not a checkpoint: the format in its metadata is {}, not {}", shown(path),
                     format == metadata.end() ? "missing" : utf8::quoted(format->second),
                     utf8::quoted(kFormat));
    require<IoError>(text != metadata.end(), "{}: the checkpoint has no numbers in its metadata",
                     shown(path));
    try {
        return parse(text->second);
    } catch (const nlohmann::json::exception& error) {
        fail<IoError>("{}: the checkpoint's metadata is damaged: {}", shown(path), error.what());
    } catch (const ValueError& error) {
        fail<IoError>("{}: the checkpoint's metadata: {}", shown(path), error.what());
    }
}

// The tensors of the file, shared out: the module's, and the optimiser's.
NamedTensors take_prefix(const fs::path& path, const NamedTensors& all, OptimizerState& state) {
    NamedTensors model;
    for (const auto& [name, tensor] : all) {
        if (name.starts_with(kModelPrefix)) {
            model.emplace_back(name.substr(kModelPrefix.size()), tensor);
        } else {
            require<IoError>(name.starts_with(kOptimizer), "{}: tensor {} is of nothing known",
                             shown(path), utf8::quoted(name));
            state.tensors.emplace_back(name.substr(kOptimizer.size()), tensor);
        }
    }
    return model;
}

void check_frozen(const fs::path& path, std::vector<std::string> there,
                  std::vector<std::string> here) {
    std::sort(there.begin(), there.end());
    std::sort(here.begin(), here.end());
    const auto check = [&](const auto& some, const auto& others, const char* words) {
        for (const std::string& name : some) {
            require<IoError>(std::binary_search(others.begin(), others.end(), name),
                             "{}: parameter \"{}\" is frozen {}", shown(path), name, words);
        }
    };
    check(there, here, "in the file and not in the module");
    check(here, there, "in the module and not in the file");
}

void check_generators(const fs::path& path, const std::map<std::string, GeneratorState>& there,
                      const std::map<std::string, Generator*>& here) {
    for (const auto& [name, generator] : here) {
        require(generator != nullptr, "checkpoint: generator \"{}\" is null", name);
        require<IoError>(there.contains(name), "{}: generator \"{}\" is missing", shown(path),
                         name);
    }
    for (const auto& [name, state] : there) {
        require<IoError>(here.contains(name), "{}: generator \"{}\" of the file is unknown",
                         shown(path), name);
    }
}

}  // namespace

CheckpointFile file_of(const Checkpoint& checkpoint) {
    for (const std::string& text : {checkpoint.config, checkpoint.data, checkpoint.run}) {
        if (const auto flaw = utf8::find_flaw(text)) {
            fail("save_checkpoint: the configuration is not UTF-8, byte {}: {}", flaw->byte,
                 flaw->what);
        }
    }
    const OptimizerState state = checkpoint.optimizer.shared_state();
    CheckpointFile file{{}, {{"format", kFormat}, {"checkpoint", json_of(checkpoint, state)}}};
    for (const auto& [name, tensor] : saved_tensors(checkpoint.module)) {
        file.tensors.emplace_back(fmt::format("{}{}", kModelPrefix, name), tensor);
    }
    for (const auto& [name, tensor] : state.tensors) {
        file.tensors.emplace_back(fmt::format("{}{}", kOptimizer, name), tensor);
    }
    return file;
}

void save_checkpoint(const fs::path& path, const Checkpoint& checkpoint) {
    const CheckpointFile file = file_of(checkpoint);
    write_safetensors(path, file.tensors, file.metadata);
}

CheckpointInfo load_checkpoint(const fs::path& path, const Checkpoint& into) {
    const SafetensorsFile file = read_safetensors(path);
    Contents contents = contents_of(path, file.metadata);
    const NamedTensors model = take_prefix(path, file.tensors, contents.state);
    Unmatched none;
    const auto pairs = match_tensors(shown(path), model, into.module, {}, none);
    check_frozen(path, contents.info.frozen, frozen_parameters(into.module));
    check_generators(path, contents.generators, into.generators);
    try {
        into.optimizer.load_state(contents.state);  // the last that may throw
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", shown(path), error.what());
    }
    for (const auto& [from, to] : pairs) Tensor(to).copy_(from);
    for (const auto& [name, generator] : into.generators) {
        const GeneratorState& state = contents.generators.at(name);
        generator->set_state(state.seed, state.offset);
    }
    return contents.info;
}

CheckpointInfo checkpoint_info(const fs::path& path) {
    const auto nothing = [](const std::string&) { return false; };
    return contents_of(path, read_safetensors(path, nothing).metadata).info;
}

}  // namespace tapestry
