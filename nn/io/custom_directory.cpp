#include <tapestry/nn/io/custom_directory.h>

#include <tapestry/core/skip_drawing.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/model_files.h>

#include <fmt/core.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace tapestry {
namespace {

// Sizes up to this are cheap to make. A field that a model does not use keeps its default, which
// may exceed the number of parameters.
constexpr std::int64_t kAlwaysAllowed = 1000;

// The weights' file justifies so many parameters, and a layer, class or channel has at least one.
void check_sizes(const CustomConfig& config) {
    for (const auto& [name, size] :
         {std::pair{"dim", config.dim}, {"layers", config.layers}, {"classes", config.classes}}) {
        require(size <= std::max(config.parameters, kAlwaysAllowed),
                "config: {} is {}, but the model has {} parameters", name, size, config.parameters);
    }
}

CustomConfig custom_config(const ConfigFile& file, const std::string& task) {
    check_kind(file, ModelKind::custom);
    const auto name = file.get<std::string>("model");
    require<IoError>(name == task, "{}: the model is of the task {}, not {}", file.path(),
                     utf8::quoted(name, 40), task);
    const auto config =
        read_fields<CustomConfig>(file, WhichFields::stored, CustomConfig{.name = task});
    try {
        check_bounds(config);
        check_sizes(config);
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", file.path(), error.what());
    }
    return config;
}

// A configuration that the task refuses is an error of its file.
Module& make_checked(const std::function<Module&(const CustomConfig&)>& make,
                     const CustomConfig& config, const std::string& file) {
    const SkipDrawing skip;  // all weights are read
    try {
        Module& model = make(config);
        require<IoError>(model.parameter_count() == config.parameters,
                         "{}: the model has {} parameters, not {}", file, model.parameter_count(),
                         config.parameters);
        return model;
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", file, error.what());
    } catch (const ShapeError& error) {
        fail<IoError>("{}: {}", file, error.what());
    } catch (const MemoryError& error) {
        fail<MemoryError>("{}: {}", file, error.what());
    }
}

}  // namespace

void check_bounds(const CustomConfig& config) {
    check_positive("config", config);
    for_each_field<CustomConfig>([&](const auto& one) {
        using Value = typename std::decay_t<decltype(one)>::Value;
        if constexpr (std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, double>) {
            const auto value = static_cast<double>(config.*one.member);
            require(value >= one.traits.low, "config: {} must be at least {}, got {}", one.name,
                    one.traits.low, value);
            require(value <= one.traits.high, "config: {} must be at most {}, got {}", one.name,
                    one.traits.high, value);
        }
    });
}

void write_description(Commit& commit, const std::string& folder, const CustomConfig& config) {
    ConfigWriter file;
    file.set("format", std::int64_t{1});
    file.set("model", config.name);
    write_fields(file, config);
    write_config(commit, folder, file.text());
}

void load_custom_model(const std::filesystem::path& directory, const std::string& task,
                       const std::function<Module&(const CustomConfig&)>& make) {
    read_saved(directory, [&](const SavedFiles& files) {
        const ConfigFile file(files.path(kConfigName));
        const CustomConfig config = custom_config(file, task);
        check_weights_exist(files);
        check_model_size(parameter_count(config), files);
        Module& model = make_checked(make, config, file.path());
        load_weights(files, model);
        model.eval();
        check_model_files(files);
        return 0;
    });
}

}  // namespace tapestry
