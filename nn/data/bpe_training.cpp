// Merging. All symbols are in one array, a place for each byte, and a merge visits the places where
// its pair begins: text without spaces has few equal words, so there are about as many places as
// bytes, and time and memory are those of visiting each for every merge that it takes part in.
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
using Place = std::uint32_t;
using Places = std::vector<Place>;

// Ordered as pairs of ids.
std::uint64_t key(Id left, Id right) { return std::uint64_t{left} << 32 | right; }
Id left_of(std::uint64_t pair) { return static_cast<Id>(pair >> 32); }
Id right_of(std::uint64_t pair) { return static_cast<Id>(pair); }

struct PairCount {
    std::uint64_t pair = 0;
    std::int64_t count = 0;
    Places places;  // where it begins, or did
};

// The pairs in an open table. References are valid until a pair is added.
class PairTable {
public:
    PairCount& operator[](std::uint64_t pair) {
        if (2 * (size_ + 1) > slots_.size()) grow();
        PairCount& slot = slots_[slot_of(pair)];
        if (slot.pair == kFree) {
            slot.pair = pair;
            ++size_;
        }
        return slot;
    }
    PairCount& at(std::uint64_t pair) { return slots_[slot_of(pair)]; }  // which is there

private:
    static constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();

    std::size_t slot_of(std::uint64_t pair) const {
        const std::size_t mask = slots_.size() - 1;
        // The golden ratio spreads pairs over the upper bits (Knuth, volume 3, section 6.4).
        std::size_t at = (pair * 0x9E3779B97F4A7C15U) >> 32 & mask;
        while (slots_[at].pair != kFree && slots_[at].pair != pair) at = (at + 1) & mask;
        return at;
    }
    void grow() {
        std::vector<PairCount> before(2 * slots_.size(), PairCount{kFree, 0, {}});
        before.swap(slots_);
        for (PairCount& old : before) {
            if (old.pair != kFree) slots_[slot_of(old.pair)] = std::move(old);
        }
    }

    std::vector<PairCount> slots_ = std::vector<PairCount>(1 << 12, PairCount{kFree, 0, {}});
    std::size_t size_ = 0;
};

// A pair and its count when it was queued.
struct Candidate {
    std::int64_t count;
    std::uint64_t pair;
    bool operator<(const Candidate& other) const {  // std's queue has the greatest on top
        return count != other.count ? count < other.count : pair > other.pair;
    }
};

// The symbols found on one side of a pair while it is merged: how often, and where.
class Neighbours {
public:
    void start(std::size_t symbols) { tallies_.resize(symbols); }
    void add(Id symbol, std::int64_t count, Place place) {
        Tally& tally = tallies_[symbol];
        if (tally.places++ == 0) found_.push_back(symbol);
        tally.count += count;
        all_.push_back({symbol, place});
    }
    // Calls f(symbol, count, how many places) for each, which returns the memory for the places;
    // then forgets them.
    template <class F>
    void take(const F& f) {
        for (const Id symbol : found_) {
            Tally& tally = tallies_[symbol];
            tally.end = f(symbol, tally.count, tally.places);
        }
        for (const auto& [symbol, place] : all_) *tallies_[symbol].end++ = place;
        for (const Id symbol : found_) tallies_[symbol] = {};
        found_.clear();
        all_.clear();
    }

private:
    struct Tally {
        std::int64_t count = 0;
        std::size_t places = 0;
        Place* end = nullptr;
    };
    std::vector<Tally> tallies_;
    std::vector<Id> found_;
    std::vector<std::pair<Id, Place>> all_;
};

class Trainer {
public:
    Trainer(const WordCounts& words, const std::function<void()>& working) : working_(working) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            tokens_.emplace_back(1, static_cast<char>(byte));
            sizes_.push_back(1);
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
            const std::int64_t now = pairs_.at(best.pair).count;
            if (now < best.count) queue(now, best.pair);
            if (now != best.count) continue;  // outdated; a larger count was queued as well
            merges.emplace_back(tokens_[left_of(best.pair)], tokens_[right_of(best.pair)]);
            merge(best.pair);
        }
        return merges;
    }

