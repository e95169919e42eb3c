#include <tapestry/core/create.h>
#include <tapestry/core/directory.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/tests/fuzz/calls.h>
#include <tapestry/tests/fuzz/small.h>

#include <array>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>

namespace tapestry::fuzz {
namespace {

namespace fs = std::filesystem;

TrainingRunOptions two_steps(bool report = false) {
    auto left = std::make_shared<int>(2);
    return {.report = report,
            .checkpoints = {.every_steps = 1, .best = true},
            .stepped = [left](const StepMetrics&, const Speed&) { return --*left > 0; }};
}

void take_steps(BegunRun& begun, TrainingRunOptions options) {
    if (!is_small(begun.session->config())) return;
    options.earlier = begun.earlier;
    TrainingRun(*begun.session, *begun.directory, std::move(options)).to_the_end();
}

void open_run(const Place& p) { RunDirectory(p.directory).foreign(); }
void put_in_order(const Place& p) { RunDirectory(p.directory).put_in_order(); }

void resume_run(const Place& p) {
    if (!continues_small(p.directory)) return;
    BegunRun begun = begin_run({.config = small_training(p.text),
                                .out = p.directory,
                                .resume = true,
                                .overrides = {"isa", "version"}});
    take_steps(begun, two_steps());
}

void resume_altered(const Place& p) {
    if (!continues_small(p.directory)) return;
    TrainingConfig config = small_training(p.text);
    config.steps = 100;
    BegunRun begun = begin_run({.config = config,
                                .given = {"steps", "text"},
                                .out = p.directory,
                                .resume = true,
                                .overrides = {"isa", "version", "steps", "data"}});
    take_steps(begun, two_steps(true));
}

void begin_anew(const Place& p) {
    BegunRun begun =
        begin_run({.config = small_training(p.text), .out = p.directory, .overwrite = true});
    take_steps(begun, two_steps());
}

// Begins a run without steps. If there is a checkpoint, its shape is another and it is refused.
void begin_only(const Place& p) {
    TrainingConfig config = small_training(p.text);
    config.model.dim = 2;
    begin_run({.config = config, .given = {"dim"}, .out = p.directory, .resume = true});
}

void diverge(const Place& p) {
    BegunRun begun =
        begin_run({.config = small_training(p.text), .out = p.directory, .overwrite = true});
    begun.session->model().parameters()[0].fill_(std::numeric_limits<double>::infinity());
    TrainingRunOptions options = two_steps();
    options.trap_nan = true;
    take_steps(begun, options);
}

void fork_run(const Place& p) {
    if (!continues_small(p.directory)) return;
    BegunRun begun = begin_run({.config = {.steps = p.step + 4},
                                .given = {"steps"},
                                .out = p.out,
                                .fork = p.directory,
                                .step = p.step,
                                .overwrite = true});
    take_steps(begun, two_steps());
}

void save_gpt(const Place& p) {
    const CharTokenizer tokenizer = CharTokenizer::from_text("the cat");
    save_model(p.directory, GPT(small_gpt(tokenizer.vocab_size())), tokenizer);
}

void save_weights_alone(const Place& p) { save_weights(p.directory, GPT(small_gpt(6))); }

void check_before_saving(const Place& p) {
    const CharTokenizer tokenizer = CharTokenizer::from_text("the cat");
    check_can_save(p.directory, GPT(small_gpt(tokenizer.vocab_size())), tokenizer);
}

void save_transformer(const Place& p) {
    const MarkedVocabulary vocabulary{CharTokenizer::from_text("the cat")};
    save_model(p.directory, Transformer(small_transformer(vocabulary.size())), vocabulary);
}

void export_into(const Place& p) { export_hugging_face(p.directory, GPT(small_gpt(256)), nullptr); }

void export_from(const Place& p) {
    const LoadedModel loaded = load_model(p.directory);
    export_hugging_face(p.out, *loaded.model, loaded.tokenizer.get());
}

void tokenize_into(const Place& p) { tokenize_files(p.directory, {.texts = {p.text}}); }

void tokenize_with(const Place& p) {
    tokenize_files(p.out, {.texts = {p.text}, .tokenizer = p.directory});
}

void tokenize_from(const Place& p) {
    tokenize_files(p.out, {.texts = {p.directory}, .tokenizer = "bpe", .vocab = 260});
}

bool is_private(const fs::path& path) {
    constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;
    std::error_code absent;
    const fs::file_status status = fs::symlink_status(path, absent);
    return !fs::exists(status) || (status.permissions() & kOthers) == fs::perms::none;
}

// Only the owner may read the text, so only the owner may read its tokens.
void check_private(const fs::path& entry) {
    if (is_private(entry)) return;
    for (const char* name : {"ids.bin", "tokenizer.json", "data.json"}) {
        if (!is_private(entry / name)) {
            throw std::logic_error((entry / name).native() + ": readable by all users");
        }
    }
}

// tokenize_text does not cache a text this short; call the two functions it would call.
void cache_in(const Place& p) {
    const TextCache cache{.directory = p.directory};
    const std::string text = digest_of_file(p.text).checksum;
    if (!find_tokenized(cache, text, nullptr)) {
        const CharTokenizer tokenizer = CharTokenizer::from_text(read_file(p.text));
        DocumentReader reader({p.text});
        keep_tokenized(cache, text, reader, tokenizer, true);
    }
    for (const std::string& name : names_in(p.directory)) {
        if (is_private(p.directory)) break;
        if (name.size() == 32) check_private(fs::path(p.directory) / name);  // a checksum
    }
}

void nothing(const Place&) {}

constexpr std::array<Call, 19> kWriters{
    {{.name = "none", .run = nothing},
     {.name = "RunDirectory", .run = open_run, .writes = true, .keeps_files = true},
     {.name = "put_in_order", .run = put_in_order, .writes = true},
     {.name = "resume", .run = resume_run, .writes = true},
     {.name = "resume with --override", .run = resume_altered, .writes = true},
     {.name = "train", .run = begin_anew, .writes = true},
     {.name = "begin_run", .run = begin_only, .writes = true, .keeps_files = true},
     {.name = "train --trap-nan", .run = diverge, .writes = true},
     {.name = "train --fork", .run = fork_run},
     {.name = "save_model", .run = save_gpt, .writes = true},
     {.name = "save_weights", .run = save_weights_alone, .writes = true},
     {.name = "check_can_save", .run = check_before_saving, .writes = true},
     {.name = "save_model(Transformer)", .run = save_transformer, .writes = true},
     {.name = "export_hugging_face", .run = export_into, .writes = true},
     {.name = "export", .run = export_from},
     {.name = "tokenize --out", .run = tokenize_into, .writes = true},
     {.name = "tokenize --tokenizer", .run = tokenize_with},
     {.name = "tokenize --text", .run = tokenize_from},
     {.name = "TextCache", .run = cache_in, .writes = true}}};

}  // namespace

std::span<const Call> writers() { return kWriters; }

}  // namespace tapestry::fuzz
