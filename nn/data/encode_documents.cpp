#include <tapestry/nn/data/encode_documents.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/words.h>

#include <string>
#include <vector>

namespace tapestry {
namespace {

// Encodes pieces as they come; what a tokenizer cannot yet cut off waits for the next.
class PieceEncoder {
public:
    PieceEncoder(const Tokenizer& tokenizer, std::vector<std::int64_t>& ids)
        : tokenizer_(tokenizer), ids_(ids) {}

    void add(const DocumentPiece& piece) {
        if (piece.begins) position_ = 0;
        if (waiting_.empty()) {
            waiting_ = piece.text.substr(encode(piece, piece.text));
        } else {
            waiting_ += piece.text;
            waiting_.erase(0, encode(piece, waiting_));
        }
    }

private:
    // Returns how many bytes of the text are encoded.
    std::size_t encode(const DocumentPiece& piece, std::string_view text) {
        const std::size_t end = piece.ends ? text.size() : tokenizer_.piece_end(text);
        const std::size_t before = ids_.size();
        tokenizer_.encode_piece(
            {.text = text.substr(0, end), .what = piece.what, .position = position_}, ids_);
        position_ += static_cast<std::int64_t>(ids_.size() - before);
        return end;
    }

    const Tokenizer& tokenizer_;
    std::vector<std::int64_t>& ids_;
    std::string waiting_;
    std::int64_t position_ = 0;
};

// Documents are separated from the second on.
std::int64_t separator(const Tokenizer& tokenizer, const std::string& place) {
    const auto end = tokenizer.end_of_text();
    require(end.has_value(),
            "{}: a second document, and the tokenizer has no end-of-text {} to put before it",
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

CharTokenizer characters_of(DocumentReader& documents) {
    std::vector<char> occurs(0x110000);  // not of bool: a load and no shifts for each character
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
