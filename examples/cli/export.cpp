// tapestry export: a model of ours as GPT-2, in the files that Hugging Face's transformers loads.
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/io/hugging_face.h>

#include <memory>

namespace tapestry::cli {
namespace {

struct ExportSettings {
    std::string model;
    std::string out;
    bool bf16 = false;
};

int run_export(const ExportSettings& s) {
    const LoadedModel loaded = load_model(s.model);
    if (s.bf16) loaded.model->to(DType::bf16);
    export_hugging_face(s.out, *loaded.model, loaded.tokenizer.get());
    print("saved in {}: GPT-2's format, {} parameters\n", utf8::printable(s.out),
          loaded.model->parameter_count());
    if (loaded.tokenizer && loaded.tokenizer->kind() == "char") {
        print(
            "its tokens are characters, which transformers has no tokenizer for: "
            "tapestry_tokenizer.json lists them by id\n");
    }
    return kSuccess;
}

}  // namespace

void add_export(Options& app) {
    auto s = std::make_shared<ExportSettings>();
    Options& o =
        app.subcommand("export", "Write a model as Hugging Face's transformers reads GPT-2");
    add_model_directory(o, s->model);
    o.text("--out", s->out, "Directory for the files").required();
    o.flag("--bf16", s->bf16, "Weights of 16 bits: half the size, rounded to nearest");
    o.run([s] { return run_export(*s); });
}

}  // namespace tapestry::cli
