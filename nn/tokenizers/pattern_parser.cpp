// Compiles patterns. Read next: split_pattern.cpp, which matches them.
#include <tapestry/nn/tokenizers/split_pattern.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <optional>

namespace tapestry {
namespace {

using unicode::Category;

constexpr std::size_t kMostRepeats = 1000;  // {n,m}: more is a mistake
constexpr int kDeepest = 50;                // groups in groups
constexpr std::size_t kLongestPattern = 10'000;
constexpr std::size_t kMostParts = 1000;  // matching calls itself for each

std::uint32_t bit_of(Category category) { return 1U << static_cast<unsigned>(category); }

}  // namespace

// A parser by recursive descent. Each part is compiled for what follows it, so parts are first
// parsed into a tree and then linked from the end.
class PatternParser {
public:
    PatternParser(SplitPattern& pattern, std::string_view text, const std::string& what)
        : pattern_(pattern), text_(text), what_(what) {}

    void parse() {
        const Choice choice = alternatives();
        if (at_ < text_.size()) unknown("a ')' without '('");
        pattern_.nodes_.push_back({.may_be_empty = true});  // kAccept
        pattern_.start_ = link(choice, SplitPattern::kAccept);
        if (pattern_.nodes_.size() > kMostParts) {
            fail("{}: a pattern of {} parts; at most {} are supported", what_,
                 pattern_.nodes_.size(), kMostParts);
        }
    }

private:
    using Set = SplitPattern::Set;
    using Node = SplitPattern::Node;
    using Index = SplitPattern::Index;
    using Kind = SplitPattern::Kind;
    using Mode = SplitPattern::Mode;

    struct Part;
    using Sequence = std::vector<Part>;
    using Choice = std::vector<Sequence>;
    struct Part {  // a repeated set, a group or a look-ahead
        Kind kind = Kind::repeat;
        Mode mode = Mode::greedy;
        bool is_wanted = true;
        Set set = {};
        std::size_t least = 1, most = 1;
        Choice choice = {};
    };

    [[noreturn]] void unknown(const std::string& found) const {
        fail("{}: the pattern {} has {} at byte {}, which is not supported", what_,
             utf8::quoted(text_, 200), found, at_);
    }

    bool is_next(std::string_view expected) const {
        return text_.substr(at_, expected.size()) == expected;
    }
    bool accept(std::string_view expected) {
        if (!is_next(expected)) return false;
        at_ += expected.size();
        return true;
    }

    char32_t character() {
        if (at_ >= text_.size()) unknown("its end");
        const utf8::Step step = utf8::step(text_, at_);
        at_ += step.bytes;
        return step.code;
    }

    Choice alternatives() {
        if (++depth_ > kDeepest) unknown("too many groups in groups");
        Choice choice(1);
        while (at_ < text_.size() && !is_next(")")) {
            if (accept("|")) {
                choice.emplace_back();
                continue;
            }
            choice.back().push_back(part());
        }
        --depth_;
        return choice;
    }

    Part part() {
        const std::size_t begin = at_;
        Part found = is_next("(") ? group() : Part{.set = single()};
        quantify(found, begin);
        return found;
    }

    Part group() {
        Part found{.kind = Kind::alternatives};
        const bool was_folded = folds_case_;
        if (accept("(?i:")) {
            folds_case_ = true;
        } else if (accept("(?=") || accept("(?!")) {
            found.kind = Kind::look;
            found.is_wanted = text_[at_ - 1] == '=';
            ++looks_;
        } else if (!accept("(?:")) {
            if (is_next("(?")) unknown(utf8::quoted(text_.substr(at_, 4)));
            accept("(");
        }
        found.choice = alternatives();
        if (!accept(")")) unknown("a group without ')'");
        folds_case_ = was_folded;
        if (found.kind == Kind::look) --looks_;
        return found;
    }

    std::size_t number() {
        std::size_t value = 0;
        const std::size_t begin = at_;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            value =
                std::min(10 * value + static_cast<std::size_t>(text_[at_] - '0'), kMostRepeats + 1);
        }
        if (at_ == begin || value > kMostRepeats) unknown("no number of repetitions");
        return value;
    }

