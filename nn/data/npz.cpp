// .npz: a ZIP archive of .npy files, without compression. Source: PKWARE's APPNOTE.TXT 6.3. The
// archive's directory, at its end, has names, sizes and places; what the entries themselves say is
// only skipped, because NumPy leaves sizes out there.
#include <tapestry/nn/data/npy.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/npy_header.h>
#include <tapestry/ops/check.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

constexpr std::size_t kLocalHeader = 30, kDirectoryEntry = 46, kEndRecord = 22;
constexpr std::uint32_t kLocal = 0x04034b50, kEntry = 0x02014b50, kEndMark = 0x06054b50;
constexpr std::uint64_t kMaxDirectory = 100 << 20;

// CRC-32 of ZIP: the polynomial 0xedb88320.
class ZipChecksum {
public:
    void add(std::span<const std::byte> bytes) {
        static const auto table = [] {
            std::array<std::uint32_t, 256> made{};
            for (std::uint32_t i = 0; i < 256; ++i) {
                made[i] = i;
                for (int bit = 0; bit < 8; ++bit) {
                    made[i] = made[i] >> 1 ^ (made[i] & 1 ? 0xedb88320 : 0);
                }
            }
            return made;
        }();
        for (const std::byte b : bytes) {
            state_ = table[(state_ ^ std::to_integer<std::uint32_t>(b)) & 0xff] ^ state_ >> 8;
        }
    }
    std::uint32_t value() const { return ~state_; }

private:
    std::uint32_t state_ = ~std::uint32_t{0};
};

// Little-endian numbers in bytes whose length was checked.
std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
    std::uint64_t x = 0;
    for (std::size_t i = size; i-- > 0;) x = x << 8 | static_cast<unsigned char>(bytes[at + i]);
    return x;
}

void put_number(std::string& bytes, std::uint64_t x, int size) {
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(x >> 8 * i & 0xff);
}

std::string take(InputFile& file, std::uint64_t bytes) {
    std::string text(static_cast<std::size_t>(bytes), '\0');
    file.read(std::as_writable_bytes(std::span(text)));
    return text;
}

struct ZipEntry {
    std::string name;
    std::uint64_t size = 0, place = 0;
    std::uint32_t checksum = 0;
};

// Replaces sizes and places of 0xffffffff by those of the ZIP64 extra field.
void read_zip64(const std::string& what, std::string_view extra,
                std::uint64_t* const (&fields)[3]) {
    while (extra.size() >= 4) {
        const std::uint64_t id = number_at(extra, 0, 2), size = number_at(extra, 2, 2);
        if (size > extra.size() - 4) break;
        std::string_view values = extra.substr(4, static_cast<std::size_t>(size));
        for (std::uint64_t* const field : fields) {
            if (id != 1 || *field != 0xffffffff) continue;
            require<IoError>(values.size() >= 8, "{}: damaged: a ZIP64 size is missing", what);
            *field = number_at(values, 0, 8);
            values.remove_prefix(8);
        }
        extra.remove_prefix(4 + static_cast<std::size_t>(size));
    }
}

struct Directory {
    std::uint64_t count = 0;
    std::string bytes;
};

Directory read_directory(const std::string& what, const std::filesystem::path& path) {
    InputFile file(path);
    const std::uint64_t tail = std::min<std::uint64_t>(file.size(), 0xffff + kEndRecord);
    file.skip(file.size() - tail);
    const std::string end = take(file, tail);
    std::size_t at = end.size() < kEndRecord ? std::string::npos : end.size() - kEndRecord;
    const auto is_end = [&] {
        return number_at(end, at, 4) == kEndMark &&
               number_at(end, at + 20, 2) == end.size() - at - kEndRecord;
    };
    while (at != std::string::npos && !is_end()) at = at == 0 ? std::string::npos : at - 1;
    require<IoError>(at != std::string::npos, "{}: not a .npz file", what);
    const std::uint64_t count = number_at(end, at + 10, 2), size = number_at(end, at + 12, 4),
                        begin = number_at(end, at + 16, 4);
    require<IoError>(count < 0xffff && begin < 0xffffffff,
                     "{}: a directory of a ZIP64 archive is not supported", what);
    require<IoError>(size <= kMaxDirectory && begin <= file.size() && size <= file.size() - begin,
                     "{}: damaged: a directory of {} bytes at {} in a file of {}", what, size,
                     begin, file.size());
    InputFile again(path);
    again.skip(begin);
    return {count, take(again, size)};
}

std::vector<ZipEntry> entries_of(const std::string& what, const std::filesystem::path& path) {
    const Directory directory = read_directory(what, path);
    std::string_view rest = directory.bytes;
    std::vector<ZipEntry> entries;
    for (std::uint64_t i = 0; i < directory.count; ++i) {
        const bool whole = rest.size() >= kDirectoryEntry && number_at(rest, 0, 4) == kEntry;
        require<IoError>(whole, "{}: damaged: entry {} of its directory", what, i);
        const std::uint64_t flags = number_at(rest, 8, 2), method = number_at(rest, 10, 2);
        const auto name = static_cast<std::size_t>(number_at(rest, 28, 2)),
                   extra = static_cast<std::size_t>(number_at(rest, 30, 2)),
                   comment = static_cast<std::size_t>(number_at(rest, 32, 2));
        require<IoError>(rest.size() - kDirectoryEntry >= name + extra + comment,
                         "{}: damaged: entry {} of its directory", what, i);
        ZipEntry entry{std::string(rest.substr(kDirectoryEntry, name)), number_at(rest, 24, 4),
                       number_at(rest, 42, 4), static_cast<std::uint32_t>(number_at(rest, 16, 4))};
        std::uint64_t stored = number_at(rest, 20, 4);
        read_zip64(what, rest.substr(kDirectoryEntry + name, extra),
                   {&entry.size, &stored, &entry.place});
        const std::string quoted = utf8::quoted(entry.name);
        require<IoError>((flags & 1) == 0, "{}: {} is encrypted", what, quoted);
        require<IoError>(method == 0 && stored == entry.size,
                         "{}: {} is compressed; np.savez writes a file that is not", what, quoted);
        require<IoError>(entry.name.size() > 4 && entry.name.ends_with(".npy"),
                         "{}: {} is no .npy file", what, quoted);
        entries.push_back(std::move(entry));
        rest.remove_prefix(kDirectoryEntry + name + extra + comment);
    }
    return entries;
}

