#include <tapestry/core/text/normalize.h>

#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tapestry::unicode {
namespace {

// Syllables are computed: S = B + 28 (21 L + V) + T. L, V and T count from these.
constexpr char32_t kSyllables = 0xAC00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11A7;
constexpr char32_t kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28;
constexpr char32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

constexpr bool is_below(char32_t code, char32_t first, char32_t count) {
    return code >= first && code - first < count;
}

class NumberReader {
public:
    explicit NumberReader(const char* text) : at_(text) {}
    bool done() const { return *at_ == '\0'; }
    std::uint32_t next() {
        std::uint32_t value = 0;
        for (;; ++at_) {
            const char c = *at_;
            if (c >= '0' && c <= '9')
                value = 32 * value + static_cast<std::uint32_t>(c - '0');
            else if (c >= 'a' && c <= 'v')
                value = 32 * value + static_cast<std::uint32_t>(c - 'a') + 10;
            else
                break;
        }
        constexpr std::string_view kLast = "ABCDEFGHIJKLMNOPQRSTUVWXYZ+-*/.,";
        return 32 * value + static_cast<std::uint32_t>(kLast.find(*at_++));
    }
    // 0, 1, 2, ... for 0, -1, 1, -2, ...; added to `to`, modulo 2^32.
    char32_t next_after(char32_t to) {
        const std::uint32_t zigzag = next();
        return to + ((zigzag >> 1) ^ (0 - (zigzag & 1)));
    }

private:
    const char* at_;
};

constexpr char32_t kUnicodeEnd = 0x110000;

class Tables {
public:
    static const Tables& get() {
        static const Tables& tables = *new Tables;
        return tables;
    }

    bool begins(char32_t code, NormalForm form) const {
        return code >= kUnicodeEnd || (flags_[code] & flag(form)) == 0;
    }
    int class_of(char32_t code) const {
        const auto after =
            std::upper_bound(classes_.begin(), classes_.end(), code,
                             [](char32_t c, const ClassRun& run) { return c < run.first; });
        if (after == classes_.begin() || code >= (after - 1)->end) return 0;
        return (after - 1)->combining_class;
    }
    // Appends the whole decomposition of a character.
    void decompose(char32_t code, std::u32string& to) const {
        if (is_below(code, kSyllables, kSyllableCount)) {
            const char32_t place = code - kSyllables, trailing = place % kTrailingCount;
            to += kLeading + place / (kTrailingCount * kVowelCount);
            to += kVowels + place / kTrailingCount % kVowelCount;
            if (trailing != 0) to += kTrailing + trailing;
            return;
        }
        const auto at =
            std::lower_bound(steps_.begin(), steps_.end(), code,
                             [](const Step& step, char32_t c) { return step.code < c; });
        if (at == steps_.end() || at->code != code) {
            to += code;
            return;
        }
        decompose(at->first, to);
        if (at->second != 0) decompose(at->second, to);
    }
    // The character that two compose to; 0 if there is none.
    char32_t composed(char32_t first, char32_t second) const {
        if (is_below(first, kLeading, kLeadingCount) && is_below(second, kVowels, kVowelCount)) {
            return kSyllables +
                   ((first - kLeading) * kVowelCount + second - kVowels) * kTrailingCount;
        }
        if (is_below(first, kSyllables, kSyllableCount) &&
            (first - kSyllables) % kTrailingCount == 0 &&
            is_below(second, kTrailing + 1, kTrailingCount - 1)) {
            return first + (second - kTrailing);
        }
        const std::pair<std::uint64_t, char32_t> wanted{key(first, second), 0};
        const auto at = std::lower_bound(pairs_.begin(), pairs_.end(), wanted);
        return at != pairs_.end() && at->first == wanted.first ? at->second : 0;
    }

private:
    struct Step {
        char32_t code, first, second;  // second 0: a single character
    };
    struct ClassRun {
        char32_t first, end;
        int combining_class;
    };

    static std::uint8_t flag(NormalForm form) { return form == NormalForm::nfc ? 1 : 2; }
    static std::uint64_t key(char32_t first, char32_t second) {
        return std::uint64_t{first} << 32 | second;
    }

