#include <tapestry/examples/cli/options.h>

namespace tapestry::cli {

Option add_model_directory(Options& options, std::string& model) {
    return options
        .text("--model", model,
              "Directory that `tapestry train` wrote, or a GPT-2 of "
              "Hugging Face's (config.json, model.safetensors)")
        .required();
}

void add_model_options(Options& options, GPTConfig& config, std::int64_t& batch) {
    options.count("--layers", config.layers, "Transformer blocks");
    options.count("--heads", config.heads, "Attention heads per block");
    options.count("--dim", config.dim, "Width of the model; a multiple of the heads");
    options.count("--context", config.context, "Tokens the model looks at");
    options.count("--batch", batch, "Sequences per batch");
}

void add_json(Options& options, bool& json) {
    options.flag("--json", json, "Print one JSON object");
}

const Tokenizer& tokenizer_of(const LoadedModel& loaded, const std::string& directory) {
    require(loaded.tokenizer != nullptr,
            "{}: the model has no tokenizer (vocab.json and merges.txt), so it cannot read text; "
            "tapestry eval --tokens needs none",
            directory);
    return *loaded.tokenizer;
}

const char* unit_of(const Tokenizer& tokenizer) {
    return tokenizer.kind() == "char" ? "character" : "token";
}

}  // namespace tapestry::cli
