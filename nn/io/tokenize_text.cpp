#include <tapestry/nn/io/tokenize_text.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/text/shown.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Tokenizer> characters_in(const fs::path& text) {
    DocumentReader reader({text});
    return std::make_unique<CharTokenizer>(characters_of(reader));
}

TokenData through(const TextCache& cache, const fs::path& text,
                  std::unique_ptr<Tokenizer>& tokenizer) {
    const std::string hash = digest_of_file(text).checksum;
    if (auto data = find_tokenized(cache, hash, tokenizer.get())) return std::move(*data);
    const bool of_own_characters = !tokenizer;
    if (!tokenizer) tokenizer = characters_in(text);
    DocumentReader reader({text});
    return keep_tokenized(cache, hash, reader, *tokenizer, of_own_characters);
}

// A file without a name, which is gone when nobody has it open.
std::shared_ptr<const FileDescriptor> temporary_file() {
    const char* chosen = std::getenv("TMPDIR");
    const bool is_set = chosen != nullptr && *chosen != '\0';
    const fs::path place = is_set ? chosen : "/var/tmp";  // /tmp may be memory
    std::string name = place / "tapestry-XXXXXX";
    const int number = ::mkostemp(name.data(), O_CLOEXEC);
    const int error = errno;
    require<IoError>(number >= 0, "cannot write {}: {}", shown(name),
                     std::generic_category().message(error));
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

TokenData encoded(const fs::path& text, const Tokenizer& tokenizer, bool in_memory) {
    const IdType type = id_type_for(tokenizer.vocab_size());
    DocumentReader reader({text});
    Checksum sum;
    TokenIds ids = in_memory ? encode_to_memory(reader, tokenizer, type, sum)
                             : encode_to_file(reader, tokenizer, type, sum);
    return {nullptr, std::move(ids), data_hash(sum.hex(), tokenizer)};
}

TokenData without_cache(const fs::path& text, std::unique_ptr<Tokenizer> tokenizer) {
    constexpr std::uint64_t kLittle = std::uint64_t{1} << 24;
    if (!tokenizer) tokenizer = characters_in(text);
    std::optional<TokenData> data;
    if (InputFile(text).size() > kLittle) {
        try {
            data = encoded(text, *tokenizer, false);
        } catch (const IoError&) {  // no room there; or the text's fault, which comes again
        }
    }
    if (!data) data = encoded(text, *tokenizer, true);
    data->tokenizer = std::move(tokenizer);
    return std::move(*data);
}

}  // namespace

TokenData tokenize_text(const fs::path& text, std::unique_ptr<Tokenizer> tokenizer,
                        const TextCache* cache) {
    const std::uint64_t bytes = InputFile(text).size();
    std::string failure;
    if (cache != nullptr && bytes >= TextCache::kLeast && bytes <= cache->max_bytes) {
        try {
            return through(*cache, text, tokenizer);
        } catch (const IoError& error) {  // the cache's, unless the text's comes again
            failure = error.what();
        }
    }
    TokenData data = without_cache(text, std::move(tokenizer));
    if (!failure.empty() && cache->warn) cache->warn(failure);
    return data;
}

}  // namespace tapestry
