#include <tapestry/nn/data/bpe_training.h>

#include <tapestry/core/error.h>
#include <tapestry/nn/data/words.h>

#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

using Id = std::uint32_t;

// Ordered as pairs of ids.
std::uint64_t key(Id left, Id right) { return std::uint64_t{left} << 32 | right; }
Id left_of(std::uint64_t pair) { return static_cast<Id>(pair >> 32); }
Id right_of(std::uint64_t pair) { return static_cast<Id>(pair); }

struct Word {
    std::vector<Id> symbols;
    std::int64_t count;
};

struct PairCount {
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  // words that contain it, or did; may have duplicates
};

// A pair and its count when it was queued.
struct Candidate {
    std::int64_t count;
    std::uint64_t pair;
    bool operator<(const Candidate& other) const {  // std's queue has the greatest on top
        return count != other.count ? count < other.count : pair > other.pair;
    }
};

class Trainer {
public:
    Trainer(const WordCounts& words, const std::function<void()>& working) : working_(working) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            tokens_.emplace_back(1, static_cast<char>(byte));
            ids_.emplace(tokens_.back(), static_cast<Id>(byte));
        }
        std::vector<std::pair<std::string_view, std::int64_t>> sorted;
        for (const auto& [word, count] : words) sorted.emplace_back(word, count);
        std::sort(sorted.begin(), sorted.end());
        for (const auto& [text, count] : sorted) add_word(text, count);
        for (const auto& [pair, known] : pairs_) queue_.push({known.count, pair});
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
    void add_word(std::string_view text, std::int64_t count) {
        Word& word = words_.emplace_back(Word{{}, count});
        for (const char byte : text) word.symbols.push_back(static_cast<unsigned char>(byte));
        const auto number = static_cast<std::uint32_t>(words_.size() - 1);
        work(1);
        for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i) {
            note(key(word.symbols[i], word.symbols[i + 1]), count, number);
        }
    }

    void note(std::uint64_t pair, std::int64_t count, std::uint32_t word) {
        PairCount& known = pairs_[pair];
        known.count += count;
        if (known.words.empty() || known.words.back() != word) known.words.push_back(word);
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
        const Id token = token_of(pair);
        const std::vector<std::uint32_t> places = std::exchange(pairs_[pair].words, {});
        made_.clear();
        for (const std::uint32_t number : places) merge_in(number, pair, token);
        work(places.size());
        std::sort(made_.begin(), made_.end());
        made_.erase(std::unique(made_.begin(), made_.end()), made_.end());
        for (const std::uint64_t made : made_) queue_.push({pairs_[made].count, made});
    }

    // Merges within one word, from left to right, and recounts all its pairs, because words are
    // short.
    void merge_in(std::uint32_t number, std::uint64_t pair, Id token) {
        Word& word = words_[number];
        std::vector<Id>& symbols = word.symbols;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            pairs_[key(symbols[i], symbols[i + 1])].count -= word.count;
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            const bool here = i + 1 < symbols.size() && key(symbols[i], symbols[i + 1]) == pair;
            symbols[kept++] = here ? token : symbols[i];
            if (here) ++i;
        }
        symbols.resize(kept);
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const std::uint64_t next = key(symbols[i], symbols[i + 1]);
            if (symbols[i] != token && symbols[i + 1] != token) {
                pairs_[next].count += word.count;
            } else {
                note(next, word.count, number);
                made_.push_back(next);
            }
        }
    }

    std::vector<std::string> tokens_;
    std::unordered_map<std::string, Id> ids_;
    std::vector<Word> words_;
    std::unordered_map<std::uint64_t, PairCount> pairs_;
    std::priority_queue<Candidate> queue_;
    std::vector<std::uint64_t> made_;  // pairs created by the merge
    const std::function<void()>& working_;
    std::size_t visited_ = 0;  // words since working_ was called
};

}  // namespace

void WordCounts::add(std::string_view text) {
    constexpr std::string_view kEnd = BytePairTokenizer::kEndOfText;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(kEnd));
        for (std::size_t at = 0; at < part.size();) {
            const std::string_view word = part.substr(at, word_end(part, at) - at);
            at += word.size();
            bytes_ += static_cast<double>(word.size());
            if (word.size() > kLongest) cut_bytes_ += static_cast<double>(word.size());
            for (std::string_view rest = word; !rest.empty();) {
                const std::size_t end = character_start(rest, kLongest);
                add_word(rest.substr(0, end));
                rest.remove_prefix(end);
            }
        }
        text.remove_prefix(std::min(part.size() + kEnd.size(), text.size()));
    }
}

void WordCounts::add_word(std::string_view word) {
    const auto found = counts_.find(word);
    if (found != counts_.end()) {
        ++found->second;
    } else {
        counts_.emplace(word, 1);
    }
}

double WordCounts::cut_share() const { return bytes_ == 0 ? 0 : cut_bytes_ / bytes_; }

std::int64_t WordCounts::of(std::string_view word) const {
    const auto found = counts_.find(word);
    return found == counts_.end() ? 0 : found->second;
}

BytePairTokenizer train_byte_pairs(const WordCounts& words, std::int64_t vocab,
                                   const std::function<void()>& working) {
    require(vocab >= 257,
            "byte pairs: the vocabulary must be at least 257 (the bytes and {1}), got {0}", vocab,
            BytePairTokenizer::kEndOfText);
    const auto tokens = static_cast<std::size_t>(vocab - 1);
    return BytePairTokenizer::from_merges(Trainer(words, working).merge_up_to(tokens));
}

}  // namespace tapestry
