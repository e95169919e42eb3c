// Merging within a word, which takes most of the time, and splitting texts into words. Read next:
// bpe_files.cpp, which reads and writes tokenizers.
#include <tapestry/nn/data/bpe.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/known_words.h>
#include <tapestry/nn/data/words.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>

namespace tapestry {
namespace {

constexpr std::uint32_t kNoMerge = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kNoIndex = std::numeric_limits<std::size_t>::max();

}  // namespace

// Merges the bytes of words. In a short word, the symbols and the ranks of their pairs are two
// arrays, and each merge looks through all ranks. In a long one the symbols are a linked list, and
// the pairs that can be merged a heap by rank and position: n log n for n bytes, so even a megabyte
// of one letter is fast.
class BytePairTokenizer::WordEncoder {
public:
    WordEncoder(const BytePairTokenizer& tokenizer, std::vector<std::int64_t>& ids)
        : tokenizer_(tokenizer), ids_(ids) {}

    // Appends the ids of `word`, which must outlive the encoder: results are cached by word, or,
    // if it can be cut, by part.
    void encode(std::string_view word) {
        const TokenBoundaries& boundaries = tokenizer_.boundaries_;
        std::size_t end = word.size() > kLeastCut ? boundaries.next(word, 0) : word.size();
        if (end == word.size()) return encode(word, words_, tokenizer_.rules_.whole_words);
        if (tokenizer_.rules_.whole_words) {
            if (const Id whole = tokenizer_.id_of(word); whole >= 0) return append(whole);
        }
        for (std::size_t at = 0; at < word.size();) {
            encode(word.substr(at, end - at), parts_, false);
            at = end;
            end = boundaries.next(word, at);
        }
    }
    void append(std::int64_t id) { ids_.push_back(id); }

private:
    static constexpr std::size_t kShort = 128;    // bytes
    static constexpr std::size_t kLeastCut = 12;  // bytes; shorter words are left whole

    struct Symbol {
        Id id;
        std::uint32_t rank;  // of the pair with the next symbol
        std::size_t previous, next;
    };
    struct Candidate {
        std::uint32_t rank;
        std::size_t at;
        bool operator<(const Candidate& other) const {  // std's heaps have the greatest on top
            return rank != other.rank ? rank > other.rank : at > other.at;
        }
    };

    void encode(std::string_view word, KnownWords& known, bool may_be_token) {
        if (const KnownWords::Place* const place = known.find(word)) return repeat(*place);
        const std::size_t first = ids_.size();
        const Id whole = may_be_token ? tokenizer_.id_of(word) : -1;
        if (whole >= 0) {
            ids_.push_back(whole);
        } else if (word.size() <= kShort) {
            encode_short(word);
        } else {
            encode_long(word);
        }
        known.add(word, {first, ids_.size() - first});
    }

    void repeat(const KnownWords::Place& place) {
        for (std::size_t i = 0; i < place.count; ++i) {
            const std::int64_t id = ids_[place.first + i];
            ids_.push_back(id);
        }
    }

    // All occurrences of the pair with the lowest rank are merged, from left to right, before any
    // other pair; also before one of even lower rank that these merges create, as BPE is defined
    // (unless the tokenizer merges one at a time).

    void encode_short(std::string_view word) {
        std::size_t count = word.size();
        for (std::size_t i = 0; i < count; ++i) {
            some_[i] = tokenizer_.byte_ids_[static_cast<unsigned char>(word[i])];
        }
        for (std::size_t i = 0; i < count; ++i) rank_short(i, count);
        for (;;) {
            std::uint32_t best = kNoMerge;
            for (std::size_t i = 0; i < count; ++i) best = std::min(best, ranks_[i]);
            if (best == kNoMerge) break;
            for (std::size_t i = 0; i < count; ++i) {
                if (ranks_[i] != best) continue;
                merge_short(i, count--);
                if (tokenizer_.one_at_a_time_) break;
            }
        }
        ids_.insert(ids_.end(), some_.begin(), some_.begin() + static_cast<std::ptrdiff_t>(count));
    }

    // A symbol's rank is that of its pair with the next one.
    void rank_short(std::size_t at, std::size_t count) {
        const Merge* const merge =
            at + 1 < count ? tokenizer_.merge_of(some_[at], some_[at + 1]) : nullptr;
        ranks_[at] = merge == nullptr ? kNoMerge : merge->rank;
    }

    void merge_short(std::size_t at, std::size_t count) {
        some_[at] = tokenizer_.merge_of(some_[at], some_[at + 1])->id;
        for (std::size_t i = at + 1; i + 1 < count; ++i) {
            some_[i] = some_[i + 1];
            ranks_[i] = ranks_[i + 1];
        }
        rank_short(at, count - 1);
        if (at > 0) rank_short(at - 1, count - 1);
    }

    void encode_long(std::string_view word) {
        start(word);
        while (!candidates_.empty()) merge_all_of_best();
        for (std::size_t at = 0; at != kNoIndex; at = symbols_[at].next) {
            ids_.push_back(symbols_[at].id);
        }
    }

