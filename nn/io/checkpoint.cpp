#include <tapestry/nn/io/checkpoint.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/cpu.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/version.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/module/freeze.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckpointFormat = "tapestry-checkpoint";
constexpr std::uint64_t kVersion = 2;
constexpr std::string_view kOptimizer = "optimizer.";

// The shortest decimal forms round-trip exactly; integers are written in full. All numbers here are
// finite.
void write(JsonWriter& json, const OptimizerState::Group& group) {
    json.object("weight_decay", group.weight_decay, "lr_factor", group.lr_factor, "parameters",
                group.parameters);
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
                json.object("seed", generator->seed(), "offset", generator->offset());
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

OptimizerState state_of(const JsonNode& json) {
    OptimizerState state{.kind = json.get<std::string>("kind"),
                         .steps = json.count("steps"),
                         .lr = json.get<double>("lr")};
    const JsonNode settings = json.at("settings");
    for (const auto& setting : settings.members()) {
        state.settings[setting.first] = settings.get<double>(setting.first);
    }
    for (const JsonNode& group : json.at("groups").elements()) {
        state.groups.push_back({group.get<std::vector<std::string>>("parameters"),
                                group.get<double>("weight_decay"), group.get<double>("lr_factor")});
    }
    return state;
}

struct GeneratorState {
    std::uint64_t seed;
    std::uint64_t offset;
};

// The parsed contents of a checkpoint's file.
struct Contents {
    CheckpointInfo info;
    OptimizerState state;
    std::map<std::string, GeneratorState> generators;
};

Contents parse_checkpoint(const std::string& text) {
    const JsonTree tree(text);
    const JsonNode json = tree.root();
    const auto number = json.get<std::uint64_t>("version");
    require(number == kVersion, "it is of version {}; this Tapestry reads version {}", number,
            kVersion);
    Contents contents{.info = {.step = json.count("step"),
                               .config = json.get<std::string>("config"),
                               .data = json.get<std::string>("data"),
                               .run = json.get<std::string>("run"),
                               .version = json.get<std::string>("tapestry"),
                               .isa = json.get<std::string>("isa"),
                               .optimizer = json.at("optimizer").get<std::string>("kind"),
                               .frozen = json.get<std::vector<std::string>>("frozen")},
                      .state = state_of(json.at("optimizer")),
                      .generators = {}};
    for (const auto& [name, value] : json.at("generators").members()) {
        contents.generators[name] = {value.get<std::uint64_t>("seed"),
                                     value.get<std::uint64_t>("offset")};
    }
    return contents;
}

Contents contents_of(const fs::path& path, const std::map<std::string, std::string>& metadata) {
    const auto format = metadata.find("format");
    const auto text = metadata.find("checkpoint");
    require<IoError>(format != metadata.end() && format->second == kCheckpointFormat,
                     "{}: not a checkpoint: the format in its metadata is {}, not {}", shown(path),
                     format == metadata.end() ? "missing" : utf8::quoted(format->second),
                     utf8::quoted(kCheckpointFormat));
    require<IoError>(text != metadata.end(), "{}: the checkpoint has no numbers in its metadata",
                     shown(path));
    try {
        return parse_checkpoint(text->second);
    } catch (const ValueError& error) {
        fail<IoError>("{}: the checkpoint's metadata: {}", shown(path), error.what());
    }
}

// Splits the file's tensors into the module's and the optimiser's.
NamedTensors take_prefix(const fs::path& path, const NamedTensors& all, OptimizerState& state) {
    NamedTensors model;
    for (const auto& [name, tensor] : all) {
        if (name.starts_with(kModelPrefix)) {
            model.emplace_back(name.substr(kModelPrefix.size()), tensor);
        } else {
            require<IoError>(name.starts_with(kOptimizer), "{}: unexpected tensor {}", shown(path),
                             utf8::quoted(name));
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
                             "{}: parameter \"{}\" is frozen {}", shown(path),
                             utf8::printable(name), words);
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
                         shown(path), utf8::printable(name));
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
    CheckpointFile file{
        {}, {{"format", kCheckpointFormat}, {"checkpoint", json_of(checkpoint, state)}}};
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
        into.optimizer.load_state(contents.state);  // the last call that may throw
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

namespace {

// The source is too large for any cache: pieces must be large enough to be worth scheduling, and
// small enough to keep all threads busy to the end.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

struct Piece {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
};

void add_pieces(std::vector<Piece>& pieces, Tensor& to, const Tensor& from) {
    visit_dtype(from.dtype(), [&](auto zero) {
        using T = decltype(zero);
        auto* write = reinterpret_cast<std::byte*>(to.mutable_data<T>());
        const auto* read = reinterpret_cast<const std::byte*>(from.data<T>());
        for (std::size_t at = 0; at < from.bytes(); at += kPieceBytes) {
            pieces.push_back({write + at, read + at, std::min(kPieceBytes, from.bytes() - at)});
        }
    });
}

bool fits(const std::pair<std::string, Tensor>& copy, const std::string& name, const Tensor& x) {
    return copy.first == name && copy.second.shape() == x.shape() &&
           copy.second.dtype() == x.dtype();
}

}  // namespace

namespace {

// No step changes these, so they need no copy.
std::set<const Storage*> frozen_storage(const Module& module) {
    std::set<const Storage*> all;
    for (const Tensor& parameter : module.parameters()) {
        if (!parameter.requires_grad()) all.insert(parameter.storage().get());
    }
    return all;
}

}  // namespace

void Snapshot::take(const Checkpoint& checkpoint) {
    CheckpointFile now = file_of(checkpoint);
    copy_.metadata = std::move(now.metadata);
    if (!std::exchange(is_copy_, true)) copy_.tensors.clear();
    copy_.tensors.resize(now.tensors.size());
    const std::set<const Storage*> frozen = frozen_storage(checkpoint.module);
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < now.tensors.size(); ++i) {
        const Tensor from = dense(now.tensors[i].second);
        auto& copy = copy_.tensors[i];
        if (frozen.contains(from.storage().get())) {
            copy = {now.tensors[i].first, from};
            continue;
        }
        const bool is_own = copy.second.defined() && copy.second.storage() == from.storage();
        if (!copy.second.defined() || is_own || !fits(copy, now.tensors[i].first, from)) {
            copy = {now.tensors[i].first, Tensor(from.shape(), from.dtype())};
        }
        now.tensors[i].second = from;  // keeps it alive until it is copied
        add_pieces(pieces, copy.second, from);
    }
    parallel_for_chunks(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i) {
        const Piece& piece = pieces[static_cast<std::size_t>(i)];
        std::memcpy(piece.to, piece.from, piece.bytes);
    });
}

void Snapshot::refer(const Checkpoint& checkpoint) {
    copy_ = file_of(checkpoint);
    is_copy_ = false;
}

NamedTensors Snapshot::weights() const {
    NamedTensors weights;
    for (const auto& [name, tensor] : copy_.tensors) {
        if (name.starts_with(kModelPrefix)) {
            weights.emplace_back(name.substr(kModelPrefix.size()), tensor);
        }
    }
    return weights;
}

}  // namespace tapestry
