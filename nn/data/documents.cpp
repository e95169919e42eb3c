// A file buffer, cut at whole characters or at lines, and encoding of the pieces.
#include <tapestry/nn/data/documents.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/file_kind.h>
#include <tapestry/nn/data/words.h>

#include <algorithm>
#include <span>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = std::size_t{1} << 20;

// Length of the text without a multi-byte last character, which may be incomplete.
std::size_t whole_characters(std::string_view text) {
    for (std::size_t last = text.size(); last > 0 && text.size() - last < 4;) {
        const auto byte = static_cast<unsigned char>(text[--last]);
        if (byte < 0x80) break;
        if (byte >= 0xC0) return last;
    }
    return text.size();
}

// The string in the field; `place` begins the error messages.
std::string field_of(std::string_view line, const std::string& field, const std::string& place) {
    try {
        const JsonTree tree(line);
        const JsonNode root = tree.root();
        require<IoError>(root.is(JsonKind::object), "{}: expected a JSON object, got {}", place,
                         name_of(root.kind()));
        const auto found = root.find(field);
        require<IoError>(found.has_value(), "{}: no field {}", place, utf8::quoted(field));
        require<IoError>(found->is(JsonKind::string), "{}: the field {} is {}, not a string", place,
                         utf8::quoted(field), name_of(found->kind()));
        return found->get<std::string>();
    } catch (const JsonError& error) {
        fail<IoError>("{}: {}", place, error.what());
    }
}

// Follows links to files, but not to directories; an entry that cannot be examined is an error.
void add_files_in(const fs::path& directory, std::vector<fs::path>& files,
                  const SkippedEntry& skipped) {
    std::error_code error;
    const std::vector<std::string> names = names_in(directory, error);
    require<IoError>(!error, "cannot read {}: {}", shown(directory), error.message());
    for (const std::string& name : names) {
        if (name.starts_with('.')) continue;
        const fs::path path = directory / name;
        const fs::file_status status = fs::status(path, error);
        require<IoError>(fs::status_known(status), "cannot read {}: {}", shown(path),
                         error.message());
        if (fs::is_regular_file(status)) {
            files.push_back(path);
        } else if (fs::is_directory(status) && !fs::is_symlink(path)) {
            add_files_in(path, files, skipped);
        } else if (skipped && status.type() == fs::file_type::not_found) {
            skipped(path, "a link to a file that does not exist");
        } else if (skipped && fs::is_directory(status)) {
            skipped(path, "a link to a directory, which is not followed; name it itself");
        } else if (skipped) {
            skipped(path, "neither a file nor a directory");
        }
    }
}

