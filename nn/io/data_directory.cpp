#include <tapestry/nn/io/data_directory.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/system_call.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/model_files.h>

#include <fcntl.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDataFormat = 1;
constexpr const char* kIdsName = "ids.bin";
constexpr const char* kFirstIdSetting = "bos_token_id";  // before each document
constexpr const char* kEndsSetting = "eos_token_id";     // that the tokenizer's directory declared
constexpr const char* kHuggingFaceName = "tokenizer.huggingface.json";

void write_tokenizer(const fs::path& directory, const Tokenizer& tokenizer,
                     const WriteOptions& options) {
    for (const NewFile& file : tokenizer_files(tokenizer, kTokenizerName)) {
        file.write(directory / file.name, options);
    }
    if (const auto* pairs = dynamic_cast<const BytePairTokenizer*>(&tokenizer)) {
        write_file_atomically(directory / kHuggingFaceName, tokenizer_json(*pairs), options);
        // Those of a tokenization that was interrupted would be read with these pairs.
        if (pairs->added_json().empty()) Folder(directory).remove(kAddedTokensName);
    }
}

std::string manifest(const EncodedDocuments& encoded, IdType type, const std::string& hash,
                     const Tokenizer& tokenizer, const std::vector<SourceFile>& sources) {
    JsonWriter json(2);
    json.object([&] {
        json.member("format", kDataFormat);
        json.member("dtype", name_of_value(type));
        json.member("ids", encoded.ids);
        json.member("documents", encoded.documents);
        json.member("ids_xxh3", hash);
        json.member("tokenizer", tokenizer.kind());
        json.member("vocab", tokenizer.vocab_size());
        json.member("tokenizer_xxh3", tokenizer.hash());
        if (const auto first = tokenizer.begin_of_text()) json.member(kFirstIdSetting, *first);
        if (!tokenizer.declared_ends().empty())
            json.member(kEndsSetting, tokenizer.declared_ends());
        json.list("sources", sources, [&](const SourceFile& source) {
            json.object("path", source.path, "bytes", source.bytes, "xxh3", source.hash);
        });
    });
    return json.text() + "\n";
}

std::shared_ptr<const FileDescriptor> open_to_read(const fs::path& path) {
    const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const int error = errno;
    if (number < 0) fail_to("read", shown(path), error);
    auto file = std::make_shared<FileDescriptor>(number);
    // Read-ahead would fetch bytes that the next batch does not need.
    ::posix_fadvise(file->number(), 0, 0, POSIX_FADV_RANDOM);
    return file;
}

// Throws with both hashes if they differ.
void check_hash(const std::string& what, const std::string& found, const std::string& recorded,
                const ConfigFile& file) {
    require<IoError>(found == recorded, "{}: its hash is {}, but {} lists {} (changed or damaged)",
                     what, found, file.path(), utf8::printable(recorded));
}

void check_format(const ConfigFile& file) {
    const auto format = file.get<std::int64_t>("format");
    require<IoError>(format == kDataFormat, "{}: data of format {}; this version reads {}",
                     file.path(), format, kDataFormat);
}

std::unique_ptr<Tokenizer> read_data_tokenizer(const SavedFiles& files, const ConfigFile& file) {
    check_format(file);
    const auto kind = file.get<std::string>("tokenizer");
    std::unique_ptr<Tokenizer> tokenizer;
    if (kind == "char") {
        tokenizer = read_char_tokenizer(files.path(kTokenizerName));
    } else if (kind == "json") {
        tokenizer = read_json_tokenizer(files.path(kTokenizerName));
    } else {
        tokenizer = read_byte_pair_tokenizer(files);
    }
    require<IoError>(tokenizer != nullptr, "{}: no vocab.json and merges.txt",
                     shown(files.directory()));
    check_hash(shown(files.directory()) + ": the tokenizer", tokenizer->hash(),
               file.get<std::string>("tokenizer_xxh3"), file);
    tokenizer->declare_ends(file.get<std::vector<std::int64_t>>(kEndsSetting, {}));
    return tokenizer;
}

