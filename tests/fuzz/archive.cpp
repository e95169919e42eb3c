#include <tapestry/tests/fuzz/archive.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

namespace tapestry::fuzz {
namespace {

constexpr std::array<std::string_view, 5> kKinds{"file", "link", "hard", "fifo", "dir"};

// Removes and returns the text before `separator`, and removes the separator.
std::string_view take_until(std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
}

template <class T>
T number(std::string_view text, int base, T otherwise) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc{} && end != text.data() ? value : otherwise;
}

std::string escape(std::string_view path) {
    std::string text;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= ' ' || byte == '%' || byte >= 0x7f) {
            text += fmt::format("%{:02x}", byte);
        } else {
            text += c;
        }
    }
    return text;
}

std::string unescape(std::string_view text) {
    std::string path;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escaped = text[i] == '%' && i + 2 < text.size();
        path +=
            escaped ? static_cast<char>(number(text.substr(i + 1, 2), 16, unsigned{'_'})) : text[i];
        if (escaped) i += 2;
    }
    return path;
}

Entry take_entry(EntryKind kind, std::string_view header, std::string_view& rest) {
    Entry entry{.kind = kind};
    entry.mode = number(take_until(header, ' '), 8, 0644U) & 0777U;
    const std::size_t length = number(take_until(header, ' '), 10, std::size_t{0});
    entry.path = unescape(header.substr(0, kMaxPath));
    const std::size_t present = std::min(length, rest.size());
    entry.contents = rest.substr(0, std::min(present, kMaxContents));
    rest.remove_prefix(present);
    if (rest.starts_with('\n')) rest.remove_prefix(1);
    return entry;
}

}  // namespace

Archive decode(std::string_view bytes) {
    Archive archive;
    while (!bytes.empty() && archive.entries.size() < kMaxEntries) {
        std::string_view line = take_until(bytes, '\n');
        const std::string_view word = take_until(line, ' ');
        if (word == "run") {
            archive.readers = number(take_until(line, ' '), 16, archive.readers);
            archive.writer = number(take_until(line, ' '), 10, archive.writer);
            archive.step = number(line, 10, archive.step);
        }
        const auto kind = std::find(kKinds.begin(), kKinds.end(), word);
        if (kind == kKinds.end()) continue;
        archive.entries.push_back(
            take_entry(static_cast<EntryKind>(kind - kKinds.begin()), line, bytes));
    }
    return archive;
}

std::string encode(const Archive& archive) {
    std::string text =
        fmt::format("run {:x} {} {}\n", archive.readers, archive.writer, archive.step);
    for (const Entry& entry : archive.entries) {
        text += fmt::format("{} {:o} {} {}\n", kKinds[static_cast<std::size_t>(entry.kind)],
                            entry.mode & 0777U, entry.contents.size(), escape(entry.path));
        text += entry.contents;
        text += '\n';
    }
    return text;
}

}  // namespace tapestry::fuzz
