// Texts that are one token each in any context: "<|endoftext|>", "<|im_start|>".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

/// Texts and their ids. Finding one compares, at each byte of a text, only those that begin with
/// it.
class Marks {
public:
    /// An occurrence.
    struct Found {
        std::size_t at = 0;    ///< byte where it begins
        std::size_t size = 0;  ///< bytes
        std::int64_t id = 0;   ///< of the mark
    };

    /// Adds a text, which is not empty, unless it is there with this id.
    void add(const std::string& text, std::int64_t id);

    /// Texts and ids, in the order in which they were added.
    const std::vector<std::pair<std::string, std::int64_t>>& list() const { return list_; }
    std::size_t longest() const { return longest_; }  ///< bytes of the longest; 0 if there is none

    /// The first mark at or after byte `from`; of those that begin at one place, the longest.
    std::optional<Found> find(std::string_view text, std::size_t from) const;

    /// Where what may become a mark begins, if the text continues: the first place from which all
    /// of the rest begins a longer mark. text.size() if there is none.
    std::size_t unfinished(std::string_view text) const;

private:
    std::vector<std::pair<std::string, std::int64_t>> list_;
    std::array<std::vector<std::size_t>, 256> by_byte_;  // places in list_, the longest mark first
    std::size_t longest_ = 0;
};

}  // namespace tapestry
