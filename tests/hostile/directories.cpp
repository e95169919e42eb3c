#include <tapestry/tests/hostile/directories.h>

#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/hostile/manifest_text.h>
#include <tapestry/tests/source_dir.h>

#include <map>

namespace tapestry::test {
namespace {

namespace fs = std::filesystem;

const Place& masters() {
    static const Place place;
    return place;
}

void make(const Arguments& arguments, int code = 0) {
    const Outcome outcome = masters().run(arguments);
    INFO("stderr: " << outcome.err);
    REQUIRE_EQ(outcome.code, code);
}

const Arguments kTiny{"--layers",    "1",         "--heads", "2", "--dim",          "8",
                      "--context",   "8",         "--batch", "2", "--eval-batches", "1",
                      "--no-report", "--no-cache"};

// A run this short has no rewind states, so one of its checkpoints is turned into one.
void make_rewind_state(const fs::path& run) {
    const std::string from = "checkpoints/step-00000020.safetensors";
    const std::string to = "rewind/step-00000020.safetensors";
    const std::string contents = slurp(run / from);
    ManifestText manifest(run);
    manifest.drop(from);
    manifest.list(to, contents);
    manifest.write(run);
    fs::create_directory(run / "rewind");
    fs::rename(run / from, run / to);
}

void make_run(const fs::path& to) {
    spill(masters() / "t.txt", simple_text());
    // A checkpoint that is due while another is being written is left out: on a busy machine it is
    // tried again.
    for (int tries = 0;; ++tries) {
        require(tries < 50, "no run of 50 wrote all of its checkpoints");
        fs::remove_all(to);
        make(Arguments{"train", "--text", "t.txt", "--out", to.native(), "--steps", "60",
                       "--eval-every", "20", "--checkpoint-every", "20", "--keep", "3", "--best",
                       "--dropout", "0.1", "--hash-every", "1"} +
             kTiny);
        const auto states = fs::directory_iterator(to / "checkpoints");
        if (std::distance(fs::begin(states), fs::end(states)) == 3) break;
    }
    make_rewind_state(to);
}

void make_trap(const fs::path& to) {
    make(Arguments{"train",
                   "--text",
                   "t.txt",
                   "--model",
                   valid_directory(Kind::run).native(),
                   "--out",
                   to.native(),
                   "--steps",
                   "20",
                   "--batch",
                   "2",
                   "--eval-batches",
                   "1",
                   "--warmup",
                   "0",
                   "--lr",
                   "1000",
                   "--weight-decay",
                   "1000",
                   "--clip",
                   "0",
                   "--trap-nan",
                   "--checkpoint-every",
                   "1",
                   "--no-report",
                   "--no-cache"},
         1);
}

void make_transformer(const fs::path& to) {
    const MarkedVocabulary letters(CharTokenizer::from_text("abcde"));
    Generator generator(1);
    const Transformer model({.source_vocab = letters.size(),
                             .target_vocab = letters.size(),
                             .dim = 8,
                             .heads = 2,
                             .layers = 1,
                             .share_embeddings = true,
                             .padding_id = 0},
                            generator);
    save_model(to, model, letters);
}

void make(Kind kind, const fs::path& to) {
    switch (kind) {
        case Kind::run: return make_run(to);
        case Kind::trap: return make_trap(to);
        case Kind::hugging_face:
            return make({"export", "--model", (source_dir() / "tests/fixtures/gpt2").native(),
                         "--out", to.native()});
        case Kind::data:
            spill(masters() / "t.txt", simple_text());
            return make({"tokenize", "--text", "t.txt", "--tokenizer", "bpe", "--vocab", "270",
                         "--out", to.native()});
        case Kind::transformer: return make_transformer(to);
    }
}

}  // namespace

fs::path valid_directory(Kind kind) {
    static std::map<Kind, fs::path> made;
    fs::path& path = made[kind];
    if (path.empty()) {
        const fs::path to = masters() / std::to_string(static_cast<int>(kind));
        make(kind, to);
        path = to;
    }
    return path;
}

fs::path model_of_pairs() {
    static const fs::path path = [] {
        const fs::path to = masters() / "pairs";
        make(Arguments{"train", "--data", valid_directory(Kind::data).native(), "--out",
                       to.native(), "--steps", "2"} +
             kTiny);
        return to;
    }();
    return path;
}

void copy_directory(const fs::path& from, const fs::path& to) {
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
}

}  // namespace tapestry::test
