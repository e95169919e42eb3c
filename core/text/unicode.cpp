#include <tapestry/core/text/unicode.h>

#include <algorithm>
#include <vector>

namespace tapestry::unicode {
namespace {

constexpr bool lies_in(char32_t code, char32_t first, char32_t last) {
    return code >= first && code <= last;
}

// Most text is ASCII and needs no table.
constexpr Kind kind_of_ascii(char32_t code) {
    if (lies_in(code, U'a', U'z') || lies_in(code, U'A', U'Z')) return Kind::letter;
    if (lies_in(code, U'0', U'9')) return Kind::number;
    return code == U' ' || lies_in(code, U'\t', U'\r') ? Kind::space : Kind::other;
}

// The range that holds `code`, or null.
template <class R>
const R* find_range(std::span<const R> table, char32_t code) {
    const auto after = std::upper_bound(table.begin(), table.end(), code,
                                        [](char32_t c, const R& range) { return c < range.first; });
    if (after == table.begin() || code > (after - 1)->last) return nullptr;
    return &*(after - 1);
}

// The kinds of the first 65,536 code points: in a text of ideographs one load instead of ten
// comparisons. Made of the ranges at the first use.
const std::vector<Kind>& kinds_of_basic_plane() {
    static const auto& all = *[] {
        auto* const kinds = new std::vector<Kind>(0x10000, Kind::other);
        for (const Range& range : ranges()) {
            for (char32_t code = range.first; code <= range.last && code < kinds->size(); ++code) {
                (*kinds)[code] = range.kind;
            }
        }
        return kinds;
    }();
    return all;
}

}  // namespace

Kind kind_of(char32_t code) {
    if (code < 0x80) return kind_of_ascii(code);
    if (code < 0x10000) return kinds_of_basic_plane()[code];
    const Range* found = find_range(ranges(), code);
    return found == nullptr ? Kind::other : found->kind;
}

int width_of(char32_t code) {
    if (code < 0x80) return 1;
    const WidthRange* found = find_range(width_ranges(), code);
    return found == nullptr ? 1 : found->columns;
}

}  // namespace tapestry::unicode