    void start(std::string_view word) {
        symbols_.clear();
        for (std::size_t i = 0; i < word.size(); ++i) {
            const Id id = tokenizer_.byte_ids_[static_cast<unsigned char>(word[i])];
            symbols_.push_back(
                {id, kNoMerge, i == 0 ? kNoIndex : i - 1, i + 1 == word.size() ? kNoIndex : i + 1});
        }
        for (std::size_t i = 0; i + 1 < word.size(); ++i) look_at(i);
    }

    // Adds the pair that begins here as a candidate if it can be merged.
    void look_at(std::size_t at) {
        Symbol& symbol = symbols_[at];
        symbol.rank = kNoMerge;
        if (symbol.next == kNoIndex) return;
        const Merge* const merge = tokenizer_.merge_of(symbol.id, symbols_[symbol.next].id);
        if (merge == nullptr) return;
        symbol.rank = merge->rank;
        candidates_.push_back({symbol.rank, at});
        std::push_heap(candidates_.begin(), candidates_.end());
    }

    void merge_all_of_best() {
        const std::uint32_t rank = candidates_.front().rank;
        places_.clear();
        while (!candidates_.empty() && candidates_.front().rank == rank) {
            std::pop_heap(candidates_.begin(), candidates_.end());
            places_.push_back(candidates_.back().at);
            candidates_.pop_back();
            if (tokenizer_.one_at_a_time_) break;
        }
        for (const std::size_t at : places_) {
            if (symbols_[at].rank == rank) merge(at);  // unless a merge has changed the pair
        }
    }

    void merge(std::size_t at) {
        Symbol& left = symbols_[at];
        Symbol& right = symbols_[left.next];
        left.id = tokenizer_.merge_of(left.id, right.id)->id;
        left.next = right.next;
        right.rank = kNoMerge;
        if (left.next != kNoIndex) symbols_[left.next].previous = at;
        look_at(at);
        if (left.previous != kNoIndex) look_at(left.previous);
    }

