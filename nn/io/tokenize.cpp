#include <tapestry/nn/io/tokenize.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/clock.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/model_files.h>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
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

// Entries are named by a checksum; anything else in the directory is not ours.
bool is_entry(const fs::path& path) {
    std::error_code ignored;
    const std::string name = path.filename().native();
    return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == name.npos &&
           fs::is_directory(fs::symlink_status(path, ignored));
}

// Entries removed concurrently by other processes are not an error.
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

// A process that has an entry open can still read it to its end, because removed files exist while
// they are open.
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

// A text may be private by its own permissions, its group's or its directory's, so only its reader
// may read the cached copy. Entries made before November 2026 were readable by all, and are below
// `directory` as well.
void make_private(const fs::path& directory) {
    std::error_code ignored;  // perhaps another user's
    fs::permissions(directory, fs::perms::group_all | fs::perms::others_all,
                    fs::perm_options::remove | fs::perm_options::nofollow, ignored);
}

std::optional<Corpus> find(const TextCache& cache, const fs::path& entry) {
    make_private(cache.directory);
    if (!is_entry(entry) || !has_data(entry)) return std::nullopt;  // it may still be being written
    std::error_code ignored;
    try {
        Corpus data = load_data(entry);
        fs::last_write_time(entry, fs::file_time_type::clock::now(), ignored);
        return data;
    } catch (const IoError&) {  // damaged: rebuilt
        remove_data(entry);
        return std::nullopt;
    }
}

constexpr const char* kOwnCharacters = "characters";

// The ids of documents also depend on the tokens that begin and separate them.
std::string cache_name(const Tokenizer& tokenizer) {
    std::string name = tokenizer.hash();
    if (const auto first = tokenizer.begin_of_text()) name += fmt::format(" begins {}", *first);
    const std::vector<std::int64_t>& ends = tokenizer.declared_ends();
    if (!ends.empty()) name += fmt::format(" ends {}", fmt::join(ends, " "));
    return name;
}

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

std::string hash_of_text(const std::vector<SourceFile>& sources) {
    if (sources.size() == 1 && !is_json_lines(sources.front().path)) return sources.front().hash;
    std::string all = "documents";
    for (const SourceFile& source : sources) {
        all += fmt::format(" {}{}", is_json_lines(source.path) ? "lines " : "", source.hash);
    }
    return checksum_of(all);
}

// A text tokenized by its own characters has a separate entry, so it can be found without reading
// the text to determine its tokenizer.
std::optional<Corpus> find_tokenized(const TextCache& cache, const std::string& text,
                                     const Tokenizer* tokenizer) {
    if (tokenizer == nullptr || tokenizer->kind() == "char") {
        std::optional<Corpus> data = find(cache, entry_of(cache, text, kOwnCharacters));
        const bool fits =
            data && (tokenizer == nullptr || tokenizer->hash() == data->tokenizer->hash());
        if (fits) return data;
    }
    if (tokenizer == nullptr) return std::nullopt;
    return find(cache, entry_of(cache, text, cache_name(*tokenizer)));
}

Corpus keep_tokenized(const TextCache& cache, const std::string& text, DocumentReader& reader,
                      const Tokenizer& tokenizer, bool of_own_characters) {
    const fs::path entry =
        entry_of(cache, text, of_own_characters ? kOwnCharacters : cache_name(tokenizer));
    make_directories(cache.directory);
    make_private(cache.directory);
    write_data(entry, reader, tokenizer, {.permissions = 0600, .through_link = false});
    make_private(entry);
    if (hash_of_text(reader.sources()) != text) {
        remove_data(entry);
        fail<IoError>("{}: it changed while it was read", reader.sources().front().path);
    }
    Corpus data = load_data(entry);
    remove_oldest(cache.directory, cache.max_bytes);
    return data;
}

namespace {

// Reads the files again for each purpose.
class Texts {
public:
    explicit Texts(const TokenizeOptions& options)
        : options_(options), files_(text_files(options.texts, options.files)) {}

