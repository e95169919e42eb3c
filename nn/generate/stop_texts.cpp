#include <tapestry/nn/generate/stop_texts.h>

#include <tapestry/core/error.h>

#include <algorithm>
#include <utility>

namespace tapestry {

StopTexts::StopTexts(std::vector<std::string> stops) : stops_(std::move(stops)) {
    for (const std::string& stop : stops_) {
        require(!stop.empty(), "sample: a stop text is empty, which would end every text");
    }
}

// Length of the longest end of the waiting text that begins a stop text.
std::size_t StopTexts::possible_beginning() const {
    std::size_t longest = 0;
    for (const std::string& stop : stops_) {
        for (std::size_t n = std::min(stop.size() - 1, waiting_.size()); n > longest; --n) {
            if (waiting_.ends_with(std::string_view(stop).substr(0, n))) longest = n;
        }
    }
    return longest;
}

std::string StopTexts::next(std::string_view text) {
    if (found_) return {};
    waiting_ += text;
    std::size_t end = std::string::npos;
    for (const std::string& stop : stops_) end = std::min(end, waiting_.find(stop));
    found_ = end != std::string::npos;
    if (!found_) end = waiting_.size() - possible_beginning();
    std::string passed = waiting_.substr(0, end);
    waiting_.erase(0, end);
    return passed;
}

std::string StopTexts::finish() { return found_ ? "" : std::exchange(waiting_, {}); }

}  // namespace tapestry
