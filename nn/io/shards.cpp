#include <tapestry/nn/io/shards.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/io/safetensors_header.h>
#include <tapestry/nn/layers/linear.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// "model-00001-of-00002.safetensors": a plain name, which cannot lead out of the directory.
bool is_name_of_shard(const std::string& name) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    };
    return name.ends_with(".safetensors") && !name.starts_with('.') && name.size() < 256 &&
           std::all_of(name.begin(), name.end(), is_plain);
}

std::set<std::string> names_in_index(const fs::path& index) {
    const ConfigFile file(index);
    std::set<std::string> names;
    try {
        for (const auto& [tensor, node] : file.node("weight_map").members()) {
            const auto name = node.get<std::string>();
            require<IoError>(is_name_of_shard(name),
                             "{}: \"weight_map\" names {}, which is no file of weights beside it",
                             index.string(), utf8::quoted(name));
            names.insert(name);
        }
    } catch (const JsonError& error) {
        fail<IoError>("{}: {}", index.string(), error.what());
    }
    require<IoError>(!names.empty(), "{}: \"weight_map\" names no file", index.string());
    return names;
}

}  // namespace

std::vector<fs::path> weight_files(const SavedFiles& files) {
    const fs::path index = files.path(kShardIndexName);
    if (is_there(files.path(kWeightsName)) || !is_there(index)) return {files.path(kWeightsName)};
    std::vector<fs::path> shards;
    for (const std::string& name : names_in_index(index)) {
        shards.push_back(files.directory() / name);
        require<IoError>(is_there(shards.back()), "{}: the shard {} is missing", index.string(),
                         name);
    }
    return shards;
}

namespace {

// Weights in f32 that have become int8 rows.
constexpr std::size_t kMostRounded = std::size_t{8} << 20;

// Where the tensors of a file go.
struct ParameterSink {
    std::map<std::string, StoredParameter*> parameters = {};
    std::map<std::string, std::string> seen = {};  // in which file
    std::map<std::string, Tensor> others = {};
    PeriodicRelease copied{};  // tensors, whose blocks the next ones use if they are as large

    StoredParameter* find(const std::string& name) const {
        const auto found = parameters.find(name);
        return found == parameters.end() ? nullptr : found->second;
    }

    // The parameter itself, if the file has its elements in its order and type.
    Tensor place(const std::string& name, const Shape& shape, DType dtype) const {
        const StoredParameter* const one = find(name);
        if (one == nullptr || one->transposed || seen.count(name) > 0) return {};
        const Tensor& parameter = one->parameter;
        const bool fits = parameter.shape() == shape && parameter.dtype() == dtype;
        const bool is_whole = parameter.is_contiguous() && parameter.offset() == 0;
        return fits && is_whole ? parameter : Tensor();
    }

    void take(const std::string& file, const std::string& name, const Tensor& x) {
        const auto [first, is_new] = seen.emplace(name, file);
        if (!is_new) {
            fail<IoError>("{}: tensor \"{}\" {}", file, utf8::printable(name),
                          first->second == file ? "occurs twice, with and without a prefix"
                                                : "is in another shard, too");
        }
        StoredParameter* const one = find(name);
        if (one == nullptr) {
            others.emplace(name, x);
            return;
        }
        if (x.storage() != one->parameter.storage()) {
            fill_parameter(file, *one, x);
            const bool converts = x.dtype() != one->parameter.dtype();
            copied.add(x.bytes() + (converts ? one->parameter.bytes() : 0));
        }
        one->parameter = Tensor();
        if (!one->filled) return;
        try {
            one->filled();
        } catch (const ValueError& error) {
            fail<IoError>("{}: tensor \"{}\": {}", file, utf8::printable(name), error.what());
        }
    }
};

}  // namespace

std::map<std::string, Tensor> read_parameters(
    const SavedFiles& files, const std::function<bool(const std::string&)>& wanted,
    const std::function<std::string(const std::string&)>& own_name,
    std::vector<StoredParameter> parameters) {
    ParameterSink to;
    for (StoredParameter& one : parameters) to.parameters.emplace(one.name, &one);
    std::string file;
    for (const fs::path& path : weight_files(files)) {
        file = path.string();
        safetensors::read_tensors(
            path, wanted,
            {.place = [&](const std::string& name, const Shape& shape,
                          DType dtype) { return to.place(own_name(name), shape, dtype); },
             .take = [&](const std::string& name,
                         const Tensor& x) { to.take(file, own_name(name), x); }});
    }
    for (const StoredParameter& one : parameters) {
        require<IoError>(to.seen.count(one.name) > 0, "{}: tensor \"{}\" is missing", file,
                         one.name);
    }
    return std::move(to.others);
}

void quantize_when_filled(std::vector<StoredParameter>& parameters, Module& model) {
    struct Weight {
        std::vector<Linear*> layers = {};  // that have it
        std::size_t parts = 0;             // still to be read
    };
    std::map<const void*, std::shared_ptr<Weight>> weights;  // by storage
    model.apply([&](Module& module) {
        auto* const layer = dynamic_cast<Linear*>(&module);
        if (layer == nullptr || !layer->weight.defined()) return;
        auto& weight = weights[layer->weight.storage().get()];
        if (weight == nullptr) weight = std::make_shared<Weight>();
        weight->layers.push_back(layer);
    });
    const auto rounded = std::make_shared<PeriodicRelease>(kMostRounded);
    for (StoredParameter& one : parameters) {
        const auto found = weights.find(one.parameter.storage().get());
        if (found == weights.end()) continue;
        ++found->second->parts;
        one.filled = [weight = found->second, rounded, bytes = one.parameter.bytes()] {
            if (--weight->parts == 0) {
                for (Linear* const layer : weight->layers) layer->keep_int8();
            }
            rounded->add(bytes);
        };
    }
}

}  // namespace tapestry