    void quantify(Part& found, std::size_t begin) {
        bool is_interval = false, is_exact = false;
        if (accept("?")) {
            found.least = 0;
        } else if (accept("*")) {
            found.least = 0;
            found.most = SplitPattern::kUnbounded;
        } else if (accept("+")) {
            found.most = SplitPattern::kUnbounded;
        } else if (accept("{")) {
            is_interval = true;
            found.least = found.most = number();
            is_exact = !is_next(",");
            if (accept(",")) found.most = is_next("}") ? SplitPattern::kUnbounded : number();
            if (!accept("}") || found.most < found.least) unknown("an ill-formed repetition");
        } else {
            return;
        }
        // Oniguruma takes {n,m}+ and {n}? for repetitions of repetitions.
        if ((is_interval && is_next("+")) || (is_exact && is_next("?"))) {
            unknown("a repetition of a repetition");
        }
        if (accept("+")) {
            found.mode = Mode::possessive;
        } else if (accept("?")) {
            found.mode = Mode::lazy;
        }
        if (looks_ > 0 && found.most == SplitPattern::kUnbounded) {
            unknown("an unbounded repetition in a look-ahead");  // which would not be linear
        }
        if (is_next("?") || is_next("*") || is_next("+") || is_next("{"))
            unknown("two repetitions");
        const bool is_optional = found.least == 0 && found.most == 1 && found.mode == Mode::greedy;
        if (found.kind != Kind::repeat && !(found.kind == Kind::alternatives && is_optional)) {
            at_ = begin;
            unknown("a repeated group");
        }
    }

    // A character or a class.
    Set single() {
        Set set;
        if (accept("[")) return bracketed();
        if (accept(".")) {  // all but a newline
            set.ranges_.emplace_back(U'\n', U'\n');
            set.is_negated_ = true;
        } else if (is_next("\\")) {
            if (const auto code = escaped(set)) add(set, *code);
        } else {
            if (is_next("^") || is_next("$") || is_next("*") || is_next("+") || is_next("?") ||
                is_next("{")) {
                unknown(utf8::quoted(text_.substr(at_, 1)));
            }
            add(set, character());
        }
        set.finish();
        return set;
    }

    // Adds a character, in both cases where they count the same.
    void add(Set& set, char32_t code) const {
        set.ranges_.emplace_back(code, code);
        if (!folds_case_) return;
        const char32_t lower = code >= U'A' && code <= U'Z' ? code + 32 : code;
        if (lower < U'a' || lower > U'z') {
            if (code >= 128) unknown("(?i:) with a letter beyond ASCII");
            return;
        }
        set.ranges_.emplace_back(lower, lower);
        set.ranges_.emplace_back(lower - 32, lower - 32);
        if (lower == U's') set.ranges_.emplace_back(0x17F, 0x17F);    // long s
        if (lower == U'k') set.ranges_.emplace_back(0x212A, 0x212A);  // Kelvin sign
    }

    Set bracketed() {
        Set set;
        set.is_negated_ = accept("^");
        bool is_first = true;
        while (is_first || !is_next("]")) {
            is_first = false;
            if (is_next("[") || is_next("&&")) unknown("a class in a class");
            std::optional<char32_t> low = is_next("\\") ? escaped(set) : character();
            if (!low) continue;  // a class such as \s
            if (is_next("-") && !is_next("-]")) {
                at_ += 1;
                const std::optional<char32_t> high = is_next("\\") ? escaped(set) : character();
                if (!high || *high < *low || folds_case_) unknown("an ill-formed range");
                set.ranges_.emplace_back(*low, *high);
            } else {
                add(set, *low);
            }
        }
        accept("]");
        set.finish();
        return set;
    }

    // After a backslash: adds a class to the set, or returns a character.
    std::optional<char32_t> escaped(Set& set) {
        const std::size_t begin = at_;
        at_ += 1;
        const char32_t code = character();
        switch (code) {
            case U'p':
            case U'P': property(set, code == U'P'); return {};
            case U's':
            case U'S':
            case U'd':
            case U'D':
            case U'w':
            case U'W': shorthand(set, code); return {};
            case U'n': return U'\n';
            case U'r': return U'\r';
            case U't': return U'\t';
            case U'f': return U'\f';
            case U'v': return U'\v';
            case U'x': return accept("{") ? hexadecimal(1, 6, true) : byte();
            case U'u': return hexadecimal(4, 4, false);
            default: break;
        }
        const bool is_word = unicode::kind_of(code) != unicode::Kind::other;
        if (is_word || code >= 128) {
            at_ = begin;
            unknown(utf8::quoted(text_.substr(begin, 2)));
        }
        return code;
    }

    // \xHH, which is a byte in Oniguruma, not a character.
    char32_t byte() {
        const char32_t code = hexadecimal(2, 2, false);
        if (code >= 0x80) unknown("a byte beyond ASCII");
        return code;
    }

