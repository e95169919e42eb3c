// The model of a custom task as a directory, in the format that model_directory.h has for
// language models: config.json, whose "model" is the task's name, and model.safetensors. Read next:
// nn/models/custom_config.h.
#pragma once

#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/models/custom_config.h>
#include <tapestry/nn/module/module.h>

#include <filesystem>
#include <functional>
#include <string>

namespace tapestry {

/// Throws ValueError, naming the field, for a value outside the bounds that FieldsOf<CustomConfig>
/// has for it.
void check_bounds(const CustomConfig& config);

/// Writes everything but the weights, config.json, into a folder of the directory, "" for none.
void write_description(Commit& commit, const std::string& folder, const CustomConfig& config);

/// Reads a model of this task: calls make(config) for the module, fills it with the weights, and
/// sets evaluation mode. Throws IoError, with the file and the reason, as load_model does; also for
/// what `make` refuses.
void load_custom_model(const std::filesystem::path& directory, const std::string& task,
                       const std::function<Module&(const CustomConfig&)>& make);

}  // namespace tapestry
