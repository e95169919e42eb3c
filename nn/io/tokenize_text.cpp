#include <tapestry/core/checksum.h>
#include <tapestry/core/system_call.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/io/tokenize.h>

#include <fmt/core.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// A file, a file of JSON Lines, or the texts in a directory, and its documents.
class Text {
public:
    explicit Text(const fs::path& path) : files_{path} {
        std::error_code ignored;
        if (!fs::is_directory(path, ignored)) return;
        files_ =
            text_files({path.string()}, {.skipped = [this](const std::string&) { ++skipped_; }});
    }

    std::unique_ptr<DocumentReader> open() const {
        return std::make_unique<DocumentReader>(files_, DocumentOptions{.field = "text"});
    }
    std::uint64_t bytes() const { return open()->bytes(); }
    std::int64_t skipped() const { return skipped_; }
    std::string hash() const {
        std::vector<SourceFile> sources;
        for (const fs::path& file : files_) {
            const FileDigest digest = digest_of_file(file);
            sources.push_back({file.string(), digest.bytes, digest.checksum});
        }
        return hash_of_text(sources);
    }

private:
    std::vector<fs::path> files_;
    std::int64_t skipped_ = 0;  // files of a directory that are not text
};

std::unique_ptr<Tokenizer> characters_in(const Text& text) {
    return std::make_unique<CharTokenizer>(characters_of(*text.open()));
}

Corpus through(const TextCache& cache, const Text& text, std::unique_ptr<Tokenizer>& tokenizer) {
    const std::string hash = text.hash();
    if (auto data = find_tokenized(cache, hash, tokenizer.get())) return std::move(*data);
    const bool of_own_characters = !tokenizer;
    if (!tokenizer) tokenizer = characters_in(text);
    return keep_tokenized(cache, hash, *text.open(), *tokenizer, of_own_characters);
}

// An unnamed file, which is deleted when its last descriptor is closed.
std::shared_ptr<const FileDescriptor> temporary_file() {
    const char* chosen = std::getenv("TMPDIR");
    const bool is_set = chosen != nullptr && *chosen != '\0';
    const fs::path place = is_set ? chosen : "/var/tmp";  // /tmp may be in memory
    std::string name = place / "tapestry-XXXXXX";
    const int number = ::mkostemp(name.data(), O_CLOEXEC);
    const int error = errno;
    if (number < 0) fail_to("write", shown(name), error);
    auto file = std::make_shared<FileDescriptor>(number);
    ::unlink(name.c_str());
    return file;
}

TokenIds encode_to_memory(DocumentReader& reader, const Tokenizer& tokenizer, IdType type,
                          Checksum& sum) {
    std::vector<std::byte> packed;
    encode_documents(reader, tokenizer, type, [&](std::span<const std::byte> ids) {
        sum.add(ids);
        packed.insert(packed.end(), ids.begin(), ids.end());
    });
    return TokenIds(std::move(packed), type);
}

TokenIds encode_to_file(DocumentReader& reader, const Tokenizer& tokenizer, IdType type,
                        Checksum& sum) {
    const auto file = temporary_file();
    const std::string name = "a temporary file";
    OutputFile output(name, file->number());
    encode_documents(reader, tokenizer, type, [&](std::span<const std::byte> ids) {
        sum.add(ids);
        output.write(ids);
    });
    return TokenIds(file, name, type, tokenizer.vocab_size());
}

Corpus encoded(const Text& text, const Tokenizer& tokenizer, bool in_memory) {
    const IdType type = id_type_for(tokenizer.vocab_size());
    const auto reader = text.open();
    Checksum sum;
    TokenIds ids = in_memory ? encode_to_memory(*reader, tokenizer, type, sum)
                             : encode_to_file(*reader, tokenizer, type, sum);
    return {nullptr, std::move(ids), data_hash(sum.hex(), tokenizer)};
}

Corpus without_cache(const Text& text, std::unique_ptr<Tokenizer> tokenizer) {
    constexpr std::uint64_t kLittle = std::uint64_t{1} << 24;
    if (!tokenizer) tokenizer = characters_in(text);
    std::optional<Corpus> data;
    if (text.bytes() > kLittle) {
        try {
            data = encoded(text, *tokenizer, false);
        } catch (const IoError&) {  // no space there, or an error in the text, which recurs below
        }
    }
    if (!data) data = encoded(text, *tokenizer, true);
    data->tokenizer = std::move(tokenizer);
    return std::move(*data);
}

}  // namespace

Corpus tokenize_text(const fs::path& path, std::unique_ptr<Tokenizer> tokenizer,
                     const TextCache* cache) {
    const Text text(path);
    const std::uint64_t bytes = text.bytes();
    std::string failure;
    std::optional<Corpus> data;
    if (cache != nullptr && bytes >= TextCache::kLeast && bytes <= cache->max_bytes) {
        try {
            data = through(*cache, text, tokenizer);
        } catch (const IoError& error) {  // the cache's, or the text's, which recurs below
            failure = error.what();
        }
    }
    if (!data) data = without_cache(text, std::move(tokenizer));
    if (!failure.empty() && cache->warn) cache->warn(failure);
    data->skipped = text.skipped();
    return std::move(*data);
}

}  // namespace tapestry
