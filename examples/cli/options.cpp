#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/config_options.h>

namespace tapestry::cli {

Option add_model_directory(Options& options, std::string& model) {
    return options
        .text("--model", model,
              "Directory that `tapestry train` wrote, or a GPT-2 of "
              "Hugging Face's (config.json, model.safetensors)")
        .required();
}

void add_model_options(Options& options, GPTConfig& config, std::int64_t& batch) {
    add_fields(options, config, {"context", "layers", "heads", "dim", "compute"});
    options.count("--batch", batch, "Sequences per batch");
}

void add_json(Options& options, bool& json) {
    options.flag("--json", json, "Print one JSON object");
}

}  // namespace tapestry::cli
