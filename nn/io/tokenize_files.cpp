#include <tapestry/nn/io/tokenize_files.h>

#include <tapestry/core/directory.h>
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/model_directory.h>

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

namespace tapestry {
namespace {

// Reads the files anew for each purpose.
class Texts {
public:
    explicit Texts(const TokenizeOptions& options)
        : options_(options), files_(files_below(options.texts)) {}

    std::unique_ptr<DocumentReader> open(const std::string& purpose) const {
        if (options_.begun) options_.begun(purpose);
        return std::make_unique<DocumentReader>(
            files_, DocumentOptions{.field = options_.field, .progress = options_.progress});
    }

private:
    const TokenizeOptions& options_;
    std::vector<std::filesystem::path> files_;
};

std::unique_ptr<Tokenizer> tokenizer_for(const TokenizeOptions& options, const Texts& texts) {
    if (options.tokenizer == "chars") {
        return std::make_unique<CharTokenizer>(characters_of(*texts.open("counting")));
    }
    if (options.tokenizer == "bpe") {
        const WordCounts words = words_of(*texts.open("counting"), options.sample);
        return std::make_unique<BytePairTokenizer>(train_byte_pairs(words, options.vocab));
    }
    if (has_data(options.tokenizer)) return load_data_tokenizer(options.tokenizer);
    LoadedModel loaded = load_model(options.tokenizer);
    require_tokenizer(loaded, options.tokenizer);
    return std::move(loaded.tokenizer);
}

}  // namespace

TokenizedFiles tokenize_files(const std::string& out, const TokenizeOptions& options) {
    require<IoError>(!has_data(out),
                     "{}: there is data in it already; remove it, or choose another directory",
                     out);
    for (const char* const name : {kConfigName, kManifestName}) {
        require<IoError>(
            !is_there(std::filesystem::path(out) / name),
            "{}: there is a model or a run in it ({}), whose tokenizer this would replace; "
            "choose another directory",
            out, name);
    }
    const Texts texts(options);
    const auto tokenizer = tokenizer_for(options, texts);
    const auto start = std::chrono::steady_clock::now();
    const auto reader = texts.open("encoding");
    const EncodedDocuments encoded = write_data(out, *reader, *tokenizer);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return {.encoded = encoded,
            .bytes = static_cast<double>(reader->bytes()),
            .seconds = took.count(),
            .unit = std::string(tokenizer->unit()),
            .vocab = tokenizer->vocab_size(),
            .kind = std::string(tokenizer->kind())};
}

std::string to_text(const TokenizedFiles& files) {
    const std::int64_t documents = files.encoded.documents;
    return fmt::format("{} document{}, {:.1f} MB: {} {}s, {} {}", documents,
                       documents == 1 ? "" : "s", files.bytes / 1e6, files.encoded.ids, files.unit,
                       files.vocab, files.kind == "char" ? "different" : "in the vocabulary");
}

}  // namespace tapestry
