#include <tapestry/nn/io/span_directory.h>

#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/model_files.h>

#include <utility>

namespace tapestry {

LoadedSpanReader load_span_reader(const std::filesystem::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) {
        const ConfigFile file(files.path(kConfigName));
        check_kind(file, ModelKind::span_reader);
        const auto config = read_fields<SpanConfig>(file);
        LoadedSpanReader loaded{nullptr, read_tokenizer(file, files)};
        check_vocabulary(*loaded.tokenizer, config.vocab - kSpanMarks, files.directory());
        check_weights_exist(files);
        loaded.model = make_model(config, files);
        load_weights(files, *loaded.model);
        loaded.model->eval();
        check_model_files(files);
        return loaded;
    });
}

}  // namespace tapestry
