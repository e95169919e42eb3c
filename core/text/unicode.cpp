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

// The categories of all code points, 1.1 MB, decoded at the first use: one load for a character.
const std::vector<Category>& categories() {
    static const auto& all = *[] {
        auto* const found = new std::vector<Category>;
        found->reserve(0x110000);
        for (const char* at = kCategoryRuns; *at != '\0';) {
            const int place = *at >= 'a' ? *at - 'a' + 26 : *at - 'A';
            std::size_t count = 0;
            for (++at; *at >= '0' && *at <= '9'; ++at) {
                count = 10 * count + static_cast<std::size_t>(*at - '0');
            }
            found->insert(found->end(), std::max<std::size_t>(count, 1),
                          static_cast<Category>(place));
        }
        return found;
    }();
    return all;
}

// Of the categories, in the order of their values.
constexpr std::string_view kNames = "CnLuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCo";

// The property White_Space beyond ASCII and the separators (PropList.txt).
constexpr char32_t kNextLine = 0x85;

}  // namespace

Category category_of(char32_t code) {
    return code < categories().size() ? categories()[code] : Category::Cn;
}

Kind kind_of(char32_t code) {
    if (code < 0x80) return kind_of_ascii(code);
    const Category category = category_of(code);
    if (category >= Category::Lu && category <= Category::Lo) return Kind::letter;
    if (category >= Category::Nd && category <= Category::No) return Kind::number;
    const bool is_space =
        (category >= Category::Zs && category <= Category::Zp) || code == kNextLine;
    return is_space ? Kind::space : Kind::other;
}

std::optional<Category> category_named(std::string_view name) {
    for (std::size_t i = 0; 2 * i < kNames.size(); ++i) {
        if (kNames.substr(2 * i, 2) == name) return static_cast<Category>(i);
    }
    return {};
}

std::uint32_t categories_named(std::string_view name) {
    std::uint32_t bits = 0;
    for (unsigned i = 0; i <= static_cast<unsigned>(Category::Co); ++i) {
        const std::string_view own = kNames.substr(2 * i, 2);
        if (own == name || own.substr(0, 1) == name) bits |= 1U << i;
    }
    return bits;
}

int width_of(char32_t code) {
    if (code < 0x80) return 1;
    const auto table = width_ranges();
    const auto after =
        std::upper_bound(table.begin(), table.end(), code,
                         [](char32_t c, const WidthRange& range) { return c < range.first; });
    return after == table.begin() || code > (after - 1)->last ? 1 : (after - 1)->columns;
}

}  // namespace tapestry::unicode
