// tapestry tokenize: texts of any size as a directory of token ids, for `train --data`. What it
// does is in nn/io/data_directory.cpp.
#include <tapestry/examples/cli/byte_progress.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/interrupt.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/progress.h>
#include <tapestry/nn/io/data_directory.h>

#include <fmt/core.h>

#include <memory>
#include <utility>

namespace tapestry::cli {
namespace {

struct TokenizeSettings {
    std::vector<std::string> text;
    std::string out;
    std::string tokenizer = "chars";
    std::int64_t vocab = 4096;
    std::string field = "text";
    std::uint64_t sample = 100'000'000;
};

// Reads the files anew for each purpose, and shows how far it is.
class Texts {
public:
    explicit Texts(const TokenizeSettings& s) : files_(files_below(s.text)), field_(s.field) {}

    std::unique_ptr<DocumentReader> open(const std::string& purpose) {
        progress_.begin(purpose);
        return std::make_unique<DocumentReader>(
            files_, DocumentOptions{.field = field_,
                                    .progress = [this](std::uint64_t done, std::uint64_t all) {
                                        progress_.show(done, all);
                                    }});
    }
    ByteProgress& progress() { return progress_; }

private:
    std::vector<std::filesystem::path> files_;
    std::string field_;
    ByteProgress progress_;
};

std::unique_ptr<Tokenizer> tokenizer_for(const TokenizeSettings& s, Texts& texts) {
    if (s.tokenizer == "chars") {
        return std::make_unique<CharTokenizer>(characters_of(*texts.open("counting")));
    }
    if (s.tokenizer == "bpe") {
        const WordCounts words = words_of(*texts.open("counting"), s.sample);
        return std::make_unique<BytePairTokenizer>(train_byte_pairs(words, s.vocab));
    }
    if (has_data(s.tokenizer)) return load_data_tokenizer(s.tokenizer);
    LoadedModel loaded = load_model(s.tokenizer);
    require_tokenizer(loaded, s.tokenizer);
    return std::move(loaded.tokenizer);
}

void tokenize(const TokenizeSettings& s) {
    require<IoError>(!has_data(s.out),
                     "{}: there is data in it already; remove it, or choose another directory",
                     s.out);
    Texts texts(s);
    const auto tokenizer = tokenizer_for(s, texts);
    const auto reader = texts.open("encoding");
    const EncodedDocuments encoded = write_data(s.out, *reader, *tokenizer);
    texts.progress().finish();
    const double seconds = texts.progress().seconds();
    const auto bytes = static_cast<double>(reader->bytes());
    fmt::print("{} document{}, {:.1f} MB: {} {}s, {} {}\n", encoded.documents,
               encoded.documents == 1 ? "" : "s", bytes / 1e6, encoded.ids, tokenizer->unit(),
               tokenizer->vocab_size(),
               tokenizer->kind() == "char" ? "different" : "in the vocabulary");
    fmt::print("encoded in {} ({:.0f} MB/s)\nsaved in {}\n", clock_text(seconds),
               bytes / 1e6 / seconds, s.out);
}

int run_tokenize(const TokenizeSettings& s) {
    catch_interrupts();
    try {
        tokenize(s);
    } catch (const Interrupted&) {
        say(fmt::format("tapestry: interrupted; there is no data in {}\n", s.out), stderr);
        return kInterrupted;
    }
    return kSuccess;
}

}  // namespace

void add_tokenize(Options& app) {
    auto s = std::make_shared<TokenizeSettings>();
    Options& o = app.subcommand("tokenize", "Turn texts of any size into data for `train --data`");
    o.texts("--text", s->text,
            "UTF-8 texts, JSON Lines (files called *.jsonl or *.ndjson), and directories of them")
        .required();
    o.text("--out", s->out, "Directory for the data").required();
    o.text(
        "--tokenizer", s->tokenizer,
        "chars: the texts' characters; bpe: byte pairs, learned from the texts; or the directory "
        "of a model, for its tokenizer");
    o.count("--vocab", s->vocab, "Tokens that bpe learns, the 256 bytes among them",
            {257, 1'000'000});
    o.text("--field", s->field, "Of a line of JSON: where its text is");
    o.bytes("--bpe-sample", s->sample,
            "Bytes of text that bpe learns from, taken from all over it");
    o.run([s] { return run_tokenize(*s); });
}

}  // namespace tapestry::cli
