// The regular expressions by which tokenizers split text: alternatives of sequences of characters,
// classes and their repetitions, groups, and look-ahead.
//
//     const SplitPattern words(R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", "words");
//
// No library: RE2 has no look-ahead, PCRE2 and Oniguruma are not linear, and std::regex knows
// neither Unicode's categories nor UTF-8. As in these, of the alternatives the first that matches
// counts, and a repetition takes as much as it can and gives back what the rest needs. Only single
// characters can be repeated, so a match has a state of two numbers (node and position), and those
// that are known to fail are not tried again: all matches of a text together take linear time.
// Source of the idea: Cox 2010, "Regular Expression Matching in the Wild". Internal to nn. Read
// next: pattern_parser.cpp.
#pragma once

#include <tapestry/core/text/unicode.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tapestry {

/// A compiled regular expression. Immutable.
class SplitPattern {
public:
    /// Accepts alternatives, groups, `(?i:)`, look-ahead, classes, `. ? * + {n} {n,} {n,m}`, the
    /// first three of these also possessive (`?+`) and all but `{n}` also lazy (`??`), general
    /// categories
    /// (`\\p{Lu}`, `\\P{L}`), the classes s, d and w of Unicode and their complements, code points
    /// (`\\x{1F600}`, `\\u00E9`) and escaped punctuation. Throws ValueError, naming `what` and the
    /// place, for anything else; for a repetition of more than one character other than by a
    /// question mark; and for an unbounded one in a look-ahead.
    SplitPattern(std::string_view pattern, const std::string& what);

    /// A set of characters.
    class Set {
    public:
        /// Whether a character is in the set.
        bool contains(char32_t code) const {
            return code < 128 ? ascii_[code] : is_negated_ != contains_beyond_ascii(code);
        }

    private:
        friend class PatternParser;
        bool contains_beyond_ascii(char32_t code) const;
        void finish();  // fills ascii_

        std::bitset<128> ascii_;
        std::uint32_t categories_ = 0;  // a bit for each
        std::vector<std::pair<char32_t, char32_t>> ranges_;
        std::vector<Set> others_;  // \W and the like within a class
        bool has_space_ = false;   // White_Space
        bool is_negated_ = false;
    };

private:
    friend class PatternParser;
    friend class PatternMatcher;
    enum class Kind : std::uint8_t { accept, repeat, alternatives, look };
    enum class Mode : std::uint8_t { greedy, lazy, possessive };
    using Index = std::uint32_t;
    static constexpr Index kAccept = 0;  // the node where a match ends
    static constexpr std::size_t kUnbounded = static_cast<std::size_t>(-1);  // of repetitions
    struct Node {
        Kind kind = Kind::accept;
        Mode mode = Mode::greedy;
        bool is_wanted = true;  // of look: (?= ), not (?! )
        Index set = 0;          // of repeat
        std::size_t least = 1, most = 1;
        std::vector<Index> branches = {};  // of alternatives, in order; of look, its pattern
        Index next = 0;                    // of repeat and look
        std::bitset<128> first = {};       // ASCII characters with which a match may begin
        bool may_be_empty = false;         // a match may begin with any character, or the end
    };

    std::vector<Node> nodes_;
    std::vector<Set> sets_;
    Index start_ = 0;
};

/// Matches of a pattern in one text.
class PatternMatcher {
public:
    /// No match.
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    /// Both must outlive it; `text` must be UTF-8.
    PatternMatcher(const SplitPattern& pattern, std::string_view text)
        : pattern_(pattern), text_(text) {}

    /// The end of the match that begins at byte `at`; kNone if there is none.
    std::size_t match(std::size_t at);

    /// The matches so far depend on this many bytes of the text; one more if they depend on its
    /// end.
    std::size_t examined() const { return examined_; }

private:
    using Node = SplitPattern::Node;
    using Index = SplitPattern::Index;

    std::size_t from(Index index, std::size_t at);
    std::size_t remembered(Index index, const Node& node, std::size_t at);
    std::size_t first_of(const Node& node, std::size_t at);
    std::size_t repeat(Index index, const Node& node, std::size_t at);
    std::size_t repeat_lazily(Index index, const Node& node, std::size_t at);
    // The end of the character at `at` if it is in the set, else kNone.
    std::size_t after(const SplitPattern::Set& set, std::size_t at) const {
        if (at >= text_.size()) return kNone;
        const auto byte = static_cast<unsigned char>(text_[at]);
        if (byte >= 0x80) return after_beyond_ascii(set, at);
        return set.contains(byte) ? at + 1 : kNone;
    }
    std::size_t after_beyond_ascii(const SplitPattern::Set& set, std::size_t at) const;
    void examine(std::size_t at) { examined_ = std::max(examined_, at + 1); }
    std::uint64_t key(Index index, std::size_t at, bool is_within) const {
        return (at * std::uint64_t{pattern_.nodes_.size()} + index) * 2 + (is_within ? 1 : 0);
    }
    bool has_failed(Index index, std::size_t at) const {
        return !failed_.empty() && failed_.contains(key(index, at, true));
    }

    const SplitPattern& pattern_;
    std::string_view text_;
    std::size_t examined_ = 0;
    int steps_ = 0;  // of this match
    // States from which there is no match: at a node, or within an unbounded repetition, which may
    // continue or end here.
    std::unordered_set<std::uint64_t> failed_;
};

}  // namespace tapestry
