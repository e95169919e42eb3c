#include <tapestry/nn/tokenizers/split_pattern.h>

#include <tapestry/core/text/utf8.h>

#include <algorithm>

namespace tapestry {

bool SplitPattern::Set::contains_beyond_ascii(char32_t code) const {
    if ((categories_ & (1U << static_cast<unsigned>(unicode::category_of(code)))) != 0) return true;
    if (has_space_ && unicode::kind_of(code) == unicode::Kind::space) return true;
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](const auto& r) { return code >= r.first && code <= r.second; }) ||
           std::any_of(others_.begin(), others_.end(),
                       [&](const Set& other) { return other.contains(code); });
}

void SplitPattern::Set::finish() {
    for (char32_t code = 0; code < 128; ++code) {
        ascii_[code] = is_negated_ != contains_beyond_ascii(code);
    }
}

std::size_t PatternMatcher::after_beyond_ascii(const SplitPattern::Set& set, std::size_t at) const {
    const utf8::Step step = utf8::step(text_, at);
    return set.contains(step.code) ? at + step.bytes : kNone;
}

std::size_t PatternMatcher::match(std::size_t at) {
    steps_ = 0;
    return from(pattern_.start_, at);
}

std::size_t PatternMatcher::from(Index index, std::size_t at) {
    while (index != SplitPattern::kAccept) {
        const Node& node = pattern_.nodes_[index];
        if (node.kind == SplitPattern::Kind::look) {
            const bool matches = from(node.branches[0], at) != kNone;
            if (matches != node.is_wanted) return kNone;
        } else if (node.kind == SplitPattern::Kind::repeat && node.least == 1 && node.most == 1) {
            examine(at);
            at = after(pattern_.sets_[node.set], at);
            if (at == kNone) return kNone;
        } else {
            return remembered(index, node, at);
        }
        index = node.next;
    }
    return at;
}

// The same for nodes from which there are several ways. A match of many steps remembers which
// failed.
std::size_t PatternMatcher::remembered(Index index, const Node& node, std::size_t at) {
    constexpr int kFewSteps = 100;  // which are cheaper to take again than to look up
    const bool remembers = steps_ >= kFewSteps || ++steps_ >= kFewSteps;
    if (remembers && failed_.contains(key(index, at, false))) return kNone;
    const std::size_t end = node.kind == SplitPattern::Kind::alternatives ? first_of(node, at)
                            : node.mode == SplitPattern::Mode::lazy ? repeat_lazily(index, node, at)
                                                                    : repeat(index, node, at);
    if (remembers && end == kNone) failed_.insert(key(index, at, false));
    return end;
}

std::size_t PatternMatcher::first_of(const Node& node, std::size_t at) {
    examine(at);
    // Any character beyond ASCII, and the end, may begin a match of any branch.
    const auto byte = at < text_.size() ? static_cast<unsigned char>(text_[at]) : 0x80U;
    for (const Index branch : node.branches) {
        const Node& first = pattern_.nodes_[branch];
        if (byte < 0x80 && !first.may_be_empty && !first.first[byte]) continue;
        if (const std::size_t end = from(branch, at); end != kNone) return end;
    }
    return kNone;
}

std::size_t PatternMatcher::repeat(Index index, const Node& node, std::size_t at) {
    constexpr std::size_t kFew = 8;  // repetitions that are cheaper to take again than to look up
    const SplitPattern::Set& set = pattern_.sets_[node.set];
    const bool is_unbounded = node.most == SplitPattern::kUnbounded;
    const bool may_have_failed = is_unbounded && !failed_.empty();
    std::size_t count = 0, end = at, least_end = node.least == 0 ? at : kNone;
    bool has_failed_here = false;  // the places before are still to be tried
    while (count < node.most && !has_failed_here) {
        const std::size_t next = after(set, end);
        if (next == kNone) break;
        end = next;
        if (++count == node.least) least_end = end;
        has_failed_here = may_have_failed && count > node.least && has_failed(index, end);
    }
    if (count < node.most) examine(end);
    if (least_end == kNone) return kNone;
    if (has_failed_here && node.mode == SplitPattern::Mode::possessive) return kNone;
    const bool is_long = is_unbounded && count > node.least + kFew;
    std::size_t found = from(node.next, end);
    while (found == kNone) {
        if (is_long) failed_.insert(key(index, end, true));
        if (end == least_end) break;
        do {
            --end;
        } while ((static_cast<unsigned char>(text_[end]) & 0xC0U) == 0x80U);
        if (node.mode != SplitPattern::Mode::possessive) found = from(node.next, end);
    }
    return found;
}

std::size_t PatternMatcher::repeat_lazily(Index index, const Node& node, std::size_t at) {
    const SplitPattern::Set& set = pattern_.sets_[node.set];
    const std::size_t begin = at;
    for (std::size_t count = 0; at != kNone && count <= node.most; ++count) {
        if (count >= node.least) {
            if (node.most == SplitPattern::kUnbounded && has_failed(index, at)) break;
            if (const std::size_t found = from(node.next, at); found != kNone) return found;
        }
        if (count == node.most) break;
        examine(at);
        at = after(set, at);
    }
    if (node.most != SplitPattern::kUnbounded) return kNone;
    std::size_t count = 0;
    for (at = begin; at != kNone && !has_failed(index, at); at = after(set, at)) {
        if (count++ >= node.least) failed_.insert(key(index, at, true));
    }
    return kNone;
}

}  // namespace tapestry
