#include <tapestry/nn/data/marks.h>

#include <algorithm>

namespace tapestry {

void Marks::add(const std::string& text, std::int64_t id) {
    auto& places = by_byte_[static_cast<unsigned char>(text.front())];
    const auto is_this = [&](std::size_t at) {
        return list_[at].second == id && list_[at].first == text;
    };
    if (std::any_of(places.begin(), places.end(), is_this)) return;
    const auto shorter = std::find_if(places.begin(), places.end(), [&](std::size_t at) {
        return list_[at].first.size() < text.size();
    });
    places.insert(shorter, list_.size());
    list_.emplace_back(text, id);
    longest_ = std::max(longest_, text.size());
}

std::optional<Marks::Found> Marks::find(std::string_view text, std::size_t from) const {
    if (list_.empty()) return {};
    for (std::size_t at = from; at < text.size(); ++at) {
        for (const std::size_t place : by_byte_[static_cast<unsigned char>(text[at])]) {
            const auto& [mark, id] = list_[place];
            if (text.substr(at, mark.size()) == mark) return Found{at, mark.size(), id};
        }
    }
    return {};
}

std::size_t Marks::unfinished(std::string_view text) const {
    for (std::size_t at = text.size() - std::min(text.size(), longest_); at < text.size(); ++at) {
        const std::string_view rest = text.substr(at);
        for (const std::size_t place : by_byte_[static_cast<unsigned char>(rest.front())]) {
            const std::string& mark = list_[place].first;
            if (mark.size() > rest.size() && mark.starts_with(rest)) return at;
        }
    }
    return text.size();
}

}  // namespace tapestry
