// A buffer of a file, cut at whole characters or at lines.
#include <tapestry/nn/data/documents.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/shown.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <span>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = std::size_t{1} << 20;
// The commonest way not to be UTF-8 and still be text.
std::string_view hint_for(std::string_view beginning) {
    const std::string_view mark = beginning.substr(0, 2);
    if (mark == "\xFF\xFE" || mark == "\xFE\xFF") {
        return "; it begins like UTF-16, which iconv -f UTF-16 -t UTF-8 converts";
    }
    return "; text must be UTF-8 (iconv converts it)";
}

// All bytes, but those of a last character that takes several: some of these may be missing.
std::size_t whole_characters(std::string_view text) {
    for (std::size_t last = text.size(); last > 0 && text.size() - last < 4;) {
        const auto byte = static_cast<unsigned char>(text[--last]);
        if (byte < 0x80) break;
        if (byte >= 0xC0) return last;
    }
    return text.size();
}

// What stands in the field; `place` begins the errors.
std::string field_of(std::string_view line, const std::string& field, const std::string& place) {
    try {
        const JsonTree tree(line);
        const JsonNode root = tree.root();
        require<IoError>(root.is(JsonKind::object), "{}: {} and not a JSON object", place,
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

// Links to files are followed, those to directories are not; what cannot be looked at is not left
// out in silence.
void add_files_in(const fs::path& directory, std::vector<fs::path>& files) {
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
            add_files_in(path, files);
        }
    }
}

std::vector<fs::path> files_in(const fs::path& directory) {
    std::vector<fs::path> files;
    add_files_in(directory, files);
    require<IoError>(!files.empty(), "{}: there is no file in it", shown(directory));
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

std::vector<fs::path> files_below(const std::vector<std::string>& paths) {
    std::vector<fs::path> files;
    for (const fs::path path : paths) {
        std::error_code ignored;  // a missing file is said by who opens it
        if (!fs::is_directory(path, ignored)) {
            files.push_back(path);
            continue;
        }
        const std::vector<fs::path> more = files_in(path);
        files.insert(files.end(), more.begin(), more.end());
    }
    return files;
}

void check_utf8(std::string_view text, const std::string& file, std::uint64_t offset) {
    if (const auto flaw = utf8::find_flaw(text)) {
        fail<IoError>("{}: not UTF-8 at byte {}: {}{}", file, offset + flaw->byte, flaw->what,
                      hint_for(offset == 0 ? text : ""));
    }
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
    const fs::path ending = path.extension();
    const bool is_json = options_.field && (ending == ".jsonl" || ending == ".ndjson");
    line_ = is_json ? 1 : 0;
    return true;
}

void DocumentReader::close() {
    sources_.push_back({name_, file_->size(), sum_->hex()});
    file_.reset();
}

// Puts what follows of the file behind what has not been handed on.
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
    if (begins && text.starts_with(utf8::kByteOrderMark))
        text.remove_prefix(utf8::kByteOrderMark.size());
    if (ends) close();
    return DocumentPiece{text, name_, begins, ends};
}

// Nothing where the line, or the document in it, is empty.
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

}  // namespace tapestry