void check_no_file(const fs::path& directory) {
    std::error_code ignored;
    require<IoError>(!fs::is_regular_file(directory, ignored),
                     "{}: a file, not a directory that `tapestry tokenize` has made; JSON Lines "
                     "must be called *.jsonl",
                     shown(directory));
}

// Versions before this one left out the token that begins texts.
void check_beginnings(const ConfigFile& file, const Tokenizer& tokenizer) {
    const auto first = tokenizer.begin_of_text();
    if (!first || (file.has(kFirstIdSetting) && file.get<std::int64_t>(kFirstIdSetting) == *first))
        return;
    fail<IoError>(
        "{}: the texts lack the token {} (id {}) that the tokenizer puts before each of them: an "
        "older version made this; tokenize them again",
        file.path(), utf8::quoted(tokenizer.decode({&*first, 1})), *first);
}

TokenIds open_ids(const fs::path& path, const ConfigFile& file, const Tokenizer& tokenizer) {
    const IdType type = value_in(file, "dtype", IdType::u8);
    require<IoError>(type != IdType::i64, "{}: \"dtype\" is \"i64\", which no file has",
                     file.path());
    InputFile(path).size();  // throws unless it is a file
    TokenIds ids(open_to_read(path), shown(path), type, tokenizer.vocab_size());
    const auto count = file.get<std::int64_t>("ids");
    require<IoError>(ids.size() == count, "{}: {} ids, but {} lists {}", shown(path), ids.size(),
                     file.path(), count);
    check_hash(shown(path), digest_of_file(path).checksum, file.get<std::string>("ids_xxh3"), file);
    return ids;
}

}  // namespace

bool has_data(const fs::path& directory) {
    std::error_code ignored;
    return fs::exists(directory / kDataName, ignored);
}

bool has_unfinished_data(const fs::path& directory) {
    return !has_data(directory) && is_there(directory / kIdsName);
}

void check_holds_no_data(const fs::path& directory) {
    require<IoError>(!has_data(directory),
                     "{}: contains data (`tapestry tokenize`), which this would break; choose "
                     "another directory",
                     shown(directory));
}

EncodedDocuments write_data(const fs::path& directory, DocumentReader& documents,
                            const Tokenizer& tokenizer, const WriteOptions& options) {
    make_directories(directory);
    remove_stale_temporaries(directory);
    const IdType type = id_type_for(tokenizer.vocab_size());
    EncodedDocuments encoded;
    const auto encode = [&](OutputFile& file) {
        encoded = encode_documents(documents, tokenizer, type,
                                   [&file](std::span<const std::byte> some) { file.write(some); });
    };
    const FileDigest ids = write_file_atomically(directory / kIdsName, encode, options);
    write_tokenizer(directory, tokenizer, options);
    write_file_atomically(directory / kDataName,
                          manifest(encoded, type, ids.checksum, tokenizer, documents.sources()),
                          options);
    return encoded;
}

void remove_data(const fs::path& directory) {
    try {
        const Folder parent(directory.parent_path());
        const std::string name = directory.filename().native();
        const auto folder = parent.find(name);
        if (!folder) return;
        for (const char* const file : {kDataName, kIdsName, kHuggingFaceName, kTokenizerName,
                                       "vocab.json", "merges.txt", kAddedTokensName}) {
            folder->remove(file);
        }
        remove_stale_temporaries(folder->path());
        parent.remove(name);
    } catch (const IoError&) {
    }
}

std::unique_ptr<Tokenizer> load_data_tokenizer(const fs::path& directory) {
    check_no_file(directory);
    const SavedFiles files(directory);
    return read_data_tokenizer(files, ConfigFile(directory / kDataName));
}

Corpus load_data(const fs::path& directory) {
    check_no_file(directory);
    const SavedFiles files(directory);
    const ConfigFile file(directory / kDataName);
    auto tokenizer = read_data_tokenizer(files, file);
    check_beginnings(file, *tokenizer);
    TokenIds ids = open_ids(directory / kIdsName, file, *tokenizer);
    std::string hash = data_hash(file.get<std::string>("ids_xxh3"), *tokenizer);
    return {std::move(tokenizer), std::move(ids), std::move(hash)};
}

}  // namespace tapestry