    Tables() : flags_(kUnicodeEnd) {
        read_steps();
        read_classes();
        const auto mark = [this](char32_t first, char32_t count, std::uint8_t flags) {
            for (char32_t i = 0; i < count; ++i) flags_[first + i] |= flags;
        };
        for (const Step& step : steps_) mark(step.code, 1, flag(NormalForm::nfd));
        for (const auto& [pair, code] : pairs_) {
            mark(static_cast<char32_t>(pair), 1, flag(NormalForm::nfc));
        }
        for (const ClassRun& run : classes_) mark(run.first, run.end - run.first, 3);
        mark(kVowels, kVowelCount, flag(NormalForm::nfc));
        mark(kTrailing + 1, kTrailingCount - 1, flag(NormalForm::nfc));
        mark(kSyllables, kSyllableCount, flag(NormalForm::nfd));
    }
    void read_steps() {
        char32_t code = 0, first = 0, second = 0;
        for (NumberReader read(kDecompositions); !read.done();) {
            const std::uint32_t head = read.next(), kind = head % 4;
            code += head / 4;
            first = read.next_after(first);
            if (kind != 2) second = read.next_after(second);
            steps_.push_back({code, first, kind == 2 ? 0 : second});
            if (kind == 0) pairs_.emplace_back(key(first, second), code);
            if (kind != 0) flags_[code] |= flag(NormalForm::nfc);  // NFC does not keep it
        }
        std::sort(pairs_.begin(), pairs_.end());
    }
    void read_classes() {
        char32_t at = 0;
        for (NumberReader read(kCombiningClasses); !read.done();) {
            const char32_t first = at + read.next();
            at = first + read.next();
            classes_.push_back({first, at, static_cast<int>(read.next())});
        }
    }

    std::vector<std::uint8_t> flags_;  // by character: forms in which it does not begin a segment
    std::vector<Step> steps_;          // by code
    std::vector<ClassRun> classes_;    // ascending
    std::vector<std::pair<std::uint64_t, char32_t>> pairs_;  // key of both, what they compose to
};

// Marks in the order of their classes, between characters of class 0; a stable order.
void reorder(std::u32string& text, const Tables& tables) {
    std::vector<std::pair<int, char32_t>> marks;
    for (std::size_t begin = 0; begin < text.size();) {
        marks.clear();
        std::size_t end = begin;
        for (; end < text.size(); ++end) {
            const int combining_class = tables.class_of(text[end]);
            if (combining_class == 0) break;
            marks.emplace_back(combining_class, text[end]);
        }
        std::stable_sort(marks.begin(), marks.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t i = 0; i < marks.size(); ++i) text[begin + i] = marks[i].second;
        begin = end + 1;
    }
}

// Joins marks to the last character of class 0, unless one of the same or a higher class is
// between.
void compose(std::u32string& text, const Tables& tables) {
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::size_t starter = kNone, size = 0;
    int before = 0;  // the class of what precedes
    for (const char32_t code : text) {
        const int own = tables.class_of(code);
        const bool is_next = starter != kNone && starter + 1 == size;
        if (starter != kNone && (is_next || before < own)) {
            if (const char32_t both = tables.composed(text[starter], code)) {
                text[starter] = both;
                continue;
            }
        }
        if (own == 0) starter = size;
        before = own;
        text[size++] = code;
    }
    text.resize(size);
}

// Characters of fewer bytes, in UTF-8, begin segments: those before U+0300, or before À.
unsigned char first_byte(NormalForm form) { return form == NormalForm::nfc ? 0xCC : 0xC3; }

// The first character at or after `at` that does not begin a segment; text.size() if there is none.
// `before`, if not null: where the one before it begins.
std::size_t find_joined(std::string_view text, std::size_t at, NormalForm form,
                        std::size_t* before) {
    const Tables& tables = Tables::get();
    const unsigned char first = first_byte(form);
    while (at < text.size()) {
        std::size_t bytes = 1;
        if (static_cast<unsigned char>(text[at]) >= first) {
            const utf8::Step step = utf8::step(text, at);
            if (!tables.begins(step.code, form)) break;
            bytes = step.bytes;
        }
        const bool continues = (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
        if (before != nullptr && !continues) *before = at;
        at += bytes;
    }
    return at;
}

}  // namespace

bool begins_segment(char32_t code, NormalForm form) { return Tables::get().begins(code, form); }

bool is_surely_normal(std::string_view text, NormalForm form) {
    return find_joined(text, 0, form, nullptr) == text.size();
}

std::string normalize(std::string_view text, NormalForm form) {
    const Tables& tables = Tables::get();
    std::string result;
    std::u32string segment;
    for (std::size_t done = 0; done < text.size();) {
        std::size_t begin = done;
        const std::size_t joined = find_joined(text, done, form, &begin);
        if (joined == text.size()) {
            result += text.substr(done);
            break;
        }
        result += text.substr(done, begin - done);
        segment.clear();
        bool is_first = true;
        for (done = begin; done < text.size(); is_first = false) {
            const utf8::Step step = utf8::step(text, done);
            if (!is_first && tables.begins(step.code, form)) break;
            tables.decompose(step.code, segment);
            done += step.bytes;
        }
        reorder(segment, tables);
        if (form == NormalForm::nfc) compose(segment, tables);
        for (const char32_t code : segment) utf8::append(result, code);
    }
    return result;
}

}  // namespace tapestry::unicode
