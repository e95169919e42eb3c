// Merging. All symbols are in one array, a word's in one piece, and a merge changes only the counts
// of the pairs next to it: text without spaces has few equal words, so there are as many symbols
// as bytes, and time and memory are those of visiting them.
#include <tapestry/nn/data/bpe_training.h>

#include <tapestry/core/error.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

namespace tapestry {
namespace {

using Id = std::uint32_t;
using Places = std::vector<std::uint32_t>;  // numbers of words

// Ordered as pairs of ids.
std::uint64_t key(Id left, Id right) { return std::uint64_t{left} << 32 | right; }
Id left_of(std::uint64_t pair) { return static_cast<Id>(pair >> 32); }
Id right_of(std::uint64_t pair) { return static_cast<Id>(pair); }

struct Word {
    std::size_t begin;     // of its symbols
    std::uint32_t length;  // now
    std::int64_t count;
};

struct PairCount {
    std::int64_t count = 0;
    Places words;  // words that contain it, or did; may have duplicates
};

// A pair and its count when it was queued.
struct Candidate {
    std::int64_t count;
    std::uint64_t pair;
    bool operator<(const Candidate& other) const {  // std's queue has the greatest on top
        return count != other.count ? count < other.count : pair > other.pair;
    }
};

// The symbols found on one side of a pair while it is merged: how often, and in which words.
class Neighbours {
public:
    void start(std::size_t symbols) {
        counts_.resize(symbols);
        words_.resize(symbols);
    }
    void add(Id symbol, std::int64_t count, std::uint32_t word) {
        Places& words = words_[symbol];
        if (words.empty()) found_.push_back(symbol);
        if (words.empty() || words.back() != word) words.push_back(word);
        counts_[symbol] += count;
    }
    // Calls f(symbol, count, words) for each, and forgets them.
    template <class F>
    void take(const F& f) {
        for (const Id symbol : found_) {
            Places& words = words_[symbol];
            f(symbol, std::exchange(counts_[symbol], 0), words);
            constexpr std::size_t kMany = 4096;  // memory that is not kept for the next merge
            if (words.size() > kMany) words = {};
            words.clear();
        }
        found_.clear();
    }

private:
    std::vector<std::int64_t> counts_;
    std::vector<Places> words_;
    std::vector<Id> found_;
};

class Trainer {
public:
    Trainer(const WordCounts& words, const std::function<void()>& working) : working_(working) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            tokens_.emplace_back(1, static_cast<char>(byte));
            ids_.emplace(tokens_.back(), static_cast<Id>(byte));
        }
        read(words);
        count_pairs();
    }

    // Merges until there are `tokens` tokens or no pair occurs twice.
    BytePairTokenizer::Merges merge_up_to(std::size_t tokens) {
        BytePairTokenizer::Merges merges;
        while (tokens_.size() < tokens && !queue_.empty()) {
            const Candidate best = queue_.top();
            queue_.pop();
            const std::int64_t now = pairs_.find(best.pair)->second.count;
            if (now < best.count && now > 1) queue_.push({now, best.pair});
            if (now != best.count) continue;  // outdated; a larger count was queued as well
            if (now < 2) break;
            merges.emplace_back(tokens_[left_of(best.pair)], tokens_[right_of(best.pair)]);
            merge(best.pair);
        }
        return merges;
    }

private:
    void read(const WordCounts& words) {
        std::size_t size = 0;
        for (const auto& [text, count] : words) size += text.size();
        symbols_.reserve(size);
        words_.reserve(words.size());
        for (const auto& [text, count] : words) {
            words_.push_back({symbols_.size(), static_cast<std::uint32_t>(text.size()), count});
            for (const char byte : text) symbols_.push_back(static_cast<unsigned char>(byte));
        }
    }

    // Two passes through the text: the first determines the size of every list.
    void count_pairs() {
        struct Tally {
            std::int64_t count = 0;
            std::uint32_t words = 0;
            std::uint32_t last = std::numeric_limits<std::uint32_t>::max();  // word
            Places* list = nullptr;
        };
        std::vector<Tally> tallies(std::size_t{1} << 16);
        const auto each = [&](const auto& f) {
            for (std::size_t number = 0; number < words_.size(); ++number) {
                const Word& word = words_[number];
                const Id* const s = symbols_.data() + word.begin;
                for (std::uint32_t i = 0; i + 1 < word.length; ++i) {
                    f(tallies[s[i] << 8 | s[i + 1]], static_cast<std::uint32_t>(number));
                }
                work(1);
            }
        };
        each([&](Tally& tally, std::uint32_t number) {
            tally.count += words_[number].count;
            if (tally.last != number) ++tally.words;
            tally.last = number;
        });
        for (std::size_t i = 0; i < tallies.size(); ++i) {
            Tally& tally = tallies[i];
            if (tally.count == 0) continue;
            const std::uint64_t pair = key(static_cast<Id>(i >> 8), static_cast<Id>(i & 255U));
            PairCount& known = pairs_[pair];
            known.count = tally.count;
            known.words.reserve(tally.words);
            tally.list = &known.words;
            queue_.push({known.count, pair});
        }
        each([](Tally& tally, std::uint32_t number) {
            Places& list = *tally.list;
            if (list.empty() || list.back() != number) list.push_back(number);
        });
    }