    char32_t hexadecimal(std::size_t least, std::size_t most, bool is_braced) {
        char32_t code = 0;
        std::size_t digits = 0;
        for (; digits < most && at_ < text_.size(); ++digits, ++at_) {
            const char c = text_[at_];
            const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c;
            const bool is_digit = c >= '0' && c <= '9';
            if (!is_digit && (lower < 'a' || lower > 'f')) break;
            code = 16 * code + static_cast<char32_t>(is_digit ? c - '0' : lower - 'a' + 10);
        }
        if (digits < least || (is_braced && !accept("}"))) unknown("an ill-formed code point");
        return code;
    }

    // Adds a class, or its complement, to the set.
    void include(Set& set, Set found, bool is_negated) const {
        found.is_negated_ = is_negated;
        found.finish();
        set.others_.push_back(std::move(found));
    }

    void property(Set& set, bool is_negated) {
        if (folds_case_) unknown("(?i:) with a property");
        const std::size_t end = text_.find('}', at_);
        if (!accept("{") || end == std::string_view::npos) unknown("a property without {}");
        if (accept("^")) is_negated = !is_negated;
        const std::string_view name = text_.substr(at_, end - at_);
        Set found;
        found.categories_ = unicode::categories_named(name);
        if (found.categories_ == 0) unknown("the property " + utf8::quoted(name));
        at_ = end + 1;
        include(set, std::move(found), is_negated);
    }

    void shorthand(Set& set, char32_t name) const {
        const bool is_negated = name < U'a';
        Set found;
        switch (is_negated ? name + 32 : name) {
            case U's': found.has_space_ = true; break;
            case U'd': found.categories_ = bit_of(Category::Nd); break;
            // \w: letters and other alphabetic characters, marks, decimal numbers, connectors
            // (Unicode TS 18, annex C)
            default:
                found.categories_ = unicode::categories_named("L") |
                                    unicode::categories_named("M") | bit_of(Category::Nd) |
                                    bit_of(Category::Nl) | bit_of(Category::Pc);
                found.ranges_ = {
                    {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
        }
        include(set, std::move(found), is_negated);
    }

    // ---- from the tree to nodes, from the end

    Index add(Node node) {
        pattern_.nodes_.push_back(std::move(node));
        return static_cast<Index>(pattern_.nodes_.size() - 1);
    }

    Index link(const Choice& choice, Index next) {
        std::vector<Index> branches;
        for (const Sequence& sequence : choice) branches.push_back(link(sequence, next));
        return branches.size() == 1 ? branches.front() : choose(std::move(branches));
    }

    Index choose(std::vector<Index> branches) {
        Node node{.kind = Kind::alternatives, .branches = std::move(branches)};
        for (const Index branch : node.branches) {
            node.first |= pattern_.nodes_[branch].first;
            node.may_be_empty |= pattern_.nodes_[branch].may_be_empty;
        }
        return add(std::move(node));
    }

    Index link(const Sequence& sequence, Index next) {
        for (auto part = sequence.rbegin(); part != sequence.rend(); ++part) {
            next = link(*part, next);
        }
        return next;
    }

    Index link(const Part& part, Index next) {
        if (part.kind == Kind::alternatives) {
            const Index group = link(part.choice, next);
            return part.least == 0 ? choose({group, next}) : group;
        }
        if (part.kind == Kind::look) {
            const Index inner = link(part.choice, SplitPattern::kAccept);
            return add({.kind = Kind::look,
                        .is_wanted = part.is_wanted,
                        .branches = {inner},
                        .next = next,
                        .first = {},
                        .may_be_empty = true});
        }
        pattern_.sets_.push_back(part.set);
        Node node{.kind = Kind::repeat,
                  .mode = part.mode,
                  .set = static_cast<Index>(pattern_.sets_.size() - 1),
                  .least = part.least,
                  .most = part.most,
                  .next = next};
        for (char32_t code = 0; code < 128; ++code) node.first[code] = part.set.contains(code);
        if (part.least == 0) {
            node.first |= pattern_.nodes_[next].first;
            node.may_be_empty = pattern_.nodes_[next].may_be_empty;
        }
        return add(std::move(node));
    }

    SplitPattern& pattern_;
    std::string_view text_;
    const std::string& what_;
    std::size_t at_ = 0;
    bool folds_case_ = false;
    int depth_ = 0;
    int looks_ = 0;  // look-aheads that are open
};

SplitPattern::SplitPattern(std::string_view pattern, const std::string& what) {
    if (const auto flaw = utf8::find_flaw(pattern)) {
        fail("{}: the pattern is not UTF-8 at byte {}: {}", what, flaw->byte, flaw->what);
    }
    require(pattern.size() <= kLongestPattern,
            "{}: a pattern of {} bytes; at most {} are supported", what, pattern.size(),
            kLongestPattern);
    PatternParser(*this, pattern, what).parse();
}

}  // namespace tapestry
