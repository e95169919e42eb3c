// The words of a text and their counts: one string holds all words, and an open table finds them.
// Read next: bpe_training.cpp, which learns from them.
#include <tapestry/nn/data/bpe_training.h>

#include <tapestry/core/error.h>
#include <tapestry/nn/data/words.h>

#include <algorithm>
#include <functional>

namespace tapestry {
namespace {

std::uint32_t hash_of(std::string_view word) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(word));
}

}  // namespace

WordCounts::WordCounts(std::size_t most_bytes) : most_bytes_(most_bytes), generator_(1998) {
    require(most_bytes >= kLongest, "word counts: the limit must be at least {} bytes, got {}",
            kLongest, most_bytes);
    resize_table(1024);
}

void WordCounts::add(std::string_view text) {
    constexpr std::string_view kEnd = BytePairTokenizer::kEndOfText;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(kEnd));
        for (std::size_t at = 0; at < part.size();) {
            const std::string_view word = part.substr(at, word_end(part, at) - at);
            at += word.size();
            all_bytes_ += static_cast<double>(word.size());
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

// The place of the word in the table, or the free one where it belongs.
std::size_t WordCounts::slot_of(std::string_view word, std::uint32_t hash) const {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
        const Slot& slot = table_[at];
        if (slot.number == 0 || (slot.hash == hash && text_of(slot.number - 1) == word)) return at;
    }
}

void WordCounts::add_word(std::string_view word) {
    const std::uint32_t hash = hash_of(word);
    const Slot& slot = table_[slot_of(word, hash)];
    if (slot.number != 0) {
        ++words_[slot.number - 1].count;
    } else if (sampling_ == 1 || generator_.below(static_cast<std::uint64_t>(sampling_)) == 0) {
        insert(word, hash, 1);
        while (bytes_.size() > most_bytes_) sample_fewer();
    }
}

void WordCounts::insert(std::string_view word, std::uint32_t hash, std::int64_t count) {
    if (2 * words_.size() >= table_.size()) resize_table(2 * table_.size());
    words_.push_back({bytes_.size(), static_cast<std::uint32_t>(word.size()), hash, count});
    bytes_ += word;
    table_[slot_of(word, hash)] = {hash, static_cast<std::uint32_t>(words_.size())};
}

void WordCounts::resize_table(std::size_t slots) {
    table_.assign(slots, {});
    for (std::size_t i = 0; i < words_.size(); ++i) {
        const std::uint32_t hash = words_[i].hash;
        std::size_t at = hash & (slots - 1);
        while (table_[at].number != 0) at = (at + 1) & (slots - 1);
        table_[at] = {hash, static_cast<std::uint32_t>(i + 1)};
    }
}

// Halves the probability, as if it had been so from the beginning: the occurrence with which a word
// was added is one of the new sample with probability 1/2, each later one with the new probability;
// the count begins with the first that is.
void WordCounts::sample_fewer() {
    sampling_ *= 2;
    std::vector<Word> words;
    std::string bytes;
    words.swap(words_);
    bytes.swap(bytes_);
    std::uint64_t odds = 2;
    for (Word& word : words) {
        for (odds = 2; word.count > 0 && generator_.below(odds) != 0; --word.count) {
            odds = static_cast<std::uint64_t>(sampling_);
        }
        if (word.count == 0) continue;
        const std::size_t begin = bytes_.size();
        bytes_.append(bytes, word.begin, word.size);
        word.begin = begin;
        words_.push_back(word);
    }
    resize_table(table_.size());
}

double WordCounts::cut_share() const { return all_bytes_ == 0 ? 0 : cut_bytes_ / all_bytes_; }

std::int64_t WordCounts::of(std::string_view word) const {
    const Slot& slot = table_[slot_of(word, hash_of(word))];
    return slot.number == 0 ? 0 : count_of(slot.number - 1);
}

}  // namespace tapestry
