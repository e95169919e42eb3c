#include <tapestry/nn/data/unicode.h>

#include <algorithm>

namespace tapestry::unicode {
namespace {

constexpr bool lies_in(char32_t code, char32_t first, char32_t last) {
    return code >= first && code <= last;
}

// Most text is ASCII and need not be looked up.
constexpr Kind kind_of_ascii(char32_t code) {
    if (lies_in(code, U'a', U'z') || lies_in(code, U'A', U'Z')) return Kind::letter;
    if (lies_in(code, U'0', U'9')) return Kind::number;
    return code == U' ' || lies_in(code, U'\t', U'\r') ? Kind::space : Kind::other;
}

}  // namespace

Kind kind_of(char32_t code) {
    if (code < 0x80) return kind_of_ascii(code);
    const std::span<const Range> table = ranges();
    const auto after =
        std::upper_bound(table.begin(), table.end(), code,
                         [](char32_t c, const Range& range) { return c < range.first; });
    const Range& found = *(after - 1);  // the table begins within ASCII
    return code <= found.last ? found.kind : Kind::other;
}

}  // namespace tapestry::unicode
