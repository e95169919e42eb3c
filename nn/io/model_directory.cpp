#include <tapestry/nn/data/utf8.h>
#include <tapestry/nn/io/file.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>

#include <nlohmann/json.hpp>

#include <map>
#include <set>

namespace tapestry {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::uint64_t kMaxJson = std::uint64_t{1} << 28;

std::string config_json(const GPTConfig& config) {
    const Json json{{"format", 1},
                    {"model", "gpt"},
                    {"vocab", config.vocab},
                    {"context", config.context},
                    {"layers", config.layers},
                    {"heads", config.heads},
                    {"dim", config.dim},
                    {"dropout", config.dropout},
                    {"bias", config.bias},
                    {"tied_head", config.tied_head}};
    return json.dump(2) + "\n";
}

// One entry of config.json, of the JSON type that T needs.
template <class T>
T entry(const Json& json, const std::string& path, const char* name) {
    require<IoError>(json.contains(name), "{}: \"{}\" is missing", path, name);
    const Json& value = json[name];
    bool fits = false;
    if constexpr (std::is_same_v<T, bool>) {
        fits = value.is_boolean();
    } else if constexpr (std::is_same_v<T, std::string>) {
        fits = value.is_string();
    } else if constexpr (std::is_same_v<T, double>) {
        fits = value.is_number();
    } else {  // up to 2^62, so that no later sum of two overflows
        fits = value.is_number_integer() && value.template get<double>() < 4.6e18 &&
               value.template get<double>() > -4.6e18;
    }
    require<IoError>(fits, "{}: \"{}\" is {}, which is not what belongs there", path, name,
                     value.is_structured() ? value.type_name() : value.dump());
    return value.template get<T>();
}

GPTConfig read_config(const fs::path& file) {
    const std::string path = file.string();
    Json json;
    try {
        json = Json::parse(read_file(file, kMaxJson));
    } catch (const nlohmann::json::exception& error) {
        fail<IoError>("{}: not valid JSON: {}", path, error.what());
    }
    require<IoError>(json.is_object(), "{}: not a JSON object", path);
    const auto model = entry<std::string>(json, path, "model");
    require<IoError>(model == "gpt", "{}: \"model\" is \"{}\"; only \"gpt\" is known", path, model);
    return {.vocab = entry<std::int64_t>(json, path, "vocab"),
            .context = entry<std::int64_t>(json, path, "context"),
            .layers = entry<std::int64_t>(json, path, "layers"),
            .heads = entry<std::int64_t>(json, path, "heads"),
            .dim = entry<std::int64_t>(json, path, "dim"),
            .dropout = entry<double>(json, path, "dropout"),
            .bias = entry<bool>(json, path, "bias"),
            .tied_head = entry<bool>(json, path, "tied_head")};
}

CharTokenizer read_tokenizer(const fs::path& file) {
    try {
        return CharTokenizer::from_json(read_file(file, kMaxJson));
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", file.string(), error.what());
    }
}

// Before any memory is asked for: a configuration from a file may be absurd, and the file with the
// weights says how large the model really is.
void check_size(const GPTConfig& config, const fs::path& directory) {
    const fs::path weights = directory / "model.safetensors";
    const double parameters = training_bytes(config, 0) / 16;  // 4 bytes, 4 times
    const auto bytes = static_cast<double>(InputFile(weights).size());
    require<IoError>(4 * parameters <= 1.1 * bytes + 65536,
                     "{}: the configuration needs {:.0f} parameters, but {} has {:.0f} bytes",
                     (directory / "config.json").string(), parameters, weights.string(), bytes);
}

void load_weights(const fs::path& file, GPT& model) {
    const std::string path = file.string();
    std::map<std::string, Tensor> found;
    for (auto& [name, tensor] : read_safetensors(file).tensors) found.emplace(name, tensor);
    for (auto& [name, parameter] : model.named_parameters()) {
        const auto it = found.find(name);
        require<IoError>(it != found.end(), "{}: tensor \"{}\" is missing", path, name);
        const Tensor& stored = it->second;
        require<IoError>(stored.shape() == parameter.shape() && stored.dtype() == parameter.dtype(),
                         "{}: tensor \"{}\" is {} {}; the configuration needs {} {}", path, name,
                         stored.dtype(), stored.shape(), parameter.dtype(), parameter.shape());
        parameter.copy_(stored);
        found.erase(it);
    }
    require<IoError>(found.empty(), "{}: tensor \"{}\" belongs to no part of the model", path,
                     found.empty() ? "" : found.begin()->first);
}

void ensure_directory(const fs::path& directory) {
    std::error_code error;
    fs::create_directories(directory, error);
    require<IoError>(!error && fs::is_directory(directory), "{}: cannot be made a directory: {}",
                     utf8::quoted(directory.native(), 300),
                     error ? error.message() : "a file of that name exists");
}

// A folder inside the model's, for files that are not in their place yet; gone at the end.
class StagingFolder {
public:
    explicit StagingFolder(const fs::path& directory) : path_(directory / ".saving") {
        ensure_directory(directory);
        ensure_directory(path_);
    }
    ~StagingFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    StagingFolder(const StagingFolder&) = delete;
    StagingFolder& operator=(const StagingFolder&) = delete;

    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

void write_files(const fs::path& directory, const GPT& model, const CharTokenizer& tokenizer) {
    write_file_atomically(directory / "tokenizer.json", tokenizer.to_json());
    write_file_atomically(directory / "config.json", config_json(model.config()));
    save_weights(directory, model);
}

}  // namespace

void save_weights(const fs::path& directory, const GPT& model) {
    write_safetensors(directory / "model.safetensors", model.named_parameters(),
                      {{"format", "tapestry-gpt"}});
}

// All three files are complete on disk before the first of them takes its place: a full disk leaves
// the previous model whole, not a new configuration beside old weights.
void save_model(const fs::path& directory, const GPT& model, const CharTokenizer& tokenizer) {
    const StagingFolder staging(directory);
    write_files(staging.path(), model, tokenizer);
    for (const char* name : {"tokenizer.json", "config.json", "model.safetensors"}) {
        std::error_code error;
        fs::rename(staging.path() / name, directory / name, error);
        require<IoError>(!error, "{}: cannot be replaced: {}", (directory / name).string(),
                         error.message());
    }
}

void check_can_save(const fs::path& directory, const GPT& model, const CharTokenizer& tokenizer) {
    const StagingFolder staging(directory);
    write_files(staging.path(), model, tokenizer);
}

LoadedModel load_model(const fs::path& directory) {
    std::error_code ignored;  // without it a folder that may not be looked into throws otherwise
    require<IoError>(fs::is_directory(directory, ignored), "{}: no such directory",
                     utf8::quoted(directory.native(), 300));
    const fs::path config_file = directory / "config.json";
    const GPTConfig config = read_config(config_file);
    LoadedModel loaded{nullptr, read_tokenizer(directory / "tokenizer.json")};
    require<IoError>(loaded.tokenizer.vocab_size() == config.vocab,
                     "{}: the tokenizer has {} characters, the configuration {}",
                     directory.string(), loaded.tokenizer.vocab_size(), config.vocab);
    check_size(config, directory);
    try {
        loaded.model = std::make_unique<GPT>(config);
    } catch (const ValueError& error) {  // settings that no model can have
        fail<IoError>("{}: {}", config_file.string(), error.what());
    }
    load_weights(directory / "model.safetensors", *loaded.model);
    loaded.model->eval();
    return loaded;
}

}  // namespace tapestry