std::vector<fs::path> files_in(const fs::path& directory, const SkippedEntry& skipped) {
    std::vector<fs::path> files;
    add_files_in(directory, files, skipped);
    require<IoError>(!files.empty(), "{}: contains no files", shown(directory));
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

std::vector<fs::path> files_below(const std::vector<std::string>& paths,
                                  const SkippedEntry& skipped) {
    std::vector<fs::path> files;
    for (const fs::path path : paths) {
        std::error_code ignored;  // opening a missing file reports it
        if (!fs::is_directory(path, ignored)) {
            files.push_back(path);
            continue;
        }
        const std::vector<fs::path> more = files_in(path, skipped);
        files.insert(files.end(), more.begin(), more.end());
    }
    return files;
}

void check_utf8(std::string_view text, const std::string& file, std::uint64_t offset) {
    const std::string_view beginning = offset == 0 ? text.substr(0, kKindBytes) : "";
    const auto flaw = utf8::find_flaw(text);
    const std::string_view kind = kind_of_file(beginning, !flaw);
    require<NotTextError>(kind.empty(), "{}: not text, but {}", file, kind);
    if (const std::string_view encoding = encoding_of(beginning); !encoding.empty()) {
        fail<NotTextError>(
            "{}: the text is {}, and must be UTF-8; iconv -f {} -t UTF-8 converts it", file,
            encoding, encoding);
    }
    if (flaw) {
        fail<NotTextError>("{}: not UTF-8 at byte {}: {}; text must be UTF-8 (iconv converts it)",
                           file, offset + flaw->byte, flaw->what);
    }
}

bool is_json_lines(const fs::path& file) {
    const fs::path ending = file.extension();
    return ending == ".jsonl" || ending == ".ndjson";
}

std::string column_name(std::string_view field) {
    constexpr std::string_view kBlanks = " \t\r";
    const std::size_t begin = std::min(field.find_first_not_of(kBlanks), field.size());
    std::string name(field.substr(begin));
    name.erase(name.find_last_not_of(kBlanks) + 1);
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return name;
}

DocumentReader::DocumentReader(std::vector<fs::path> files, DocumentOptions options)
    : files_(std::move(files)), options_(std::move(options)) {
    for (const fs::path& file : files_) bytes_ += InputFile(file).size();
}

DocumentReader::~DocumentReader() = default;

std::optional<DocumentPiece> DocumentReader::next() {
    while (file_ || open_next()) {
        std::optional<DocumentPiece> piece = line_ > 0 ? next_line() : next_block();
        if (piece && !piece->text.empty()) {
            any_text_ = true;
            return piece;
        }
    }
    require<IoError>(any_text_, "{}",
                     files_.size() == 1
                         ? shown(files_[0]) + ": the file is empty"
                         : fmt::format("there is no text in the {} files", files_.size()));
    return std::nullopt;
}

bool DocumentReader::open_next() {
    if (sources_.size() == files_.size()) return false;
    const fs::path& path = files_[sources_.size()];
    file_ = std::make_unique<InputFile>(path);
    sum_ = std::make_unique<Checksum>();
    name_ = path.string();
    left_ = file_->size();
    offset_ = 0;
    used_ = 0;
    buffer_.clear();
    line_ = options_.field && is_json_lines(path) ? 1 : 0;
    return true;
}

void DocumentReader::close() {
    sources_.push_back({name_, file_->size(), sum_->hex()});
    file_.reset();
}

// Appends the next bytes of the file to those not returned yet.
void DocumentReader::fill() {
    buffer_.erase(0, used_);
    offset_ += used_;
    used_ = 0;
    const std::size_t before = buffer_.size();
    const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(left_, kBlock));
    buffer_.resize(before + more);
    const auto bytes = std::as_writable_bytes(std::span(buffer_)).subspan(before);
    file_->read(bytes);
    sum_->add(bytes);
    left_ -= more;
    bytes_read_ += more;
    if (options_.progress) options_.progress(bytes_read_, bytes_);
}

std::optional<DocumentPiece> DocumentReader::next_block() {
    const bool begins = offset_ + used_ == 0;
    fill();
    const bool ends = left_ == 0;
    used_ = ends ? buffer_.size() : whole_characters(buffer_);
    std::string_view text = std::string_view(buffer_).substr(0, used_);
    check_utf8(text, shown(name_), offset_);
    if (begins) text.remove_prefix(utf8::mark_bytes(text));
    if (ends) close();
    return DocumentPiece{text, name_, begins, ends};
}

// Empty if the line, or its document, is empty.
std::optional<DocumentPiece> DocumentReader::next_line() {
    std::size_t end = buffer_.find('\n', used_);
    while (end == std::string::npos && left_ > 0) {
        const std::size_t known = buffer_.size() - used_;
        fill();
        end = buffer_.find('\n', known);
    }
    const bool is_last = end == std::string::npos;
    const std::string_view line =
        std::string_view(buffer_).substr(used_, (is_last ? buffer_.size() : end) - used_);
    used_ += line.size() + (is_last ? 0 : 1);
    const std::string place = fmt::format("{}:{}", name_, line_++);
    const bool is_blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
    document_ = is_blank ? "" : field_of(line, *options_.field, place);
    if (is_last) close();
    return DocumentPiece{document_, place, true, true};
}

// ---- to ids -------------------------------------------------------------------------------------

namespace {

// Encodes pieces as they come; text that the tokenizer cannot cut off yet waits for the next piece.
class PieceEncoder {
public:
    PieceEncoder(const Tokenizer& tokenizer, std::vector<std::int64_t>& ids)
        : tokenizer_(tokenizer), ids_(ids) {}

