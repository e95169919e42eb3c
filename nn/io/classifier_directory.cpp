#include <tapestry/nn/io/classifier_directory.h>

#include <tapestry/core/create.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/skip_drawing.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/ops/int8_rows.h>

#include <algorithm>
#include <cmath>
#include <map>
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

// ---- int8 ---------------------------------------------------------------------------------------

// model.safetensors has no type of 8 bits here: a row's numbers are the bytes of I64 words, in
// order, and zeros fill the last.
constexpr const char* kInt8Table = "table.int8";     // [buckets, ceil(dim / 8)] I64
constexpr const char* kInt8Scales = "table.scales";  // [buckets] F32
constexpr const char* kStored = "stored";            // in config.json: "int8"

std::int64_t words_of_row(std::int64_t dim) { return (dim + 7) / 8; }

NamedTensors int8_weights(const BagClassifier& model) {
    const Int8Rows rows = int8_rows(model.table.weight);
    Tensor words = zeros({rows.rows, words_of_row(rows.cols)}, DType::i64);
    auto* const to = reinterpret_cast<std::int8_t*>(words.mutable_data<std::int64_t>());
    for (std::int64_t i = 0; i < rows.rows; ++i) {
        std::copy_n(rows.numbers.data() + i * rows.cols, rows.cols,
                    to + i * 8 * words_of_row(rows.cols));
    }
    NamedTensors all{{kInt8Table, words}, {kInt8Scales, tensor(rows.scales, {rows.rows})}};
    for (const auto& [name, weight] : saved_tensors(model)) {
        if (name != "table.weight") all.emplace_back(name, weight);
    }
    return all;
}

// Replaces the two tensors by "table.weight".
void expand_int8(const std::string& file, const BagConfig& config,
                 std::map<std::string, Tensor>& stored) {
    const auto take = [&](const char* name, const Shape& shape, DType dtype) {
        const auto found = stored.find(name);
        require<IoError>(found != stored.end(), "{}: tensor \"{}\" is missing", file, name);
        Tensor tensor = found->second;
        require<IoError>(tensor.shape() == shape && tensor.dtype() == dtype,
                         "{}: tensor \"{}\" is {} {}, expected {} {}", file, name, tensor.dtype(),
                         tensor.shape(), dtype, shape);
        stored.erase(found);
        return tensor;
    };
    const std::int64_t words = words_of_row(config.dim);
    const Tensor table = take(kInt8Table, {config.buckets, words}, DType::i64);
    const Tensor scales = take(kInt8Scales, {config.buckets}, DType::f32);
    Tensor weight({config.buckets, config.dim}, DType::f32);
    const auto* const from = reinterpret_cast<const std::int8_t*>(table.data<std::int64_t>());
    float* const to = weight.mutable_data<float>();
    for (std::int64_t i = 0; i < config.buckets; ++i) {
        const float scale = scales.data<float>()[i];
        require<IoError>(std::isfinite(scale), "{}: the scale of row {} is {}", file, i, scale);
        for (std::int64_t j = 0; j < config.dim; ++j) {
            to[i * config.dim + j] = scale * static_cast<float>(from[i * 8 * words + j]);
        }
    }
    stored.insert_or_assign("table.weight", weight);
}

// ---- a directory --------------------------------------------------------------------------------

bool is_int8(const ConfigFile& file) {
    const auto stored = file.get<std::string>(kStored, "");
    require<IoError>(stored.empty() || stored == "int8", "{}: \"{}\" is {}, expected \"int8\"",
                     file.path(), kStored, utf8::quoted(stored));
    return !stored.empty();
}

// The number in the file, or what it is in a model that was saved before there was one.
double number_in(const std::string& path, const char* name, double absent,
                 std::map<std::string, Tensor>& stored) {
    const auto found = stored.try_emplace(name, full({1}, absent, DType::f32)).first;
    const std::vector<double> values = found->second.to_vector<double>();
    require<IoError>(values.size() == 1 && std::isfinite(values[0]) && values[0] > 0,
                     "{}: the {} must be one positive number", path, name);
    return values[0];
}