    const BytePairTokenizer& tokenizer_;
    std::vector<std::int64_t>& ids_;
    KnownWords words_, parts_;
    std::array<Id, kShort> some_{};  // of a short word
    std::array<std::uint32_t, kShort> ranks_{};
    std::vector<Symbol> symbols_;        // of a long word
    std::vector<Candidate> candidates_;  // a heap
    std::vector<std::size_t> places_;
};

std::size_t BytePairTokenizer::place_of(std::uint64_t key) const {
    const std::size_t mask = merges_.size() - 1;
    // The golden ratio spreads keys over the upper bits (Knuth, volume 3, section 6.4).
    std::size_t at = (key * 0x9E3779B97F4A7C15U) >> 32 & mask;
    while (merges_[at].merge.id >= 0 && merges_[at].key != key) at = (at + 1) & mask;
    return at;
}

const BytePairTokenizer::Merge* BytePairTokenizer::merge_of(Id left, Id right) const {
    const Merge& merge = merges_[place_of(key(left, right))].merge;
    return merge.id < 0 ? nullptr : &merge;
}

bool BytePairTokenizer::insert_merge(Pair pair, Merge merge) {
    if (2 * pairs_.size() >= merges_.size()) {
        const std::vector<MergePlace> before =
            std::exchange(merges_, std::vector<MergePlace>(2 * merges_.size()));
        for (const MergePlace& place : before) {
            if (place.merge.id >= 0) merges_[place_of(place.key)] = place;
        }
    }
    const std::uint64_t pair_key = key(pair.left, pair.right);
    MergePlace& place = merges_[place_of(pair_key)];
    if (place.merge.id >= 0) return false;
    place = {pair_key, merge};
    return true;
}

BytePairTokenizer BytePairTokenizer::from_merges(const Merges& merges) {
    BytePairTokenizer tokenizer;
    for (std::size_t byte = 0; byte < 256; ++byte) {
        tokenizer.byte_ids_[byte] = tokenizer.add_token(std::string(1, static_cast<char>(byte)));
    }
    for (const auto& [left, right] : merges) {
        const Pair pair{tokenizer.id_of(left), tokenizer.id_of(right)};
        require(pair.left >= 0 && pair.right >= 0, "byte pairs: {} and {} are not both tokens",
                utf8::quoted(left), utf8::quoted(right));
        const auto rank = static_cast<std::uint32_t>(tokenizer.pairs_.size());
        tokenizer.insert_merge(pair, {rank, tokenizer.add_token(left + right)});
        tokenizer.pairs_.push_back(pair);
    }
    tokenizer.end_of_text_ = tokenizer.add_token(std::string(kEndOfText));
    tokenizer.marks_.add(std::string(kEndOfText), *tokenizer.end_of_text_);
    tokenizer.in_vocabulary_ = tokenizer.bytes_.size();
    tokenizer.find_boundaries();
    return tokenizer;
}

void BytePairTokenizer::find_boundaries() {
    for (const std::string& token : bytes_) boundaries_.add(token);
}

BytePairTokenizer::Id BytePairTokenizer::add_token(const std::string& bytes) {
    const auto [found, is_new] = ids_.emplace(bytes, static_cast<Id>(bytes_.size()));
    if (is_new) bytes_.push_back(bytes);
    return found->second;
}

std::int64_t BytePairTokenizer::beginning() const {
    return end_of_text_ ? *end_of_text_ : byte_ids_[static_cast<unsigned char>('\n')];
}

void BytePairTokenizer::encode_piece(const TextPiece& piece, std::vector<std::int64_t>& ids) const {
    require(!lacks_bytes_, "{}: some bytes have no token: only words can be encoded", piece.what);
    std::string_view text = piece.text;
    if (const auto flaw = utf8::find_flaw(text)) {
        fail("{}: not UTF-8 at byte {}: {}", piece.what, flaw->byte, flaw->what);
    }
    WordEncoder encoder(*this, ids);
    std::size_t at = 0;
    for (auto mark = marks_.find(text, at); mark; mark = marks_.find(text, at)) {
        encode_words(text.substr(at, mark->at - at), encoder);
        encoder.append(mark->id);
        at = mark->at + mark->size;
    }
    encode_words(text.substr(at), encoder);
}

void BytePairTokenizer::encode_words(const std::vector<std::string_view>& words,
                                     std::vector<std::int64_t>& ids) const {
    WordEncoder encoder(*this, ids);
    std::deque<std::string> shortened;  // those without the bytes that have no token
    for (std::string_view word : words) {
        const auto has_token = [this](char c) {
            return byte_ids_[static_cast<unsigned char>(c)] >= 0;
        };
        if (lacks_bytes_ && !std::all_of(word.begin(), word.end(), has_token)) {
            std::string& kept = shortened.emplace_back();
            std::copy_if(word.begin(), word.end(), std::back_inserter(kept), has_token);
            word = kept;
        }
        if (!word.empty()) encoder.encode(word);
    }
}

// Looks back for a cut that holds in any context, but only a limited distance: a text without one
// would take the square of its length. Failing that, the words are cut from the beginning.
std::size_t BytePairTokenizer::piece_end(std::string_view text) const {
    const std::size_t near = text.size() - std::min(text.size(), kLongestWord);
    const std::size_t from = character_start(text, near);
    const std::size_t cut = last_cut(text.substr(from));
    const std::size_t end = cut == 0 ? 0 : before_mark(text, from + cut);
    return end > 0 || text.size() < 2 * kLongestWord ? end : last_sure_word(text);
}

// The end of the last word that the unknown rest of the text cannot change: it could at most be a
// longest word, or contain a mark.
std::size_t BytePairTokenizer::last_sure_word(std::string_view text) const {
    const std::size_t margin = kLongestWord + marks_.longest();
    std::size_t at = 0;
    auto mark = marks_.find(text, 0);
    while (at + margin < text.size()) {
        if (mark && mark->at < at) mark = marks_.find(text, at);
        const std::string_view before = text.substr(0, mark ? mark->at : text.size());
        at = at == before.size() ? at + mark->size : word_end(before, at);
    }
    return at;
}

// A cut within a mark, or what may become one, moves to before it. No cut is within kEndOfText.
std::size_t BytePairTokenizer::before_mark(std::string_view text, std::size_t cut) const {
    const auto& marks = marks_.list();
    for (std::size_t i = 0; i < marks.size() && cut > 0; ++i) {
        const std::string_view mark = marks[i].first;
        if (mark == kEndOfText) continue;
        for (std::size_t at = cut - std::min(cut, mark.size() - 1); at < cut; ++at) {
            if (!mark.starts_with(text.substr(at, mark.size()))) continue;
            cut = last_cut(text.substr(0, at));
            i = static_cast<std::size_t>(-1);  // from the first mark again
            break;
        }
    }
    return cut;
}

std::string BytePairTokenizer::hash() const {
    Checksum sum;
    sum.add(vocab_json());
    sum.add(merges_text());
    sum.add(added_json());
    return sum.hex();
}

void BytePairTokenizer::encode_words(std::string_view text, WordEncoder& encoder) const {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = word_end(text, at);
        encoder.encode(text.substr(at, end - at));
        at = end;
    }
}

std::string BytePairTokenizer::decode(std::span<const std::int64_t> ids) const {
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        require<IndexError>(ids[i] >= 0 && ids[i] < vocab_size(),
                            "decode: id {} at position {} is outside the vocabulary of {}", ids[i],
                            i, vocab_size());
        text += bytes_[static_cast<std::size_t>(ids[i])];
    }
    return text;
}

BytePairTokenizer::Id BytePairTokenizer::id_of(std::string_view bytes) const {
    const auto found = ids_.find(std::string(bytes));
    return found == ids_.end() ? -1 : found->second;
}

std::uint64_t BytePairTokenizer::key(Id left, Id right) {
    return (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint64_t>(right);
}

}  // namespace tapestry
