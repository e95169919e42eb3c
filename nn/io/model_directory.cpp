#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/safetensors.h>

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizerName = "tokenizer.json";

// How config.json calls the values of an enumeration.
template <class E, std::size_t N>
using Names = std::array<std::pair<E, const char*>, N>;

constexpr Names<Activation, 5> kActivations{{{Activation::relu, "relu"},
                                             {Activation::gelu_tanh, "gelu_tanh"},
                                             {Activation::gelu_erf, "gelu_erf"},
                                             {Activation::silu, "silu"},
                                             {Activation::swiglu, "swiglu"}}};
constexpr Names<Positions, 3> kPositions{{{Positions::learned, "learned"},
                                          {Positions::sinusoidal, "sinusoidal"},
                                          {Positions::rotary, "rotary"}}};

template <class E, std::size_t N>
std::string name_in(const Names<E, N>& names, E value) {
    for (const auto& entry : names) {
        if (entry.first == value) return entry.second;
    }
    fail("save_model: a value without a name");
}

template <class E, std::size_t N>
E value_in(const Names<E, N>& names, const ConfigFile& file, const char* setting, E other) {
    const auto name = file.get<std::string>(setting, name_in(names, other));
    std::string known;
    for (const auto& entry : names) {
        if (entry.second == name) return entry.first;
        known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", entry.second);
    }
    fail<IoError>("{}: \"{}\" is \"{}\"; known are {}", file.path(), setting, name, known);
}

std::string config_json(const GPTConfig& config, const Tokenizer& tokenizer) {
    const nlohmann::ordered_json json{{"format", 1},
                                      {"model", "gpt"},
                                      {"tokenizer", tokenizer.kind()},
                                      {"vocab", config.vocab},
                                      {"context", config.context},
                                      {"layers", config.layers},
                                      {"heads", config.heads},
                                      {"dim", config.dim},
                                      {"hidden", config.hidden},
                                      {"dropout", config.dropout},
                                      {"activation", name_in(kActivations, config.activation)},
                                      {"positions", name_in(kPositions, config.positions)},
                                      {"norm_eps", config.norm_eps},
                                      {"bias", config.bias},
                                      {"tied_head", config.tied_head}};
    return json.dump(2) + "\n";
}

// What came after the first version has a value for those who do not know of it.
GPTConfig read_config(const ConfigFile& file) {
    const auto model = file.get<std::string>("model");
    require<IoError>(model == "gpt", "{}: \"model\" is \"{}\"; only \"gpt\" is known", file.path(),
                     model);
    const GPTConfig usual;
    return {.vocab = file.get<std::int64_t>("vocab"),
            .context = file.get<std::int64_t>("context"),
            .layers = file.get<std::int64_t>("layers"),
            .heads = file.get<std::int64_t>("heads"),
            .dim = file.get<std::int64_t>("dim"),
            .hidden = file.get<std::int64_t>("hidden", usual.hidden),
            .dropout = file.get<double>("dropout"),
            .activation = value_in(kActivations, file, "activation", usual.activation),
            .positions = value_in(kPositions, file, "positions", usual.positions),
            .norm_eps = file.get<double>("norm_eps", usual.norm_eps),
            .bias = file.get<bool>("bias"),
            .tied_head = file.get<bool>("tied_head")};
}

std::unique_ptr<Tokenizer> read_tokenizer(const ConfigFile& file, const fs::path& directory) {
    const auto kind = file.get<std::string>("tokenizer", "char");
    if (kind == "char") return read_char_tokenizer(directory / kTokenizerName);
    require<IoError>(kind == "bpe", "{}: \"tokenizer\" is \"{}\"; known are \"char\", \"bpe\"",
                     file.path(), kind);
    auto tokenizer = read_byte_pair_tokenizer(directory);
    require<IoError>(tokenizer != nullptr, "{}: neither vocab.json nor merges.txt is there",
                     directory.string());
    return tokenizer;
}

void load_weights(const fs::path& path, const GPT& model) {
    const std::string file = path.string();
    std::map<std::string, Tensor> stored;
    for (auto& [name, tensor] : read_safetensors(path).tensors) stored.emplace(name, tensor);
    std::vector<StoredParameter> parameters;
    for (const auto& [name, parameter] : model.named_parameters()) {
        parameters.push_back({name, parameter});
    }
    fill_parameters(file, stored, parameters);
    check_all_used(file, stored);
}

LoadedModel load_ours(const ConfigFile& file, const fs::path& directory) {
    const GPTConfig config = read_config(file);
    LoadedModel loaded{nullptr, read_tokenizer(file, directory)};
    check_vocabulary(*loaded.tokenizer, config, directory);
    loaded.model = make_model(config, directory);
    load_weights(directory / kWeightsName, *loaded.model);
    loaded.model->eval();
    return loaded;
}

std::vector<NewFile> files_of(const GPT& model, const Tokenizer& tokenizer) {
    std::vector<NewFile> files = tokenizer_files(tokenizer, kTokenizerName);
    files.push_back(text_file(kConfigName, config_json(model.config(), tokenizer)));
    files.push_back(
        {kWeightsName, [&model](const fs::path& path) {
             write_safetensors(path, model.named_parameters(), {{"format", "tapestry-gpt"}});
         }});
    return files;
}

}  // namespace

void save_weights(const fs::path& directory, const GPT& model) {
    write_safetensors(directory / kWeightsName, model.named_parameters(),
                      {{"format", "tapestry-gpt"}});
}

void save_model(const fs::path& directory, const GPT& model, const Tokenizer& tokenizer) {
    put_files(directory, files_of(model, tokenizer));
}

void check_can_save(const fs::path& directory, const GPT& model, const Tokenizer& tokenizer) {
    check_can_put(directory, files_of(model, tokenizer));
}

LoadedModel load_model(const fs::path& directory) {
    check_directory(directory);
    const ConfigFile file(directory / kConfigName);
    return is_hugging_face(file) ? load_hugging_face(directory) : load_ours(file, directory);
}

}  // namespace tapestry
