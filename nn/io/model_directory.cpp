#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/setting_names.h>

#include <nlohmann/json.hpp>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "tapestry-gpt";

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
                                      {"activation", name_in(kActivationNames, config.activation)},
                                      {"positions", name_in(kPositionNames, config.positions)},
                                      {"norm_eps", config.norm_eps},
                                      {"bias", config.bias},
                                      {"tied_head", config.tied_head}};
    return json.dump(2) + "\n";
}

// What came after the first version has a value for those who do not know of it.
GPTConfig read_config(const ConfigFile& file) {
    const GPTConfig usual;
    return {.vocab = file.get<std::int64_t>("vocab"),
            .context = file.get<std::int64_t>("context"),
            .layers = file.get<std::int64_t>("layers"),
            .heads = file.get<std::int64_t>("heads"),
            .dim = file.get<std::int64_t>("dim"),
            .hidden = file.get<std::int64_t>("hidden", usual.hidden),
            .dropout = file.get<double>("dropout"),
            .activation = value_in(kActivationNames, file, "activation", usual.activation),
            .positions = value_in(kPositionNames, file, "positions", usual.positions),
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

LoadedModel load_ours(const ConfigFile& file, const fs::path& directory) {
    require<IoError>(kind_in(file) == ModelKind::gpt,
                     "{}: the model is an encoder-decoder; a GPT is needed here", file.path());
    const GPTConfig config = read_config(file);
    LoadedModel loaded{nullptr, read_tokenizer(file, directory)};
    check_vocabulary(*loaded.tokenizer, config, directory);
    loaded.model = make_model(config, directory);
    load_weights(directory, *loaded.model);
    loaded.model->eval();
    return loaded;
}

std::vector<NewFile> files_of(const GPT& model, const Tokenizer& tokenizer) {
    std::vector<NewFile> files = tokenizer_files(tokenizer, kTokenizerName);
    files.push_back(text_file(kConfigName, config_json(model.config(), tokenizer)));
    files.push_back(weights_file(model, kFormat));
    return files;
}

}  // namespace

void save_weights(const fs::path& directory, const GPT& model) {
    weights_file(model, kFormat).write(directory / kWeightsName);
}

void save_model(const fs::path& directory, const GPT& model, const Tokenizer& tokenizer) {
    put_files(directory, files_of(model, tokenizer));
}

void check_can_save(const fs::path& directory, const GPT& model, const Tokenizer& tokenizer) {
    check_can_put(directory, files_of(model, tokenizer));
}

ModelKind model_kind(const fs::path& directory) {
    check_directory(directory);
    return kind_in(ConfigFile(directory / kConfigName));
}

LoadedModel load_model(const fs::path& directory) {
    check_directory(directory);
    const ConfigFile file(directory / kConfigName);
    return is_hugging_face(file) ? load_hugging_face(directory) : load_ours(file, directory);
}

}  // namespace tapestry
