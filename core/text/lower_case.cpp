#include <tapestry/core/text/lower_case.h>

#include <tapestry/core/text/unicode.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace tapestry::unicode {
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
