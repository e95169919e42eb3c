#include <tapestry/nn/io/text_cache.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/directory.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

struct CachedText {
    fs::path path;
    std::uint64_t bytes = 0;
    fs::file_time_type used = fs::file_time_type::min();
};

// The name is a checksum: what else lies in the directory is somebody else's.
bool is_entry(const fs::path& path) {
    std::error_code ignored;
    const std::string name = path.filename().native();
    return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == name.npos &&
           fs::is_directory(fs::symlink_status(path, ignored));
}

// What other processes remove meanwhile is no error here.
std::vector<CachedText> cached_texts(const fs::path& directory) {
    std::vector<CachedText> entries;
    std::error_code ignored;
    for (const std::string& name : names_in(directory)) {
        if (!is_entry(directory / name)) continue;
        CachedText& entry = entries.emplace_back();
        entry.path = directory / name;
        entry.used = fs::last_write_time(entry.path, ignored);
        for (const std::string& file : names_in(entry.path)) {
            const std::uint64_t bytes = fs::file_size(entry.path / file, ignored);
            if (!ignored) entry.bytes += bytes;
        }
    }
    return entries;
}

// An entry that is open elsewhere is read to its end there: files go when nobody has them open.
void remove_oldest(const fs::path& directory, std::uint64_t max_bytes) {
    std::vector<CachedText> entries = cached_texts(directory);
    std::sort(entries.begin(), entries.end(),
              [](const CachedText& a, const CachedText& b) { return a.used > b.used; });
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        bytes += entries[i].bytes;
        if (i > 0 && bytes > max_bytes) remove_data(entries[i].path);
    }
}

// A text may be private by its own permissions, its group's or its directory's: what is kept of it
// is its reader's alone. Entries until November 2026 were everybody's, and lie below `directory`
// too.
void make_private(const fs::path& directory) {
    std::error_code ignored;  // another user's, perhaps
    fs::permissions(directory, fs::perms::group_all | fs::perms::others_all,
                    fs::perm_options::remove | fs::perm_options::nofollow, ignored);
}

std::optional<TokenData> find(const TextCache& cache, const fs::path& entry) {
    make_private(cache.directory);
    if (!is_entry(entry) || !has_data(entry)) return std::nullopt;  // it may be being written
    std::error_code ignored;
    try {
        TokenData data = load_data(entry);
        fs::last_write_time(entry, fs::file_time_type::clock::now(), ignored);
        return data;
    } catch (const IoError&) {  // damaged: made anew
        remove_data(entry);
        return std::nullopt;
    }
}

constexpr const char* kOwnCharacters = "characters";

fs::path entry_of(const TextCache& cache, const std::string& text, const std::string& tokenizer) {
    return cache.directory / checksum_of(fmt::format("1 {} {}", text, tokenizer));
}

}  // namespace

std::optional<fs::path> user_cache_directory() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && fs::path(cache).is_absolute()) return fs::path(cache) / "tapestry";
    const char* home = std::getenv("HOME");
    if (home == nullptr || !fs::path(home).is_absolute()) return std::nullopt;
    return fs::path(home) / ".cache" / "tapestry";
}

// Of its own characters a text is kept as such, for a tokenizer made of them to be found before the
// text is read through for it.
std::optional<TokenData> find_tokenized(const TextCache& cache, const std::string& text,
                                        const Tokenizer* tokenizer) {
    if (tokenizer == nullptr || tokenizer->kind() == "char") {
        std::optional<TokenData> data = find(cache, entry_of(cache, text, kOwnCharacters));
        const bool fits =
            data && (tokenizer == nullptr || tokenizer->hash() == data->tokenizer->hash());
        if (fits) return data;
    }
    if (tokenizer == nullptr) return std::nullopt;
    return find(cache, entry_of(cache, text, tokenizer->hash()));
}

TokenData keep_tokenized(const TextCache& cache, const std::string& text, DocumentReader& reader,
                         const Tokenizer& tokenizer, bool of_own_characters) {
    const fs::path entry =
        entry_of(cache, text, of_own_characters ? kOwnCharacters : tokenizer.hash());
    make_directories(cache.directory);
    make_private(cache.directory);
    write_data(entry, reader, tokenizer, {.permissions = 0600, .through_link = false});
    make_private(entry);
    if (reader.sources().front().hash != text) {
        remove_data(entry);
        fail<IoError>("{}: it changed while it was read", reader.sources().front().path);
    }
    TokenData data = load_data(entry);
    remove_oldest(cache.directory, cache.max_bytes);
    return data;
}

}  // namespace tapestry
