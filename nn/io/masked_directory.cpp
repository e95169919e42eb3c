#include <tapestry/nn/io/masked_directory.h>

#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/model_files.h>

#include <utility>

namespace tapestry {

LoadedMaskedModel load_masked_model(const std::filesystem::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) {
        const ConfigFile file(files.path(kConfigName));
        check_kind(file, ModelKind::masked);
        const auto config = read_fields<MaskedLanguageModelConfig>(file);
        LoadedMaskedModel loaded{nullptr, read_tokenizer(file, files)};
        check_vocabulary(*loaded.tokenizer, config.vocab - 1, files.directory());
        check_weights_exist(files);
        loaded.model = make_model(config, files);
        load_weights(files, *loaded.model);
        loaded.model->eval();
        check_model_files(files);
        return loaded;
    });
}

}  // namespace tapestry
