#include <tapestry/core/text/unicode.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
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

// ---- small letters -----------------------------------------------------------------------------

namespace {

// Unicode's Cased: letters with case, and what PropList.txt adds. Of the latter only those that
// is_case_ignorable() has not, which come first: ordinal indicators, Roman numerals, and letters in
// circles and squares.
bool is_cased(char32_t code) {
    constexpr std::pair<char32_t, char32_t> kOthers[] = {
        {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2160, 0x217F},  {0x24B6, 0x24E9},
        {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
    const Category c = category_of(code);
    return c == Category::Lu || c == Category::Ll || c == Category::Lt ||
           std::any_of(std::begin(kOthers), std::end(kOthers), [code](const auto& range) {
               return code >= range.first && code <= range.second;
           });
}

// Characters that a search for the end of a word passes over: marks, and punctuation within words.
bool is_case_ignorable(char32_t code) {
    constexpr std::u32string_view kWithinWords =
        U"'.:\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
    const Category c = category_of(code);
    return c == Category::Mn || c == Category::Me || c == Category::Cf || c == Category::Lm ||
           c == Category::Sk || kWithinWords.find(code) != kWithinWords.npos;
}

// Whether a letter precedes, and none follows.
bool ends_word(std::u32string_view text, std::size_t at) {
    std::size_t before = at;
    while (before > 0 && is_case_ignorable(text[before - 1])) --before;
    if (before == 0 || !is_cased(text[before - 1])) return false;
    std::size_t after = at + 1;
    while (after < text.size() && is_case_ignorable(text[after])) ++after;
    return after == text.size() || !is_cased(text[after]);
}

}  // namespace

char32_t lower_of(char32_t code) {
    const auto runs = case_runs();
    const auto after =
        std::upper_bound(runs.begin(), runs.end(), code,
                         [](char32_t c, const CaseRun& run) { return c < run.first; });
    if (after == runs.begin()) return code;
    const CaseRun& run = *(after - 1);
    const auto offset = static_cast<std::int32_t>(code - run.first);
    if (code > run.last || offset % run.step != 0) return code;
    return static_cast<char32_t>(static_cast<std::int32_t>(code) + run.distance);
}

std::u32string lower_case(std::u32string_view text) {
    constexpr char32_t kDottedI = U'\u0130', kDotAbove = U'\u0307', kSigma = U'\u03A3',
                       kFinalSigma = U'\u03C2';
    std::u32string small;
    small.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == kDottedI) {
            small += {U'i', kDotAbove};
        } else {
            small += text[i] == kSigma && ends_word(text, i) ? kFinalSigma : lower_of(text[i]);
        }
    }
    return small;
}

}  // namespace tapestry::unicode
