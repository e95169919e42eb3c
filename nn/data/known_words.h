// Where the ids of a word already are: most words of a text have occurred before. A table of its
// own, because looking words up is a large part of encoding a text: a slot has the bytes of a short
// word, so finding it reads no other memory. Internal to nn.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tapestry {

class KnownWords {
public:
    /// Ids `first` up to `first + count` of those of the text.
    struct Place {
        std::size_t first = 0, count = 0;
    };

    /// The place of a word; null if it is not known, until the next add().
    const Place* find(std::string_view word) const {
        if (word.size() > kShort) {
            const auto found = long_.find(word);
            return found == long_.end() ? nullptr : &found->second;
        }
        const Key key = key_of(word);
        const Slot& slot = slots_[index_of(slots_, key)];
        return slot.key == key ? &slot.place : nullptr;
    }

    /// Adds a word that is not known, unless there are too many. It must not be empty and must
    /// outlive the table.
    void add(std::string_view word, const Place& place) {
        if (size() >= kMost) return;
        if (word.size() > kShort) {
            long_.emplace(word, place);
            return;
        }
        if (2 * (short_ + 1) > slots_.size()) grow();
        const Key key = key_of(word);
        slots_[index_of(slots_, key)] = {key, place};
        ++short_;
    }

    std::size_t size() const { return short_ + long_.size(); }

private:
    static constexpr std::size_t kMost = std::size_t{1} << 18;
    static constexpr std::size_t kShort = 15;  // bytes

    /// The bytes of a word, then zeros; in the last byte, how many they are.
    struct Key {
        std::uint64_t low = 0, high = 0;
        bool operator==(const Key&) const = default;
    };
    struct Slot {
        Key key = {};  // of zeros: free
        Place place = {};
    };
    using Slots = std::vector<Slot>;  // a power of two of them, at most half of them taken

    static Key key_of(std::string_view word) {
        std::array<char, sizeof(Key)> bytes{};
        word.copy(bytes.data(), kShort);
        bytes.back() = static_cast<char>(word.size());
        return std::bit_cast<Key>(bytes);
    }

    // The slot of the key, or the free one where it belongs.
    static std::size_t index_of(const Slots& slots, const Key& key) {
        // Multiplying by the golden ratio spreads keys over the upper bits (Knuth, volume 3, 6.4).
        constexpr std::uint64_t kRatio = 0x9E3779B97F4A7C15U;
        const std::uint64_t hash = (key.low * kRatio + key.high) * kRatio;
        const std::size_t mask = slots.size() - 1;
        std::size_t at = (hash >> 32) & mask;
        while (slots[at].key != Key{} && slots[at].key != key) at = (at + 1) & mask;
        return at;
    }

    void grow() {
        Slots larger(2 * slots_.size());
        for (const Slot& slot : slots_) {
            if (slot.key != Key{}) larger[index_of(larger, slot.key)] = slot;
        }
        slots_ = std::move(larger);
    }

    Slots slots_ = Slots(64);
    std::size_t short_ = 0;  // words in slots_
    std::unordered_map<std::string_view, Place> long_;
};

}  // namespace tapestry