Tensor read_entry(const std::string& what, const std::filesystem::path& path,
                  const ZipEntry& entry) {
    InputFile file(path);
    const std::string of = what + ", " + utf8::quoted(entry.name);
    require<IoError>(entry.place <= file.size() && file.size() - entry.place >= kLocalHeader,
                     "{}: damaged: it begins at {} in a file of {}", of, entry.place, file.size());
    file.skip(entry.place);
    const std::string header = take(file, kLocalHeader);
    require<IoError>(number_at(header, 0, 4) == kLocal, "{}: damaged: it does not begin at {}", of,
                     entry.place);
    const std::uint64_t before = number_at(header, 26, 2) + number_at(header, 28, 2);
    const std::uint64_t rest = file.size() - entry.place - kLocalHeader;
    require<IoError>(before <= rest && entry.size <= rest - before,
                     "{}: damaged: the file ends "
                     "before it",
                     of);
    file.skip(before);
    ZipChecksum checksum;
    Tensor x = npy::read_array(
        of,
        [&](std::span<std::byte> to) {
            file.read(to);
            checksum.add(to);
        },
        entry.size);
    require<IoError>(checksum.value() == entry.checksum, "{}: damaged: its checksum differs", of);
    return x;
}

}  // namespace

NamedTensors read_npz(const std::filesystem::path& path) {
    const std::string what = shown(path);
    NamedTensors tensors;
    std::set<std::string> names;
    std::uint64_t left = InputFile(path).size();
    for (const ZipEntry& entry : entries_of(what, path)) {
        // Any number of entries may name the same bytes, and memory would hold them as often.
        require<IoError>(entry.size <= left, "{}: damaged: its entries overlap", what);
        left -= entry.size;
        std::string name = entry.name.substr(0, entry.name.size() - 4);
        require<IoError>(names.insert(name).second, "{}: {} is there twice", what,
                         utf8::quoted(name));
        tensors.emplace_back(std::move(name), read_entry(what, path, entry));
    }
    return tensors;
}

FileDigest write_npz(const std::filesystem::path& path, const NamedTensors& tensors,
                     const WriteOptions& options) {
    std::set<std::string> names;
    std::uint64_t total = kEndRecord;
    for (const auto& [name, x] : tensors) {
        require(!name.empty() && name.size() < 1000 && !utf8::find_flaw(name),
                "write_npz: {} cannot be a name", utf8::quoted(name));
        require(names.insert(name).second, "write_npz: the name {} is given twice",
                utf8::quoted(name));
        check_defined("write_npz", x);
        total += npy::header_text(x).size() + x.bytes() + kLocalHeader + kDirectoryEntry +
                 2 * (name.size() + 4);
    }
    require(tensors.size() < 0xffff && total < 0xffffffff,
            "write_npz: {} tensors of {} bytes; at most 65534 and 4 GB fit", tensors.size(), total);
    const auto write = [&](OutputFile& file) {
        std::string directory;
        std::uint64_t place = 0;
        for (const auto& [name, tensor] : tensors) {
            const Tensor x = dense(tensor);
            const std::string start = npy::header_text(x), entry = name + ".npy";
            ZipChecksum checksum;
            checksum.add(std::as_bytes(std::span(start)));
            checksum.add(bytes_of(x));
            std::string common;  // of both headers: version, UTF-8, stored, 1 January 1980
            for (const int number : {20, 0x800, 0, 0, 0x21})
                put_number(common, static_cast<std::uint64_t>(number), 2);
            put_number(common, checksum.value(), 4);
            put_number(common, start.size() + x.bytes(), 4);
            put_number(common, start.size() + x.bytes(), 4);
            put_number(common, entry.size(), 2);
            put_number(common, 0, 2);
            std::string local;
            put_number(local, kLocal, 4);
            local += common + entry;
            file.write(local);
            file.write(start);
            file.write(bytes_of(x));
            put_number(directory, kEntry, 4);
            put_number(directory, 20, 2);
            directory += common;
            put_number(directory, 0, 6);  // no comment, first disk, binary
            put_number(directory, 0, 4);
            put_number(directory, place, 4);
            directory += entry;
            place += local.size() + start.size() + x.bytes();
        }
        std::string end;
        put_number(end, kEndMark, 4);
        put_number(end, 0, 4);
        put_number(end, tensors.size(), 2);
        put_number(end, tensors.size(), 2);
        put_number(end, directory.size(), 4);
        put_number(end, place, 4);
        put_number(end, 0, 2);
        file.write(directory);
        file.write(end);
    };
    return write_file_atomically(path, write, options);
}

}  // namespace tapestry
