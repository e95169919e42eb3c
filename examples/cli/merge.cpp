// tapestry merge: adds the low-rank updates of an adapter to the weights of its base model.
#include <tapestry/core/directory.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/io/adapter_text.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/peft.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/reduction.h>

#include <filesystem>
#include <memory>

namespace tapestry::cli {
namespace {

struct MergeSettings {
    std::string model;
    std::string adapter;
    std::string out;
};

int run_merge(const MergeSettings& s) {
    const std::filesystem::path out = s.out;
    for (const char* const name : {kConfigName, kWeightsName, kTokenizerName, "vocab.json",
                                   "merges.txt", kAddedTokensName}) {
        require<IoError>(!is_there(out / name), "{}: already contains {}; choose another directory",
                         shown(out), name);
    }
    std::error_code absent;
    require(!std::filesystem::equivalent(std::filesystem::path(s.model) / kAdapterFolder, s.adapter,
                                         absent),
            "merge: the weights of {} contain the updates of {} already; --model must be the model "
            "that the run began from",
            s.model, s.adapter);
    LoadedModel loaded = load_model(s.model);
    const Tokenizer& tokenizer = require_tokenizer(loaded, s.model);
    const std::string said = take_adapter_template(s.adapter, loaded);
    const std::size_t count = load_adapter(s.adapter, *loaded.model);
    const std::unique_ptr<LanguageModel> sum = merged(*loaded.model);
    for (const auto& [name, weight] : sum->named_parameters()) {
        if (all(isfinite(weight)).item() != 0) continue;
        fail("merge: {} of the sum is not finite: the updates of {} are too large or damaged", name,
             s.adapter);
    }
    save_model(out, *sum, tokenizer, loaded.conventions);
    if (!said.empty()) print("{}\n", said);
    print("saved in {}: {} of {} added to the weights of {}{}\n", utf8::printable(s.out),
          pluralize(static_cast<std::int64_t>(count), "update"), utf8::printable(s.adapter),
          utf8::printable(s.model),
          is_over_int8(s.adapter) ? "; it was trained over these weights in int8, which the run's "
                                    "own model has"
                                  : "");
    return kSuccess;
}

}  // namespace

void add_merge(Options& app) {
    auto s = std::make_shared<MergeSettings>();
    Options& o = app.subcommand("merge", "Add a LoRA adapter in PEFT's format to a model");
    add_model_directory(o, s->model);
    o.text("--adapter", s->adapter,
           "Directory of adapter_config.json and adapter_model.safetensors, such as OUT/adapter of "
           "a run with --lora")
        .required();
    o.text("--out", s->out, "Directory for the merged model").required();
    o.run([s] { return run_merge(*s); });
}

}  // namespace tapestry::cli
