#include <tapestry/nn/io/image_classifier_directory.h>

#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/model_files.h>

#include <cmath>
#include <set>
#include <utility>

namespace tapestry {
namespace {

// The settings and what belongs to them, which the file holds together.
std::pair<VisionTransformerConfig, ImageClasses> read_image_classes(const ConfigFile& file) {
    check_kind(file, ModelKind::image_classifier);
    const auto config = read_fields<VisionTransformerConfig>(file);
    ImageClasses classes{.labels = file.get<std::vector<std::string>>("labels"),
                         .mean = file.get<std::vector<double>>("mean"),
                         .deviation = file.get<std::vector<double>>("deviation")};
    const std::set<std::string> distinct(classes.labels.begin(), classes.labels.end());
    require<IoError>(distinct.size() == classes.labels.size(), "{}: a label occurs twice",
                     file.path());
    require<IoError>(config.classes == std::ssize(classes.labels), "{}: {} labels for {} classes",
                     file.path(), classes.labels.size(), config.classes);
    const bool is_scaled = config.image_size != 0;  // each image, before the model sees it
    require<IoError>(
        !is_scaled || (config.height == config.image_size && config.width == config.image_size),
        "{}: images scaled to {} pixels for a model of {} x {}", file.path(), config.image_size,
        config.height, config.width);
    require<IoError>(config.channels == std::ssize(classes.mean) &&
                         config.channels == std::ssize(classes.deviation),
                     "{}: {} means and {} deviations for {} channels", file.path(),
                     classes.mean.size(), classes.deviation.size(), config.channels);
    for (std::size_t i = 0; i < classes.mean.size(); ++i) {
        require<IoError>(std::isfinite(classes.mean[i]) && std::isfinite(classes.deviation[i]) &&
                             classes.deviation[i] > 0,
                         "{}: pixels of mean {} and deviation {}", file.path(), classes.mean[i],
                         classes.deviation[i]);
    }
    return {config, std::move(classes)};
}

LoadedImageClassifier load_image_classifier_files(const SavedFiles& files) {
    auto [config, classes] = read_image_classes(ConfigFile(files.path(kConfigName)));
    check_weights_exist(files);
    LoadedImageClassifier loaded{make_model(config, files), std::move(classes)};
    load_weights(files, *loaded.model);
    loaded.model->eval();
    check_model_files(files);
    return loaded;
}

}  // namespace

void write_description(Commit& commit, const std::string& folder,
                       const VisionTransformerConfig& config, const ImageClasses& classes) {
    ConfigWriter file;
    file.set("format", std::int64_t{1});
    file.set("model", row_of(config).name);
    file.set("labels", classes.labels);
    file.set("mean", classes.mean);
    file.set("deviation", classes.deviation);
    write_fields(file, config);
    write_config(commit, folder, file.text());
}

LoadedImageClassifier load_image_classifier(const std::filesystem::path& directory) {
    return read_saved(directory,
                      [](const SavedFiles& files) { return load_image_classifier_files(files); });
}

ImageClasses load_image_classes(const std::filesystem::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) {
        return read_image_classes(ConfigFile(files.path(kConfigName))).second;
    });
}

}  // namespace tapestry
