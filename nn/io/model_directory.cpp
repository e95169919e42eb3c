#include <tapestry/nn/io/model_directory.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/models/lora.h>

#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

std::string format_of(const ModelConfig& config) {
    return fmt::format("tapestry-{}", row_of(config).name);
}

std::string config_json(const ModelConfig& config, const Tokenizer& tokenizer,
                        const TextConventions& conventions) {
    ConfigWriter file;
    file.set("format", std::int64_t{1});
    file.set("model", row_of(config).name);
    file.set("tokenizer", std::string(tokenizer.kind()));
    std::visit([&](const auto& fields) { write_fields(file, fields); }, config);
    write_text_conventions(file, conventions);
    return file.text();
}

}  // namespace

std::unique_ptr<Tokenizer> read_tokenizer(const ConfigFile& file, const SavedFiles& files) {
    const auto kind = file.get<std::string>("tokenizer", "char");
    if (kind == "char") return read_char_tokenizer(files.path(kTokenizerName));
    if (kind == "json") return read_json_tokenizer(files.path(kTokenizerName));
    require<IoError>(kind == "bpe",
                     "{}: \"tokenizer\" is \"{}\"; must be one of \"char\", \"bpe\", \"json\"",
                     file.path(), utf8::printable(kind));
    auto tokenizer = read_byte_pair_tokenizer(files);
    require<IoError>(tokenizer != nullptr, "{}: neither vocab.json nor merges.txt exists",
                     files.directory().string());
    return tokenizer;
}

namespace {

LoadedModel load_ours(const ConfigFile& file, const SavedFiles& files, WeightType weights) {
    check_kind(file, ModelKind::language_model);
    ModelConfig config = model_row(file.get<std::string>("model")).defaults;
    std::visit([&](auto& fields) { fields = read_fields(file, WhichFields::stored, fields); },
               config);
    LoadedModel loaded{nullptr, read_tokenizer(file, files), {}};
    loaded.conventions = read_text_conventions(file, files, loaded.tokenizer.get());
    check_vocabulary(*loaded.tokenizer, common_settings(config).vocab, files.directory());
    check_weights_exist(files);
    loaded.model = make_model(config, files, weights);
    load_weights(files, *loaded.model, weights);
    loaded.model->eval();
    return loaded;
}

std::vector<NewFile> description_of(const ModelConfig& config, const Tokenizer& tokenizer,
                                    const TextConventions& conventions) {
    std::vector<NewFile> files = tokenizer_files(tokenizer, kTokenizerName);
    files.push_back(text_file(kConfigName, config_json(config, tokenizer, conventions)));
    return files;
}

std::vector<NewFile> files_of(const LanguageModel& model, const Tokenizer& tokenizer,
                              const TextConventions& conventions = {}) {
    std::vector<NewFile> files = description_of(model.model_config(), tokenizer, conventions);
    files.push_back(
        weights_file(merged_weights(model, saved_tensors(model)), format_of(model.model_config())));
    return files;
}

std::string in_folder(const std::string& folder, const std::string& name) {
    return folder.empty() ? name : fmt::format("{}/{}", folder, name);
}

}  // namespace

const Tokenizer& require_tokenizer(const LoadedModel& loaded, const fs::path& directory) {
    require(loaded.tokenizer != nullptr,
            "{}: the model has no tokenizer (tokenizer.json, or vocab.json and merges.txt), so it "
            "cannot read text; "
            "tapestry eval --tokens needs none",
            directory.string());
    return *loaded.tokenizer;
}

void save_weights(const fs::path& directory, const LanguageModel& model) {
    put_files(directory, {weights_file(merged_weights(model, saved_tensors(model)),
                                       format_of(model.model_config()))});
}

void write_description(Commit& commit, const std::string& folder, const ModelConfig& config,
                       const Tokenizer& tokenizer, const TextConventions& conventions) {
    for (const NewFile& file : description_of(config, tokenizer, conventions)) {
        commit.write(in_folder(folder, file.name), file.write);
    }
}

void write_weights(Commit& commit, const std::string& folder, const ModelConfig& config,
                   const DeferredTensors& weights) {
    commit.write(in_folder(folder, kWeightsName), weights_file(weights, format_of(config)).write);
}

void save_model(const fs::path& directory, const LanguageModel& model, const Tokenizer& tokenizer,
                const TextConventions& conventions) {
    put_files(directory, files_of(model, tokenizer, conventions));
}

void check_can_save(const fs::path& directory, const LanguageModel& model,
                    const Tokenizer& tokenizer) {
    check_can_put(directory, files_of(model, tokenizer));
}

ModelKind model_kind(const fs::path& directory) {
    check_is_model(directory);
    return read_saved(directory, [](const SavedFiles& files) {
        return kind_in(ConfigFile(files.path(kConfigName)));
    });
}

std::string task_of_model(const fs::path& directory) {
    check_is_model(directory);
    return read_saved(directory, [](const SavedFiles& files) -> std::string {
        const ConfigFile file(files.path(kConfigName));
        if (kind_in(file) == ModelKind::language_model) return "text";
        return model_row(file.get<std::string>("model")).task;
    });
}

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& directory) {
    check_is_model(directory);
    return read_saved(directory, [](const SavedFiles& files) {
        const ConfigFile file(files.path(kConfigName));
        auto tokenizer = read_tokenizer(file, files);
        read_text_conventions(file, files, tokenizer.get());
        return tokenizer;
    });
}

LoadedModel load_model(const fs::path& directory, WeightType weights) {
    check_is_model(directory);
    return read_saved(directory, [weights](const SavedFiles& files) {
        const ConfigFile file(files.path(kConfigName));
        LoadedModel loaded = is_hugging_face(file) ? load_hugging_face(file, files, weights)
                                                   : load_ours(file, files, weights);
        check_model_files(files);
        return loaded;
    });
}

ModelWithText load_model_with_text(const std::string& model, const std::string& text) {
    LoadedModel loaded = load_model(model);
    require_tokenizer(loaded, model);
    loaded.model->train();
    return {std::move(loaded.model),
            TextData(tokenize_text(text, std::move(loaded.tokenizer)).ids, {.name = text})};
}

}  // namespace tapestry
