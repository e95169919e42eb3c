#include <tapestry/nn/data/split_by_label.h>

#include <algorithm>

namespace tapestry {

SplitByLabel split_by_label(const std::vector<std::int64_t>& targets, std::int64_t labels) {
    constexpr std::int64_t kOneOf = 10;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(labels), 0), seen(counts);
    for (const std::int64_t target : targets) ++counts[static_cast<std::size_t>(target)];
    SplitByLabel split{
        .train = {}, .held_out = {}, .single = std::count(counts.begin(), counts.end(), 1)};
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const auto label = static_cast<std::size_t>(targets[i]);
        const std::int64_t n = ++seen[label], of = counts[label];
        const bool is_last_of_few = of > 1 && of < kOneOf && n == of;
        (n % kOneOf == 0 || is_last_of_few ? split.held_out : split.train).push_back(i);
    }
    return split;
}

}  // namespace tapestry
