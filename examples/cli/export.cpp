// tapestry export: converts a Tapestry model to files that Hugging Face's transformers loads, or a
// text classifier to a smaller one.
#include <tapestry/autograd/print.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/error.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/io/classifier_directory.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/manifest.h>

#include <filesystem>
#include <memory>
#include <string>

namespace tapestry::cli {
namespace {

struct ExportSettings {
    std::string model;
    std::string out;
    bool bf16 = false;
    bool int8 = false;
    bool overwrite = false;
};

// Only an earlier export may be replaced, with --overwrite: never a run, a Tapestry model, or files
// that another program wrote.
void check_vacant(const ExportSettings& s) {
    const std::filesystem::path out = s.out;
    const auto has = [&out](const char* name) { return is_there(out / name); };
    if (!has(kConfigName) && !has(kWeightsName)) {
        for (const char* const name :
             {kTokenizerName, kTokenizerConfigName, "vocab.json", "merges.txt"}) {
            require<IoError>(!has(name), "{}: already contains {}; choose another directory",
                             shown(out), name);
        }
        return;
    }
    const bool is_export = !is_there(out / kMetricsName) &&
                           (s.int8 ? is_quantized_classifier(out) : is_own_export(out));
    require<IoError>(is_export, "{}: already contains a model; choose another directory",
                     shown(out));
    require<IoError>(s.overwrite, "{}: already contains an export; --overwrite replaces it",
                     shown(out));
}

int export_classifier(const ExportSettings& s) {
    require(s.int8, "export: {} is a text classifier, which transformers does not have; use --int8",
            shown(s.model));
    require(!s.bf16, "export: --int8 and --bf16 exclude each other");
    check_vacant(s);
    const auto size = [](const std::filesystem::path& directory) {
        return bytes_text(std::filesystem::file_size(SavedFiles(directory).path(kWeightsName)));
    };
    quantize_classifier(s.model, s.out);
    print("saved in {}: rows in int8, {} instead of {}\n", utf8::printable(s.out), size(s.out),
          size(s.model));
    return kSuccess;
}

int run_export(const ExportSettings& s) {
    if (model_kind(s.model) == ModelKind::classifier) return export_classifier(s);
    require(!s.int8,
            "export: --int8 is for a text classifier; `tapestry sample --weights int8` rounds a "
            "language model's weights as it reads them");
    check_vacant(s);
    const LoadedModel loaded = load_model(s.model);
    if (s.bf16) loaded.model->to(DType::bf16);
    export_hugging_face(s.out, *loaded.model, loaded.tokenizer.get(), loaded.conventions);
    print("saved in {}: Hugging Face's format, {} parameters\n", utf8::printable(s.out),
          loaded.model->parameter_count());
    if (loaded.tokenizer && loaded.tokenizer->kind() == "char") {
        print(
            "its tokens are characters, for which transformers has no tokenizer: "
            "tapestry_tokenizer.json lists them by id\n");
    }
    return kSuccess;
}

}  // namespace

void add_export(Options& app) {
    auto s = std::make_shared<ExportSettings>();
    Options& o = app.subcommand(
        "export", "Write a model in Hugging Face's format, or a text classifier with int8 rows");
    add_model_directory(o, s->model);
    o.text("--out", s->out, "Directory for the files").required();
    o.flag("--bf16", s->bf16, "16-bit weights: half the size, rounded to nearest");
    o.flag("--int8", s->int8,
           "For a text classifier: rows of 8-bit numbers with a scale each, a third of the size "
           "for --dim 16; `classify` and `eval` read it");
    o.flag("--overwrite", s->overwrite, "Replace an earlier export");
    o.run([s] { return run_export(*s); });
}

}  // namespace tapestry::cli
