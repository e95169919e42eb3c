#include <tapestry/nn/io/classifier_directory.h>

#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/model_files.h>

#include <set>
#include <utility>

namespace tapestry {
namespace {

std::vector<std::string> labels_in(const ConfigFile& file) {
    check_kind(file, ModelKind::classifier);
    auto labels = file.get<std::vector<std::string>>("labels");
    const std::set<std::string> distinct(labels.begin(), labels.end());
    require<IoError>(distinct.size() == labels.size(), "{}: a label occurs twice", file.path());
    return labels;
}

LoadedClassifier load_classifier_files(const SavedFiles& files) {
    const ConfigFile file(files.path(kConfigName));
    LoadedClassifier loaded{nullptr, labels_in(file)};
    const auto config = read_fields<BagConfig>(file);
    require<IoError>(config.classes == std::ssize(loaded.labels), "{}: {} labels for {} classes",
                     file.path(), loaded.labels.size(), config.classes);
    check_weights_exist(files);
    loaded.model = make_model(config, files);
    load_weights(files, *loaded.model);
    loaded.model->eval();
    check_model_files(files);
    return loaded;
}

}  // namespace

void write_description(Commit& commit, const std::string& folder, const BagConfig& config,
                       const std::vector<std::string>& labels) {
    ConfigWriter file;
    file.set("format", std::int64_t{1});
    file.set("model", row_of(config).name);
    file.set("labels", labels);
    write_fields(file, config);
    const NewFile written = text_file(kConfigName, file.text());
    commit.write(folder.empty() ? written.name : fmt::format("{}/{}", folder, written.name),
                 written.write);
}

LoadedClassifier load_classifier(const std::filesystem::path& directory) {
    return read_saved(directory,
                      [](const SavedFiles& files) { return load_classifier_files(files); });
}

std::vector<std::string> load_labels(const std::filesystem::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) {
        return labels_in(ConfigFile(files.path(kConfigName)));
    });
}

}  // namespace tapestry