    std::unique_ptr<DocumentReader> open(const std::string& purpose) const {
        if (options_.begun) options_.begun(purpose);
        return std::make_unique<DocumentReader>(
            files_, DocumentOptions{.field = options_.field, .progress = options_.progress});
    }

private:
    const TokenizeOptions& options_;
    std::vector<std::filesystem::path> files_;
};

void check_is_free(const std::string& out) {
    require<IoError>(!has_data(out),
                     "{}: already contains data; remove it or choose another directory", out);
    for (const char* const name : {kConfigName, kManifestName}) {
        require<IoError>(!is_there(fs::path(out) / name),
                         "{}: contains a model or a run ({}), whose tokenizer this would replace; "
                         "choose another directory",
                         out, name);
    }
    if (has_unfinished_data(out)) return;
    for (const char* const name : {kTokenizerName, "vocab.json", "merges.txt", kAddedTokensName}) {
        require<IoError>(!is_there(fs::path(out) / name),
                         "{}: contains a tokenizer ({}), which this could replace; choose another "
                         "directory",
                         out, name);
    }
}

// Data below a directory of texts would be texts the next time, unless patterns leave them out.
void check_outside_texts(const std::string& out, const TokenizeOptions& options) {
    if (!options.files.include.empty() || !options.files.exclude.empty()) return;
    for (const std::string& text : options.texts) {
        std::error_code ignored;  // reading it gives the reason
        require(!fs::is_directory(text, ignored) || !is_read_below(text, out),
                "tokenize: --out {} is in the directory of texts {}", shown(out), shown(text));
    }
}

// The directory for the data, locked before the texts are read: two tokenizations into one, or one
// and a training run, would mix their files. Removed if nothing was written.
class OutDirectory {
public:
    explicit OutDirectory(const std::string& path) : path_(path), made_(!is_there(path_)) {
        make_directories(path_);
        lock_.emplace(path_);
        check_is_free(path);
    }
    ~OutDirectory() {
        lock_.reset();
        std::error_code ignored;
        if (made_) fs::remove(path_, ignored);  // if it is empty
    }
    OutDirectory(const OutDirectory&) = delete;
    OutDirectory& operator=(const OutDirectory&) = delete;

private:
    fs::path path_;
    bool made_;
    std::optional<DirectoryLock> lock_;
};

std::unique_ptr<Tokenizer> learned(const TokenizeOptions& options, const Texts& texts,
                                   TokenizedFiles& summary) {
    const auto reader = texts.open("counting");
    const WordCounts words = words_of(*reader, options.sample);
    summary.wanted = options.vocab;
    summary.cut_share = words.cut_share();
    summary.sampling = words.sampling();
    const auto working = [&] {
        if (options.progress) options.progress(reader->bytes(), reader->bytes());
    };
    return std::make_unique<BytePairTokenizer>(train_byte_pairs(words, options.vocab, working));
}

std::unique_ptr<Tokenizer> tokenizer_for(const TokenizeOptions& options, const Texts& texts,
                                         TokenizedFiles& summary) {
    if (options.tokenizer == "chars") {
        return std::make_unique<CharTokenizer>(characters_of(*texts.open("counting")));
    }
    if (options.tokenizer == "bpe") return learned(options, texts, summary);
    std::error_code ignored;
    if (fs::is_regular_file(options.tokenizer, ignored)) {
        return read_json_tokenizer(options.tokenizer);
    }
    if (has_data(options.tokenizer)) return load_data_tokenizer(options.tokenizer);
    LoadedModel loaded = load_model(options.tokenizer);
    require_tokenizer(loaded, options.tokenizer);
    return std::move(loaded.tokenizer);
}

}  // namespace

TokenizedFiles tokenize_files(const std::string& out, const TokenizeOptions& options) {
    check_is_free(out);
    check_outside_texts(out, options);
    const Texts texts(options);
    const OutDirectory directory(out);
    TokenizedFiles summary;
    const auto tokenizer = tokenizer_for(options, texts, summary);
    const auto start = Clock::now();
    const auto reader = texts.open("encoding");
    summary.encoded = write_data(out, *reader, *tokenizer);
    summary.seconds = seconds_since(start);
    summary.bytes = static_cast<double>(reader->bytes());
    summary.unit = std::string(tokenizer->unit());
    summary.vocab = tokenizer->vocab_size();
    summary.kind = std::string(tokenizer->kind());
    return summary;
}

namespace {

std::string notes_on(const TokenizedFiles& files) {
    std::string notes;
    if (files.vocab < files.wanted) {
        notes += fmt::format("; {} were asked for, but no other pair of tokens occurs twice",
                             files.wanted);
    }
    if (files.cut_share >= 0.01) {
        notes += fmt::format(
            "; {:.0f}% of the text is in words of more than {} bytes, which were "
            "cut to learn from",
            100 * files.cut_share, WordCounts::kLongest);
    }
    if (files.sampling > 1) {
        notes += fmt::format(
            "; of words that come once, one in {} was learned from (there are more than {} MiB)",
            files.sampling, WordCounts::kMostBytes >> 20);
    }
    return notes;
}

}  // namespace

std::string to_text(const TokenizedFiles& files) {
    return fmt::format("{}, {:.1f} MB: {} {}s, {} {}{}",
                       pluralize(files.encoded.documents, "document"), files.bytes / 1e6,
                       files.encoded.ids, files.unit, files.vocab,
                       files.kind == "char" ? "different" : "in the vocabulary", notes_on(files));
}

}  // namespace tapestry