    void add(const DocumentPiece& piece) {
        if (piece.begins) position_ = 0, is_begun_ = false;
        if (waiting_.empty()) {
            waiting_ = piece.text.substr(encode(piece, piece.text));
        } else {
            waiting_ += piece.text;
            // Looked through again only when it has doubled: a text without a cut takes linear
            // time.
            if (!piece.ends && waiting_.size() < 2 * tried_) return;
            waiting_.erase(0, encode(piece, waiting_));
        }
        tried_ = waiting_.size();
    }

private:
    // Returns the number of bytes encoded.
    std::size_t encode(const DocumentPiece& piece, std::string_view text) {
        const std::size_t end = piece.ends ? text.size() : tokenizer_.piece_end(text);
        const std::size_t before = ids_.size();
        tokenizer_.encode_piece(
            {.text = text.substr(0, end), .what = piece.what, .position = position_}, ids_);
        position_ += static_cast<std::int64_t>(ids_.size() - before);
        if (!is_begun_ && (ids_.size() > before || piece.ends)) {
            tokenizer_.begin_text(ids_, before);
            is_begun_ = true;
        }
        return end;
    }

    const Tokenizer& tokenizer_;
    std::vector<std::int64_t>& ids_;
    std::string waiting_;
    std::size_t tried_ = 0;  // bytes of it that have no cut
    std::int64_t position_ = 0;
    bool is_begun_ = true;  // with the token that begins texts, if there is one
};

// The separator before every document but the first.
std::int64_t separator(const Tokenizer& tokenizer, const std::string& place) {
    const auto end = tokenizer.end_of_text();
    require(end.has_value(),
            "{}: a second document, but the tokenizer has no end-of-text {} to put before it",
            place, tokenizer.unit());
    return *end;
}

}  // namespace

EncodedDocuments encode_documents(DocumentReader& documents, const Tokenizer& tokenizer,
                                  IdType type,
                                  const std::function<void(std::span<const std::byte>)>& write) {
    EncodedDocuments result;
    std::vector<std::int64_t> ids;
    std::vector<std::byte> bytes;
    PieceEncoder encoder(tokenizer, ids);
    while (const auto piece = documents.next()) {
        if (piece->begins && result.documents++ > 0) {
            ids.push_back(separator(tokenizer, piece->what));
        }
        encoder.add(*piece);
        pack_ids(ids, type, bytes);
        write(bytes);
        result.ids += static_cast<std::int64_t>(ids.size());
        ids.clear();
        bytes.clear();
    }
    return result;
}

std::string data_hash(const std::string& hash_of_ids, const Tokenizer& tokenizer) {
    return checksum_of(hash_of_ids + " " + tokenizer.hash());
}

CharTokenizer characters_of(DocumentReader& documents) {
    std::vector<char> occurs(0x110000);  // not bool: one load without shifts per character
    std::int64_t count = 0;
    while (const auto piece = documents.next()) {
        count += piece->begins ? 1 : 0;
        for (std::size_t at = 0; at < piece->text.size();) {
            const auto byte = static_cast<unsigned char>(piece->text[at]);
            const utf8::Step here = byte < 0x80 ? utf8::Step{byte} : utf8::step(piece->text, at);
            occurs[here.code] = 1;
            at += here.bytes;
        }
    }
    if (count > 1) occurs[CharTokenizer::kEndOfText] = 1;
    std::u32string vocab;
    for (char32_t code = 0; code < occurs.size(); ++code) {
        if (occurs[code] != 0) vocab.push_back(code);
    }
    return CharTokenizer(std::move(vocab));
}

WordCounts words_of(DocumentReader& documents, std::uint64_t sample) {
    WordCounts words;
    const double share = static_cast<double>(sample) / static_cast<double>(documents.bytes());
    double seen = 0, taken = 0;
    while (const auto piece = documents.next()) {
        const auto bytes = static_cast<double>(piece->text.size());
        if (taken <= share * seen) {
            words.add(piece->text);
            taken += bytes;
        }
        seen += bytes;
    }
    return words;
}

}  // namespace tapestry
