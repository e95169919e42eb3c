#include <tapestry/nn/data/splits.h>

#include <tapestry/core/create.h>
#include <tapestry/ops/check.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace tapestry {
namespace {

void check_split(const char* function, const char* what, const Tensor& x, double fraction) {
    check_defined(function, x);
    require<ShapeError>(x.rank() == 1, "{}: {} must be [N], got {}", function, what, x.shape());
    require(fraction > 0 && fraction < 1, "{}: the fraction must be between 0 and 1, got {}",
            function, fraction);
}

HeldOut divided(const std::vector<bool>& is_held_out) {
    std::vector<std::int64_t> parts[2];
    for (std::size_t i = 0; i < is_held_out.size(); ++i) {
        parts[is_held_out[i] ? 1 : 0].push_back(static_cast<std::int64_t>(i));
    }
    return {tensor(parts[0], {std::ssize(parts[0])}), tensor(parts[1], {std::ssize(parts[1])})};
}

}  // namespace

HeldOut split_by_group(const Tensor& groups, double fraction, Generator& generator) {
    check_split("split_by_group", "groups", groups, fraction);
    check_dtype("split_by_group", groups, DType::i64);
    const auto ids = groups.to_vector<std::int64_t>();
    std::map<std::int64_t, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < ids.size(); ++i) members[ids[i]].push_back(i);
    require(members.size() >= 2, "split_by_group: needs two groups, got {}", members.size());
    std::vector<const std::vector<std::size_t>*> in_order;
    for (const auto& [group, rows] : members) in_order.push_back(&rows);
    const double wanted = fraction * static_cast<double>(ids.size());
    std::vector<bool> is_held_out(ids.size(), false);
    double held_out = 0;
    std::size_t left = in_order.size();
    for (const std::int64_t chosen :
         randperm(std::ssize(in_order), generator).to_vector<std::int64_t>()) {
        if (held_out >= wanted || left == 1) break;
        const auto& rows = *in_order[static_cast<std::size_t>(chosen)];
        for (const std::size_t row : rows) is_held_out[row] = true;
        held_out += static_cast<double>(rows.size());
        --left;
    }
    return divided(is_held_out);
}

HeldOut split_by_time(const Tensor& times, double fraction) {
    check_split("split_by_time", "times", times, fraction);
    require<DTypeError>(times.dtype() != DType::boolean,
                        "split_by_time: times must be numbers, got bool");
    // Whole numbers are compared as such: nanoseconds since 1970 do not fit doubles.
    std::vector<bool> is_held_out(static_cast<std::size_t>(times.numel()));
    const auto split = [&](const auto& values) {
        for (const auto time : values) {
            require(time == time, "split_by_time: a time is NaN");
        }
        auto sorted = values;
        std::sort(sorted.begin(), sorted.end());
        require(!sorted.empty() && sorted.front() != sorted.back(),
                "split_by_time: all {} times are equal", values.size());
        const double n = static_cast<double>(values.size());
        const auto at = static_cast<std::size_t>(std::ceil(n * (1 - fraction) - 1e-9 * n));
        auto cut = sorted[std::min(at, sorted.size() - 1)];
        if (cut == sorted.front()) cut = *std::upper_bound(sorted.begin(), sorted.end(), cut);
        for (std::size_t i = 0; i < values.size(); ++i) is_held_out[i] = values[i] >= cut;
    };
    if (times.dtype() == DType::i64) {
        split(times.to_vector<std::int64_t>());
    } else {
        split(times.to_vector<double>());
    }
    return divided(is_held_out);
}

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