private:
    static constexpr Id kEdge = std::numeric_limits<Id>::max();  // between words
    static constexpr Id kInside = kEdge - 1;                     // where a symbol began

    // Words of one count.
    struct Group {
        std::size_t begin;
        std::int64_t count;
    };
    using Groups = std::vector<Group>;

    // The words by count, so that a place need not know its own.
    void read(const WordCounts& words) {
        std::vector<std::pair<std::int64_t, std::string_view>> all;
        std::size_t size = 1;
        for (const auto& [text, count] : words) {
            all.emplace_back(count, text);
            size += text.size() + 1;
        }
        require(size < kInside, "byte pairs: {} bytes of distinct words are too many", size);
        std::stable_sort(all.begin(), all.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        symbols_.reserve(size);
        symbols_.push_back(kEdge);
        for (const auto& [count, text] : all) {
            if (groups_.empty() || groups_.back().count != count)
                groups_.push_back({symbols_.size(), count});
            for (const char byte : text) symbols_.push_back(static_cast<unsigned char>(byte));
            symbols_.push_back(kEdge);
        }
        groups_.push_back({symbols_.size(), 0});
    }

    // Two passes through the text: the first determines the size of every list.
    void count_pairs() {
        struct Tally {
            std::int64_t count = 0;
            std::size_t places = 0;
            Place* end = nullptr;
        };
        std::vector<Tally> tallies(std::size_t{1} << 16);
        const auto each = [&](const auto& f) {
            for (std::size_t group = 0; group + 1 < groups_.size(); ++group) {
                const std::size_t end = groups_[group + 1].begin;
                for (std::size_t i = groups_[group].begin; i < end; ++i) {
                    if (symbols_[i] != kEdge && symbols_[i + 1] != kEdge)
                        f(tallies[symbols_[i] << 8 | symbols_[i + 1]], i, groups_[group].count);
                }
                work(end - groups_[group].begin);
            }
        };
        each([&](Tally& tally, std::size_t, std::int64_t count) {
            tally.count += count;
            ++tally.places;
        });
        for (std::size_t i = 0; i < tallies.size(); ++i) {
            Tally& tally = tallies[i];
            if (tally.count == 0) continue;
            PairCount& known = pairs_[key(static_cast<Id>(i >> 8), static_cast<Id>(i & 255U))];
            known.count = tally.count;
            known.places.resize(tally.places);
            tally.end = known.places.data();
            queue(known.count, known.pair);
        }
        each([](Tally& tally, std::size_t place, std::int64_t) {
            *tally.end++ = static_cast<Place>(place);
        });
    }

    void queue(std::int64_t count, std::uint64_t pair) {
        if (count > 1) queue_.push({count, pair});
    }

    // After so many places were visited.
    void work(std::size_t places) {
        constexpr std::size_t kOften = 100'000;
        visited_ += places;
        if (visited_ < kOften) return;
        visited_ = 0;
        if (working_) working_();
    }

    // The token that the pair becomes; another pair may already have given the same one.
    Id token_of(std::uint64_t pair) {
        const std::string text = tokens_[left_of(pair)] + tokens_[right_of(pair)];
        const auto [found, is_new] = ids_.emplace(text, static_cast<Id>(tokens_.size()));
        if (is_new) {
            tokens_.push_back(text);
            sizes_.push_back(static_cast<std::uint32_t>(text.size()));
        }
        return found->second;
    }

    void merge(std::uint64_t pair) {
        const Id left = left_of(pair), right = right_of(pair), token = token_of(pair);
        before_.start(tokens_.size());
        after_.start(tokens_.size());
        Places places = std::exchange(pairs_.at(pair).places, {});
        // Occurrences that overlap are merged from left to right.
        if (!std::is_sorted(places.begin(), places.end())) std::sort(places.begin(), places.end());
        pairs_.at(pair).count -= merge_at(places, left, right, token);
        made_.clear();
        // In this order no count is below 0: (token, left) may come after, and go before.
        after_.take([&](Id y, std::int64_t count, std::size_t n) {
            return become(key(right, y), key(token, y), count, n);
        });
        before_.take([&](Id x, std::int64_t count, std::size_t n) {
            return become(key(x, left), key(x, token), count, n);
        });
        for (const std::uint64_t made : made_) queue(pairs_.at(made).count, made);
    }

    // The words at `place`, which is in group `first` or a later one.
    Groups::const_iterator group_of(Place place, Groups::const_iterator first) const {
        return std::upper_bound(first, groups_.end(), place,
                                [](Place at, const Group& group) { return at < group.begin; }) -
               1;
    }

    // Merges where the pair still is. Returns how often.
    std::int64_t merge_at(const Places& places, Id left, Id right, Id token) {
        const std::size_t left_size = sizes_[left], size = left_size + sizes_[right];
        std::int64_t merged = 0;
        auto group = groups_.cbegin();
        for (std::size_t i = 0; i < places.size(); ++i) {
            work(1);
            // Memory far apart: fetched before it is needed.
            constexpr std::size_t kAhead = 16;
            if (i + kAhead < places.size()) {
                const Id* const later = symbols_.data() + places[i + kAhead];
                __builtin_prefetch(later - 1);
                __builtin_prefetch(later + size);
            }
            const Place place = places[i];
            Id* const s = symbols_.data() + place;
            if (s[0] != left || s[left_size] != right) continue;
            if (place >= group[1].begin) group = group_of(place, group + 1);
            const std::int64_t count = group->count;
            const Id x = s[-1], y = s[size];
            if (x != kEdge) before_.add(x, count, place - sizes_[x]);
            if (y != kEdge) after_.add(y, count, place);
            s[left_size] = kInside;
            s[0] = s[size - 1] = token;
            merged += count;
        }
        return merged;
    }

    // `count` occurrences of `from` are now those of `to`. Returns memory for their places.
    Place* become(std::uint64_t from, std::uint64_t to, std::int64_t count, std::size_t places) {
        PairCount& gone = pairs_.at(from);
        gone.count -= count;
        if (gone.count == 0) gone.places = {};
        PairCount& made = pairs_[to];
        made.count += count;
        made.places.resize(made.places.size() + places);
        made_.push_back(to);
        return made.places.data() + made.places.size() - places;
    }

    std::vector<std::string> tokens_;
    std::vector<std::uint32_t> sizes_;  // of the tokens, in bytes
    std::unordered_map<std::string, Id> ids_;
    // At the first and the last place of a symbol its id. Words are between edges.
    std::vector<Id> symbols_;
    Groups groups_;  // by begin; the last is the end
    PairTable pairs_;
    std::priority_queue<Candidate> queue_;
    Neighbours before_, after_;
    std::vector<std::uint64_t> made_;  // pairs created by the merge
    const std::function<void()>& working_;
    std::size_t visited_ = 0;  // places since working_ was called
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
