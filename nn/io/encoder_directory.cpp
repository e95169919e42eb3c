#include <tapestry/nn/io/encoder_directory.h>

#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/model_files.h>

namespace tapestry {
namespace {

constexpr std::int64_t kMaskedMarks = 1;  // beyond the tokenizer's ids: the mask

template <class Model, class Config>
LoadedEncoder<Model> load_encoder(const std::filesystem::path& directory, ModelKind kind,
                                  std::int64_t marks) {
    return read_saved(directory, [&](const SavedFiles& files) {
        const ConfigFile file(files.path(kConfigName));
        check_kind(file, kind);
        const auto config = read_fields<Config>(file);
        LoadedEncoder<Model> loaded{nullptr, read_tokenizer(file, files)};
        check_vocabulary(*loaded.tokenizer, config.vocab - marks, files.directory());
        check_weights_exist(files);
        loaded.model = make_model(config, files);
        load_weights(files, *loaded.model);
        loaded.model->eval();
        check_model_files(files);
        return loaded;
    });
}

}  // namespace

LoadedMaskedModel load_masked_model(const std::filesystem::path& directory) {
    return load_encoder<MaskedLanguageModel, MaskedLanguageModelConfig>(
        directory, ModelKind::masked, kMaskedMarks);
}

LoadedSpanReader load_span_reader(const std::filesystem::path& directory) {
    return load_encoder<SpanReader, SpanConfig>(directory, ModelKind::span_reader, kSpanMarks);
}

}  // namespace tapestry
