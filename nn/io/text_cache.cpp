#include <tapestry/nn/io/text_cache.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/text/utf8.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// ---- the cache ----------------------------------------------------------------------------------

struct Entry {
    fs::path path;
    std::uint64_t bytes = 0;
    fs::file_time_type used = fs::file_time_type::min();
};

// What other processes remove meanwhile is no error here.
std::vector<Entry> entries_of(const fs::path& directory) {
    std::vector<Entry> entries;
    std::error_code ignored;
    for (const auto& one : fs::directory_iterator(directory, ignored)) {
        Entry& entry = entries.emplace_back();
        entry.path = one.path();
        entry.used = one.last_write_time(ignored);
        for (const auto& file : fs::directory_iterator(one.path(), ignored)) {
            const std::uint64_t bytes = file.file_size(ignored);
            if (!ignored) entry.bytes += bytes;
        }
    }
    return entries;
}

// An entry that is open elsewhere is read to its end there: files go when nobody has them open.
void remove_oldest(const fs::path& directory, std::uint64_t max_bytes) {
    std::vector<Entry> entries = entries_of(directory);
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.used > b.used; });
    std::uint64_t bytes = 0;
    std::error_code ignored;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        bytes += entries[i].bytes;
        if (i > 0 && bytes > max_bytes) fs::remove_all(entries[i].path, ignored);
    }
}

std::optional<TokenData> find(const fs::path& entry) {
    if (!has_data(entry)) return std::nullopt;  // another process may be writing there
    std::error_code ignored;
    try {
        TokenData data = load_data(entry);
        fs::last_write_time(entry, fs::file_time_type::clock::now(), ignored);
        return data;
    } catch (const IoError&) {  // damaged: made anew
        fs::remove_all(entry, ignored);
        return std::nullopt;
    }
}

// ---- the text -----------------------------------------------------------------------------------

constexpr const char* kOwnCharacters = "characters";

fs::path entry_of(const TextCache& cache, const std::string& text, const std::string& tokenizer) {
    return cache.directory / checksum_of(fmt::format("1 {} {}", text, tokenizer));
}

std::unique_ptr<Tokenizer> characters_in(const fs::path& text) {
    DocumentReader reader({text});
    return std::make_unique<CharTokenizer>(characters_of(reader));
}

// What is kept of the text. Of its characters it is kept as such, for a tokenizer made of them to
// be found without reading the text through.
std::optional<TokenData> find(const TextCache& cache, const std::string& text,
                              const Tokenizer* tokenizer) {
    if (tokenizer == nullptr || tokenizer->kind() == "char") {
        std::optional<TokenData> data = find(entry_of(cache, text, kOwnCharacters));
        const bool fits =
            data && (tokenizer == nullptr || tokenizer->hash() == data->tokenizer->hash());
        if (fits) return data;
    }
    return tokenizer == nullptr ? std::nullopt : find(entry_of(cache, text, tokenizer->hash()));
}

TokenData through(const TextCache& cache, const fs::path& text,
                  std::unique_ptr<Tokenizer>& tokenizer) {
    const std::string hash = digest_of_file(text).checksum;
    if (auto data = find(cache, hash, tokenizer.get())) return std::move(*data);
    const fs::path entry = entry_of(cache, hash, tokenizer ? tokenizer->hash() : kOwnCharacters);
    if (!tokenizer) tokenizer = characters_in(text);
    DocumentReader reader({text});
    write_data(entry, reader, *tokenizer);
    TokenData data = load_data(entry);
    remove_oldest(cache.directory, cache.max_bytes);
    return data;
}

// A file without a name, which is gone when nobody has it open.
std::shared_ptr<const FileDescriptor> temporary_file() {
    const char* chosen = std::getenv("TMPDIR");  // /tmp may be memory
    std::string name = fs::path(chosen != nullptr ? chosen : "/var/tmp") / "tapestry-XXXXXX";
    auto file = std::make_shared<FileDescriptor>(::mkostemp(name.data(), O_CLOEXEC));
    require<IoError>(file->is_open(), "cannot write {}: {}", utf8::quoted(name, 300),
                     std::generic_category().message(errno));
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

std::optional<fs::path> user_cache_directory() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && fs::path(cache).is_absolute()) return fs::path(cache) / "tapestry";
    const char* home = std::getenv("HOME");
    if (home == nullptr || !fs::path(home).is_absolute()) return std::nullopt;
    return fs::path(home) / ".cache" / "tapestry";
}

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
