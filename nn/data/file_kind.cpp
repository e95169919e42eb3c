#include <tapestry/nn/data/file_kind.h>

#include <tapestry/core/file.h>

#include <algorithm>
#include <array>
#include <span>

namespace tapestry {
namespace {

using namespace std::string_view_literals;

struct Signature {
    std::string_view bytes;
    std::string_view kind;
    bool may_be_text = false;  // a text could begin with it
};

constexpr std::array kSignatures{
    Signature{"SQLite format 3\0"sv, "an SQLite database (sqlite3 FILE .dump writes it as text)"},
    Signature{"version https://git-lfs.github.com/spec/"sv,
              "a Git LFS pointer; `git lfs pull` downloads the file it points to"},
    Signature{"PK\x03\x04"sv, "a zip archive"},
    Signature{"\x80\x02"sv, "a Python pickle"},
    Signature{"\x80\x03"sv, "a Python pickle"},
    Signature{"\x80\x04"sv, "a Python pickle"},
    Signature{"\x80\x05"sv, "a Python pickle"},
    Signature{"\x89HDF\r\n"sv, "an HDF5 file"},
    Signature{"\x93NUMPY"sv, "a NumPy array"},
    Signature{"\x1F\x8B"sv, "a gzip archive (gunzip unpacks it)"},
    Signature{"\xFD"
              "7zXZ\0"sv,
              "an xz archive (unxz unpacks it)"},
    Signature{"\x28\xB5\x2F\xFD"sv, "a zstd archive (unzstd unpacks it)"},
    Signature{"\x89PNG\r\n"sv, "a PNG image"},
    Signature{"\xFF\xD8\xFF"sv, "a JPEG image"},
    Signature{"\x7F"
              "ELF"sv,
              "a program"},
    Signature{"MThd\0\0"sv, "a MIDI file"},
    Signature{"GGUF"sv, "a GGUF file, for llama.cpp", true},
    Signature{"PAR1"sv, "a Parquet file", true},
    Signature{"BZh"sv, "a bzip2 archive (bunzip2 unpacks it)", true},
    Signature{"GIF8"sv, "a GIF image", true},
    Signature{"%PDF-"sv, "a PDF document (pdftotext extracts its text)", true},
};

// Whether nearly all bytes at position `at` of every `width` are zero, or nearly none.
enum class Zeros { none, some, all };

Zeros zeros_at(std::string_view text, std::size_t at, std::size_t width) {
    std::size_t zeros = 0, count = 0;
    for (std::size_t i = at; i < text.size(); i += width, ++count) zeros += text[i] == 0 ? 1 : 0;
    if (20 * zeros <= count) return Zeros::none;
    return 10 * zeros >= 6 * count ? Zeros::all : Zeros::some;
}

}  // namespace

std::string_view kind_of_file(std::string_view beginning, bool may_be_text) {
    for (const Signature& one : kSignatures) {
        if (beginning.starts_with(one.bytes) && !(may_be_text && one.may_be_text)) return one.kind;
    }
    return {};
}

std::string_view encoding_of(std::string_view text) {
    text = text.substr(0, kKindBytes);
    if (text.starts_with("\xFF\xFE\0\0"sv)) return "UTF-32";
    if (text.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
    if (text.starts_with("\xFF\xFE"sv)) return "UTF-16";
    if (text.starts_with("\xFE\xFF"sv)) return "UTF-16";
    if (text.find("\x1B$B"sv) != text.npos || text.find("\x1B$@"sv) != text.npos) {
        return "ISO-2022-JP";
    }
    // U+FEFF in UTF-7. Without it such a text is ASCII like any other.
    if (text.starts_with("+/v") && text.size() > 3 && "89+/"sv.find(text[3]) != "89+/"sv.npos) {
        return "UTF-7";
    }
    if (text.size() < 8) return {};
    const std::array four{zeros_at(text, 0, 4), zeros_at(text, 1, 4), zeros_at(text, 2, 4),
                          zeros_at(text, 3, 4)};
    using enum Zeros;
    if (four[0] == none && four[2] == all && four[3] == all) return "UTF-32LE";
    if (four[3] == none && four[0] == all && four[1] == all) return "UTF-32BE";
    const std::array two{zeros_at(text, 0, 2), zeros_at(text, 1, 2)};
    if (two[0] == none && two[1] == all) return "UTF-16LE";
    if (two[1] == none && two[0] == all) return "UTF-16BE";
    return {};
}

std::string beginning_of(const std::filesystem::path& path) {
    try {
        InputFile file(path);
        std::string text(std::min<std::size_t>(kKindBytes, file.size()), '\0');
        file.read(std::as_writable_bytes(std::span(text)));
        return text;
    } catch (const IoError&) {
        return {};
    }
}

}  // namespace tapestry