// Tensors by name, of a table as f32.
std::map<std::string, Tensor> read_weights(const SavedFiles& files, const BagConfig& config,
                                           bool int8) {
    const std::string path = files.path(kWeightsName).string();
    std::map<std::string, Tensor> stored;
    for (auto& [name, tensor] : read_safetensors(path).tensors) {
        require<IoError>(stored.emplace(without_wrappers(name), tensor).second,
                         "{}: tensor \"{}\" occurs twice, with and without a prefix", path,
                         utf8::printable(without_wrappers(name)));
    }
    if (int8) expand_int8(path, config, stored);
    number_in(path, "temperature", 1, stored);
    if (!config.several_labels) return stored;
    const double threshold = number_in(path, "threshold", 0.5, stored);
    require<IoError>(threshold < 1, "{}: the threshold must be below 1, got {}", path, threshold);
    return stored;
}

// An int8 table is smaller than make_model() expects. read_weights() has checked it; the other
// sizes are checked here, before memory is allocated.
std::unique_ptr<BagClassifier> make_quantized(const ConfigFile& file, const BagConfig& config,
                                              const std::map<std::string, Tensor>& stored) {
    const auto head = stored.find("head.weight");
    require<IoError>(
        head != stored.end() && head->second.shape() == Shape({config.classes, config.dim}),
        "{}: there is no tensor \"head.weight\" {}", file.path(),
        Shape({config.classes, config.dim}));
    double stored_numbers = 0;
    for (const auto& [name, tensor] : stored) stored_numbers += static_cast<double>(tensor.numel());
    require<IoError>(parameter_count(config) <= stored_numbers,
                     "{}: the configuration needs {:.0f} parameters, but the weights are {:.0f}",
                     file.path(), parameter_count(config), stored_numbers);
    const SkipDrawing skip;
    try {
        return std::make_unique<BagClassifier>(config);
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", file.path(), error.what());
    }
}

void fill_parameters(const std::string& path, std::map<std::string, Tensor> stored,
                     const Module& model) {
    for (const auto& [name, parameter] : saved_tensors(model)) {
        const auto found = stored.find(name);
        require<IoError>(found != stored.end(), "{}: tensor \"{}\" is missing", path, name);
        fill_parameter(path, {name, parameter}, found->second);
        stored.erase(found);
    }
    check_all_used(path, stored);
}

LoadedClassifier load_classifier_files(const SavedFiles& files) {
    const ConfigFile file(files.path(kConfigName));
    LoadedClassifier loaded{nullptr, labels_in(file)};
    const auto config = read_fields<BagConfig>(file);
    require<IoError>(config.classes == std::ssize(loaded.labels), "{}: {} labels for {} classes",
                     file.path(), loaded.labels.size(), config.classes);
    check_weights_exist(files);
    const bool int8 = is_int8(file);
    if (!int8) loaded.model = make_model(config, files);
    std::map<std::string, Tensor> stored = read_weights(files, config, int8);
    if (int8) loaded.model = make_quantized(file, config, stored);
    fill_parameters(files.path(kWeightsName).string(), std::move(stored), *loaded.model);
    loaded.model->eval();
    check_model_files(files);
    return loaded;
}

std::string description_of(const BagConfig& config, const std::vector<std::string>& labels,
                           bool int8) {
    ConfigWriter file;
    file.set("format", std::int64_t{1});
    file.set("model", row_of(config).name);
    if (int8) file.set(kStored, "int8");
    file.set("labels", labels);
    write_fields(file, config);
    return file.text();
}

}  // namespace

void write_description(Commit& commit, const std::string& folder, const BagConfig& config,
                       const std::vector<std::string>& labels) {
    write_config(commit, folder, description_of(config, labels, false));
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

void quantize_classifier(const std::filesystem::path& from, const std::filesystem::path& to) {
    const LoadedClassifier loaded = load_classifier(from);
    put_files(to,
              {text_file(kConfigName, description_of(loaded.model->config(), loaded.labels, true)),
               weights_file(deferred(int8_weights(*loaded.model)), "tapestry")});
}

bool is_quantized_classifier(const std::filesystem::path& directory) {
    if (!is_there(directory / kConfigName) || !is_there(directory / kWeightsName)) return false;
    const ConfigFile file(directory / kConfigName);
    return file.get<std::string>("model", "") == row_of(BagConfig()).name && is_int8(file);
}

}  // namespace tapestry
