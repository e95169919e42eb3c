// Whose contribution is wrong: a row of the outputs, half of them, or one. The right gradient is a
// sum over outputs; what the claim is off by may be a multiple of one part of it.
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapestry::checker {
namespace {

constexpr int kEach = -1;  // instead of an axis: every element of the output

std::int64_t size_along(const Shape& output, int axis) {
    return axis == kEach ? numel(output) : output[axis];
}

// Contribution of each index along an axis of the output to the gradient at the places:
// [index][place].
std::vector<Values> contributions(const Wrong& w, const Values& cotangent, int axis) {
    const Shape& output = w.symptoms.output;
    const std::int64_t size = size_along(output, axis);
    const std::int64_t inner = axis == kEach ? 1 : numel(output.sub(axis + 1, output.rank()));
    std::vector<Values> all(static_cast<std::size_t>(size), Values(w.symptoms.places.size(), 0.0));
    for (std::size_t p = 0; p < w.symptoms.slopes.size(); ++p) {
        const Values& slope = w.symptoms.slopes[p];
        for (std::size_t i = 0; i < slope.size(); ++i) {
            const std::int64_t index = static_cast<std::int64_t>(i) / inner % size;
            all[static_cast<std::size_t>(index)][p] += slope[i] * cotangent[i];
        }
    }
    return all;
}

Values less(Values a, const Values& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
    return a;
}

// The c with which `error` = c * `part`, if there is one.
std::optional<double> multiple(const Wrong& w, const Values& error, const Values& part) {
    const double size = dot(part, part);
    if (!(size > 0)) return {};
    const double c = dot(error, part) / size;
    Values model = part;
    for (double& value : model) value *= c;
    if (!(distance(error, model) < same_difference(w, error))) return {};
    return c;
}

struct OutputPart {
    std::string words;  // "the first half"
    std::vector<std::size_t> indices;
};

// Each index by itself, and halves
std::vector<OutputPart> parts_of(std::size_t size) {
    std::vector<OutputPart> parts;
    for (std::size_t i = 0; i < size; ++i) parts.push_back({fmt::format("number {}", i), {i}});
    if (size < 4) return parts;
    std::vector<std::size_t> first, last, even, odd;
    for (std::size_t i = 0; i < size; ++i) {
        (i < size / 2 ? first : last).push_back(i);
        (i % 2 == 0 ? even : odd).push_back(i);
    }
    parts.push_back({"the first half", first});
    parts.push_back({"the second half", last});
    parts.push_back({"every second, from 0", even});
    parts.push_back({"every second, from 1", odd});
    return parts;
}

Values sum_of(const std::vector<Values>& all, const std::vector<std::size_t>& indices) {
    Values sum(all.front().size(), 0.0);
    for (const std::size_t i : indices) {
        for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += all[i][p];
    }
    return sum;
}

Cause cause_of(const Wrong& w, int axis, const OutputPart& part, double c) {
    const Shape& output = w.symptoms.output;
    const bool dropped = std::abs(c + 1) < std::max(1e-3, w.same);
    const std::string whose =
        fmt::format("{} of {} {}", part.words, size_along(output, axis),
                    axis == kEach ? "elements of the output"
                                  : fmt::format("along axis {} of the output", axis));
    if (dropped) {
        return {Mistake::samples,
                fmt::format("numeric - claimed = what {} contributes: it is dropped", whose),
                "an output, sample or branch that propagates no gradient"};
    }
    return {Mistake::rows,
            fmt::format("claimed = {:.6g} * numeric in what {} contributes, and right in the rest",
                        1 + c, whose),
            "a weight, mask, length or scale that belongs to these outputs: left out, applied "
            "twice, or that of another"};
}

}  // namespace

Match looks_off_in_outputs(const Wrong& w) {
    const Symptoms& s = w.symptoms;
    const bool known = !s.other_cotangent.empty() && !s.other_claimed.empty();
    if (s.cotangent.size() < 2 || !known || numel(s.output) < 2) return {};
    if (is_diagonal(w)) return {};  // the elements tell more
    const Values error = less(w.claimed, w.right);
    const Values other_error =
        less(at_places(s.other_claimed, s.places), gradient_for(s, s.other_cotangent));
    constexpr std::int64_t kMany = 4096;
    for (int axis = s.output.rank() > 1 ? kEach : 0; axis < s.output.rank(); ++axis) {
        const std::int64_t size = size_along(s.output, axis);
        if (size < 2 || size > kMany) continue;
        const auto here = contributions(w, s.cotangent, axis),
                   there = contributions(w, s.other_cotangent, axis);
        for (const OutputPart& part : parts_of(here.size())) {
            const auto c = multiple(w, error, sum_of(here, part.indices));
            if (!c) continue;
            const auto again = multiple(w, other_error, sum_of(there, part.indices));
            // The same multiple for another incoming gradient: no accident of a few numbers
            if (again && std::abs(*c - *again) <= std::max(0.01, w.same) * std::abs(*c)) {
                return cause_of(w, axis, part, *c);
            }
        }
    }
    return {};
}

}  // namespace tapestry::checker