    // After so many words were visited.
    void work(std::size_t words) {
        constexpr std::size_t kOften = 100'000;
        visited_ += words;
        if (visited_ < kOften) return;
        visited_ = 0;
        if (working_) working_();
    }

    // The token that the pair becomes; another pair may already have given the same one.
    Id token_of(std::uint64_t pair) {
        const std::string text = tokens_[left_of(pair)] + tokens_[right_of(pair)];
        const auto [found, is_new] = ids_.emplace(text, static_cast<Id>(tokens_.size()));
        if (is_new) tokens_.push_back(text);
        return found->second;
    }

    void merge(std::uint64_t pair) {
        const Id left = left_of(pair), right = right_of(pair), token = token_of(pair);
        before_.start(tokens_.size());
        after_.start(tokens_.size());
        const Places places = std::exchange(pairs_.find(pair)->second.words, {});
        std::int64_t merged = 0;
        for (const std::uint32_t number : places) {
            merged += words_[number].count * merge_in(number, left, right, token);
            work(1);
        }
        pairs_.find(pair)->second.count -= merged;
        made_.clear();
        // In this order no count is below 0: (token, left) may come after, and go before.
        after_.take([&](Id y, std::int64_t count, const Places& words) {
            become(key(right, y), key(token, y), count, words);
        });
        before_.take([&](Id x, std::int64_t count, const Places& words) {
            become(key(x, left), key(x, token), count, words);
        });
        std::sort(made_.begin(), made_.end());
        made_.erase(std::unique(made_.begin(), made_.end()), made_.end());
        for (const std::uint64_t made : made_) queue_.push({pairs_.find(made)->second.count, made});
    }

    // Merges within one word, from left to right. Returns how often.
    std::int64_t merge_in(std::uint32_t number, Id left, Id right, Id token) {
        Word& word = words_[number];
        Id* const s = symbols_.data() + word.begin;
        const std::uint32_t length = word.length;
        std::uint32_t kept = 0;
        for (std::uint32_t i = 0; i < length; ++i) {
            if (s[i] != left || i + 1 == length || s[i + 1] != right) {
                s[kept++] = s[i];
                continue;
            }
            if (kept > 0) before_.add(s[kept - 1], word.count, number);
            if (i + 2 < length) after_.add(s[i + 2], word.count, number);
            s[kept++] = token;
            ++i;
        }
        word.length = kept;
        return length - kept;
    }

    // `count` occurrences of `from`, in `words`, are now those of `to`.
    void become(std::uint64_t from, std::uint64_t to, std::int64_t count, const Places& words) {
        PairCount& gone = pairs_.find(from)->second;
        gone.count -= count;
        if (gone.count == 0) gone.words = {};
        PairCount& made = pairs_[to];
        made.count += count;
        made.words.insert(made.words.end(), words.begin(), words.end());
        made_.push_back(to);
    }

    std::vector<std::string> tokens_;
    std::unordered_map<std::string, Id> ids_;
    std::vector<Id> symbols_;
    std::vector<Word> words_;
    std::unordered_map<std::uint64_t, PairCount> pairs_;
    std::priority_queue<Candidate> queue_;
    Neighbours before_, after_;
    std::vector<std::uint64_t> made_;  // pairs created by the merge
    const std::function<void()>& working_;
    std::size_t visited_ = 0;  // words since working_ was called
};

}  // namespace

BytePairTokenizer train_byte_pairs(const WordCounts& words, std::int64_t vocab,
                                   const std::function<void()>& working) {
    require(vocab >= 257,
            "byte pairs: the vocabulary must be at least 257 (the bytes and {1}), got {0}", vocab,
            BytePairTokenizer::kEndOfText);
    const auto tokens = static_cast<std::size_t>(vocab - 1);
    return BytePairTokenizer::from_merges(Trainer(words, working).merge_up_to(tokens));
}

}  // namespace tapestry
