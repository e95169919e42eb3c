#include <tapestry/nn/io/transformer_directory.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/safetensors.h>

#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// Why the vocabulary does not fit the model; empty if it does.
std::string mismatch(const TransformerConfig& config, const MarkedVocabulary& v) {
    const auto is_mark = [&v](std::int64_t id) { return id >= 0 && id < v.first; };
    if (!is_mark(v.begin) || !is_mark(v.end) || v.begin == v.end) {
        return fmt::format("begin {} and end {} are not two ids below {}, the first token's",
                           v.begin, v.end, v.first);
    }
    if (config.padding_id != -1 && (!is_mark(config.padding_id) || config.padding_id == v.begin ||
                                    config.padding_id == v.end)) {
        return fmt::format("padding must be -1 or a separate mark below {1}, got {0}",
                           config.padding_id, v.first);
    }
    if (config.source_vocab != v.size() || config.target_vocab != v.size()) {
        return fmt::format("{} marks and {} {}s are {} ids, but the model reads {} and writes {}",
                           v.first, v.tokenizer->vocab_size(), v.unit(), v.size(),
                           config.source_vocab, config.target_vocab);
    }
    return {};
}

std::string config_json(const TransformerConfig& config, const MarkedVocabulary& vocabulary) {
    ConfigWriter file;
    file.set("format", std::int64_t{1});
    file.set("model", kTransformerKind);
    file.set("tokenizer", std::string(vocabulary.tokenizer->kind()));
    file.set("begin_id", vocabulary.begin);
    file.set("end_id", vocabulary.end);
    file.set("first_character_id", vocabulary.first);
    write_fields(file, config);
    return file.text();
}

MarkedVocabulary read_vocabulary(const ConfigFile& file, const SavedFiles& files) {
    file.get<std::string>("tokenizer");  // must be there
    MarkedVocabulary vocabulary(read_tokenizer(file, files));
    vocabulary.begin = file.get<std::int64_t>("begin_id");
    vocabulary.end = file.get<std::int64_t>("end_id");
    vocabulary.first = file.get<std::int64_t>("first_character_id");
    return vocabulary;
}

std::vector<NewFile> description_of(const TransformerConfig& config,
                                    const MarkedVocabulary& vocabulary) {
    const std::string wrong = mismatch(config, vocabulary);
    require(wrong.empty(), "save_model: {}", wrong);
    std::vector<NewFile> files = tokenizer_files(*vocabulary.tokenizer, kTokenizerName);
    files.push_back(text_file(kConfigName, config_json(config, vocabulary)));
    return files;
}

std::vector<NewFile> files_of(const Transformer& model, const MarkedVocabulary& vocabulary) {
    std::vector<NewFile> files = description_of(model.config(), vocabulary);
    files.push_back(weights_file(deferred(saved_tensors(model)), "tapestry-transformer"));
    return files;
}

}  // namespace

void save_model(const fs::path& directory, const Transformer& model,
                const MarkedVocabulary& vocabulary) {
    put_files(directory, files_of(model, vocabulary));
}

void check_can_save(const fs::path& directory, const Transformer& model,
                    const MarkedVocabulary& vocabulary) {
    check_can_put(directory, files_of(model, vocabulary));
}

void write_description(Commit& commit, const std::string& folder, const TransformerConfig& config,
                       const MarkedVocabulary& vocabulary) {
    for (const NewFile& file : description_of(config, vocabulary)) {
        commit.write(folder.empty() ? file.name : fmt::format("{}/{}", folder, file.name),
                     file.write);
    }
}

MarkedVocabulary load_marked_vocabulary(const fs::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) {
        const ConfigFile file(files.path(kConfigName));
        check_kind(file, ModelKind::transformer);
        return read_vocabulary(file, files);
    });
}

namespace {

LoadedTransformer load(const SavedFiles& files) {
    const ConfigFile file(files.path(kConfigName));
    check_kind(file, ModelKind::transformer);
    const auto config = read_fields<TransformerConfig>(file);
    LoadedTransformer loaded{nullptr, read_vocabulary(file, files)};
    const std::string wrong = mismatch(config, loaded.vocabulary);
    require<IoError>(wrong.empty(), "{}: {}", file.path(), wrong);
    loaded.model = make_model(config, files);
    load_weights(files, *loaded.model);
    loaded.model->eval();
    check_model_files(files);
    return loaded;
}

}  // namespace

LoadedTransformer load_transformer(const fs::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) { return load(files); });
}

}  // namespace tapestry
