#include <tapestry/nn/tokenizers/pre_tokenizer.h>

#include <tapestry/core/text/utf8.h>

namespace tapestry {
namespace {

// GPT-2's, which ByteLevel applies if use_regex is true (nn/data/words.h explains it).
constexpr std::string_view kByteLevel =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

bool flag(const JsonNode& node, const std::string& name, bool usual) {
    const auto found = node.find(name);
    return found ? found->get<bool>() : usual;
}

// A string as a pattern that matches only it.
std::string literal(const std::string& text) {
    std::string pattern;
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x80) {
            pattern += fmt::format("\\x{:02X}", static_cast<unsigned>(c));
        } else {
            pattern += c;
        }
    }
    return pattern;
}

// Pieces of a text: matches of a pattern, and what is between them.
class Pieces {
public:
    /// From byte `begin` on, where a piece begins.
    Pieces(const SplitPattern& pattern, std::string_view text, std::size_t begin = 0)
        : matcher_(pattern, text), text_(text), end_(begin) {}

    /// The next piece, "" at the end.
    std::string_view next() {
        const std::size_t begin = end_;
        if (match_end_ > begin) {  // found behind the piece before
            end_ = match_end_;
            is_match_ = true;
            return text_.substr(begin, end_ - begin);
        }
        std::size_t at = begin;
        for (; at < text_.size(); at += utf8::step(text_, at).bytes) {
            const std::size_t end = matcher_.match(at);
            if (end == PatternMatcher::kNone || (end == at && at == begin)) continue;
            if (end > at) match_end_ = end;
            break;  // also for an empty match, which splits what does not match
        }
        is_match_ = at == begin && at < text_.size();
        end_ = is_match_ ? match_end_ : at;
        return text_.substr(begin, end_ - begin);
    }
    bool is_match() const { return is_match_; }
    /// As PatternMatcher::examined.
    std::size_t examined() const { return matcher_.examined(); }

private:
    PatternMatcher matcher_;
    std::string_view text_;
    std::size_t end_;            // of the piece
    std::size_t match_end_ = 0;  // of the last match
    bool is_match_ = false;
};

}  // namespace

PreTokenizer::PreTokenizer(const JsonNode& node, const std::string& what) {
    add(node, what);
    require(is_byte_level_,
            "{}: a pre-tokenizer without ByteLevel, whose tokens are not bytes, is not supported",
            what);
}

void PreTokenizer::add(const JsonNode& node, const std::string& what) {
    constexpr std::size_t kMostSteps = 32;  // split() calls itself for each
    require(steps_.size() < kMostSteps,
            "{}: more than {} steps of a pre-tokenizer are not supported", what, kMostSteps);
    require(!is_byte_level_, "{}: a pre-tokenizer after ByteLevel is not supported", what);
    const auto type = node.get<std::string>("type");
    if (type == "Sequence") {
        for (const JsonNode& step : node.at("pretokenizers").elements()) add(step, what);
    } else if (type == "Split") {
        add_split(node, what);
    } else if (type == "Digits") {
        const bool each = flag(node, "individual_digits", false);
        steps_.push_back({SplitPattern(each ? R"(\p{N})" : R"(\p{N}+)", what), false, true});
    } else if (type == "ByteLevel") {
        require(
            !flag(node, "add_prefix_space", true),
            "{}: ByteLevel with add_prefix_space is not supported: a text would not be what its "
            "tokens say",
            what);
        if (flag(node, "use_regex", true)) {
            steps_.push_back({SplitPattern(kByteLevel, what), false, false});
        }
        is_byte_level_ = true;
    } else {
        fail("{}: the pre-tokenizer {} is not supported", what, utf8::quoted(type));
    }
}

void PreTokenizer::add_split(const JsonNode& node, const std::string& what) {
    const auto behaviour = node.get<std::string>("behavior");
    const bool is_inverted = flag(node, "invert", false);
    const bool keeps_matches = behaviour == "Removed" && is_inverted;
    require(keeps_matches || (behaviour == "Isolated" && !is_inverted),
            "{}: Split with the behavior {}{} is not supported", what, utf8::quoted(behaviour),
            is_inverted ? ", inverted," : "");
    const JsonNode pattern = node.at("pattern");
    const auto regex = pattern.find("Regex");
    const std::string text =
        regex ? regex->get<std::string>() : literal(pattern.get<std::string>("String"));
    require(!text.empty(), "{}: Split by nothing", what);
    steps_.push_back({SplitPattern(text, what), keeps_matches, false});
}

void PreTokenizer::split(std::string_view text, std::vector<std::string_view>& words) const {
    split(text, 0, words);
}

void PreTokenizer::split(std::string_view text, std::size_t step,
                         std::vector<std::string_view>& words) const {
    if (step == steps_.size()) {
        if (!text.empty()) words.push_back(text);
        return;
    }
    Pieces pieces(steps_[step].pattern, text);
    for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
        if (!pieces.is_match() && steps_[step].removes_rest) {
            fail("the tokenizer's pattern does not cover {}", utf8::quoted(piece));
        }
        split(piece, step + 1, words);
    }
}

std::size_t PreTokenizer::sure_end(std::string_view text) const { return sure_end(text, 0); }

// Text is read from left to right, and a piece depends on nothing before it. So pieces are sure as
// long as no match has asked for what follows the text. The last of them may be another one where
// the text is cut behind it (white space leaves a space to a word that follows), so this is tried.
std::size_t PreTokenizer::sure_end(std::string_view text, std::size_t step) const {
    if (step == steps_.size()) return 0;
    const SplitPattern& pattern = steps_[step].pattern;
    if (steps_[step].is_of_characters) {  // all pieces but the last are sure
        std::size_t last = 0, end = 0;
        Pieces pieces(pattern, text);
        for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
            last = end;
            end += piece.size();
        }
        return last + sure_end(text.substr(last), step + 1);
    }
    struct Piece {
        std::size_t begin, end, examined;
        bool is_match;
    };
    std::vector<Piece> sure;
    std::size_t at = 0;
    Pieces pieces(pattern, text);
    for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
        const bool is_open = !pieces.is_match() && at + piece.size() == text.size();
        if (is_open || pieces.examined() > text.size()) break;
        sure.push_back({at, at + piece.size(), pieces.examined(), pieces.is_match()});
        at += piece.size();
    }

    const auto same_if_cut = [&](std::size_t count) {
        const std::size_t cut = sure[count - 1].end;
        std::size_t first = count - 1;  // whose match has seen what follows the cut
        while (first > 0 && sure[first - 1].examined > cut) --first;
        Pieces again(pattern, text.substr(0, cut), sure[first].begin);
        for (std::size_t i = first; i < count; ++i) {
            const std::size_t size = again.next().size();
            if (size != sure[i].end - sure[i].begin || again.is_match() != sure[i].is_match) {
                return false;
            }
        }
        return true;
    };
    std::size_t count = sure.size();
    while (count > 0 && !same_if_cut(count)) --count;
    return count == 0 ? 0 : sure[count - 1].end;
}

}  // namespace tapestry
