#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/io/setting_names.h>
#include <tapestry/nn/io/transformer_directory.h>

#include <nlohmann/json.hpp>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// Why this vocabulary is none for the model; empty if it is one.
std::string mismatch(const TransformerConfig& config, const MarkedCharacters& v) {
    const auto is_mark = [&v](std::int64_t id) { return id >= 0 && id < v.first; };
    if (!is_mark(v.begin) || !is_mark(v.end) || v.begin == v.end) {
        return fmt::format("begin {} and end {} are not two ids below {}, the first character's",
                           v.begin, v.end, v.first);
    }
    if (config.padding_id != -1 && (!is_mark(config.padding_id) || config.padding_id == v.begin ||
                                    config.padding_id == v.end)) {
        return fmt::format("padding {} is neither -1 nor a mark of its own below {}",
                           config.padding_id, v.first);
    }
    if (config.source_vocab != v.size() || config.target_vocab != v.size()) {
        return fmt::format(
            "{} marks and {} characters are {} ids, but the model reads {} and "
            "writes {}",
            v.first, v.characters.vocab_size(), v.size(), config.source_vocab, config.target_vocab);
    }
    return {};
}

std::string config_json(const TransformerConfig& config, const MarkedCharacters& vocabulary) {
    const nlohmann::ordered_json json{{"format", 1},
                                      {"model", "transformer"},
                                      {"tokenizer", "char"},
                                      {"begin_id", vocabulary.begin},
                                      {"end_id", vocabulary.end},
                                      {"padding_id", config.padding_id},
                                      {"first_character_id", vocabulary.first},
                                      {"source_vocab", config.source_vocab},
                                      {"target_vocab", config.target_vocab},
                                      {"layers", config.layers},
                                      {"heads", config.heads},
                                      {"dim", config.dim},
                                      {"hidden", config.hidden},
                                      {"dropout", config.dropout},
                                      {"activation", name_in(kActivationNames, config.activation)},
                                      {"norm_first", config.norm_first},
                                      {"bias", config.bias},
                                      {"positions", name_in(kPositionNames, config.positions)},
                                      {"max_length", config.max_length},
                                      {"share_embeddings", config.share_embeddings},
                                      {"tied_head", config.tied_head},
                                      {"label_smoothing", config.label_smoothing}};
    return json.dump(2) + "\n";
}

TransformerConfig read_config(const ConfigFile& file) {
    const TransformerConfig usual;
    return {.source_vocab = file.get<std::int64_t>("source_vocab"),
            .target_vocab = file.get<std::int64_t>("target_vocab"),
            .dim = file.get<std::int64_t>("dim"),
            .heads = file.get<std::int64_t>("heads"),
            .layers = file.get<std::int64_t>("layers"),
            .hidden = file.get<std::int64_t>("hidden"),
            .dropout = file.get<double>("dropout"),
            .activation = value_in(kActivationNames, file, "activation", usual.activation),
            .norm_first = file.get<bool>("norm_first"),
            .bias = file.get<bool>("bias"),
            .positions = value_in(kPositionNames, file, "positions", usual.positions),
            .max_length = file.get<std::int64_t>("max_length"),
            .share_embeddings = file.get<bool>("share_embeddings"),
            .tied_head = file.get<bool>("tied_head"),
            .padding_id = file.get<std::int64_t>("padding_id"),
            .label_smoothing = file.get<double>("label_smoothing")};
}

MarkedCharacters read_vocabulary(const ConfigFile& file, const fs::path& directory) {
    const auto kind = file.get<std::string>("tokenizer");
    require<IoError>(kind == "char", "{}: \"tokenizer\" is \"{}\"; only \"char\" is known",
                     file.path(), kind);
    return {.characters = *read_char_tokenizer(directory / kTokenizerName),
            .begin = file.get<std::int64_t>("begin_id"),
            .end = file.get<std::int64_t>("end_id"),
            .first = file.get<std::int64_t>("first_character_id")};
}

std::vector<NewFile> files_of(const Transformer& model, const MarkedCharacters& vocabulary) {
    const std::string wrong = mismatch(model.config(), vocabulary);
    require(wrong.empty(), "save_model: {}", wrong);
    return {text_file(kTokenizerName, vocabulary.characters.to_json()),
            text_file(kConfigName, config_json(model.config(), vocabulary)),
            weights_file(model, "tapestry-transformer")};
}

}  // namespace

void save_model(const fs::path& directory, const Transformer& model,
                const MarkedCharacters& vocabulary) {
    put_files(directory, files_of(model, vocabulary));
}

void check_can_save(const fs::path& directory, const Transformer& model,
                    const MarkedCharacters& vocabulary) {
    check_can_put(directory, files_of(model, vocabulary));
}

LoadedTransformer load_transformer(const fs::path& directory) {
    check_directory(directory);
    const ConfigFile file(directory / kConfigName);
    require<IoError>(kind_in(file) == ModelKind::transformer,
                     "{}: the model is a GPT; an encoder-decoder is needed here", file.path());
    const TransformerConfig config = read_config(file);
    LoadedTransformer loaded{nullptr, read_vocabulary(file, directory)};
    const std::string wrong = mismatch(config, loaded.vocabulary);
    require<IoError>(wrong.empty(), "{}: {}", file.path(), wrong);
    loaded.model = make_model(config, directory);
    load_weights(directory, *loaded.model);
    loaded.model->eval();
    return loaded;
}

}  // namespace tapestry
