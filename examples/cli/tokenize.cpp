// tapestry tokenize: turns texts of any size into a directory of token ids for `train --data`. The
// work is in nn/io/tokenize.cpp.
#include <tapestry/core/text/utf8.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/io/tokenize.h>

namespace tapestry::cli {
namespace {

struct TokenizeSettings {
    TokenizeOptions options;
    std::string out;
};

// Thrown while reading the files; unwinding removes the partial output.
struct Interrupted {};

int run_tokenize(TokenizeSettings& s) {
    catch_interrupts();
    ByteProgress progress(progress_output());
    s.options.begun = [&](const std::string& purpose) { progress.begin(purpose); };
    s.options.progress = [&](std::uint64_t done, std::uint64_t all) {
        if (interrupted()) throw Interrupted{};
        progress.show(done, all);
    };
    s.options.files.skipped = [](const std::string& why) { warn("skipped " + why); };
    try {
        const TokenizedFiles files = tokenize_files(s.out, s.options);
        progress.finish();
        print("{}\nencoded in {} ({:.0f} MB/s)\nsaved in {}\n", to_text(files),
              clock_text(files.seconds), files.bytes / 1e6 / files.seconds, utf8::printable(s.out));
    } catch (const Interrupted&) {
        progress.finish();
        warn("interrupted; no data was written to " + s.out);
        return kInterrupted;
    }
    return kSuccess;
}

}  // namespace

void add_tokenize(Options& app) {
    auto s = std::make_shared<TokenizeSettings>();
    Options& o = app.subcommand("tokenize", "Turn texts of any size into data for `train --data`");
    o.texts("--text", s->options.texts,
            "UTF-8 texts, JSON Lines (files called *.jsonl or *.ndjson), and directories of them")
        .required();
    o.text("--out", s->out, "Directory for the data").required();
    o.texts("--include", s->options.files.include,
            "Of directories only files whose name or path below it matches: '*.py', 'docs/*'");
    o.texts("--exclude", s->options.files.exclude, "Of directories no files that match");
    o.flag("--strict", s->options.files.strict,
           "Fail at a file of a directory that is not UTF-8 text; otherwise it is skipped");
    o.text("--tokenizer", s->options.tokenizer,
           "chars: the texts' characters; bpe: byte pairs, learned from the texts; or what has a "
           "tokenizer to use: the directory of a model, or Hugging Face's tokenizer.json");
    o.count("--vocab", s->options.vocab, "Vocabulary size of bpe, including the 256 bytes",
            {257, 1'000'000});
    o.text("--field", s->options.field, "Field of a JSON line that holds the text");
    o.bytes("--bpe-sample", s->options.sample,
            "Bytes of text that bpe learns from, taken from all parts of the texts");
    o.run([s, &o] {
        for (const char* const option : {"--vocab", "--bpe-sample"}) {
            require(!o.given(option) || s->options.tokenizer == "bpe",
                    "tokenize: {} is for --tokenizer bpe, got --tokenizer {}", option,
                    utf8::printable(s->options.tokenizer));
        }
        return run_tokenize(*s);
    });
}

}  // namespace tapestry::cli
