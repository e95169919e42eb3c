// Right in some elements and wrong in others: which ones, and what is wrong with them?
#include <tapestry/autograd/check/mistake_patterns.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapestry::checker {
namespace {

// Which elements are wrong, beyond what the differences leave open.
struct SplitPlaces {
    std::vector<bool> is_wrong = {};  // by place
    std::size_t wrong = 0, first = 0;
    std::size_t surely_right = 0;  // those in which the others' error would be seen
};

SplitPlaces split(const Wrong& w, double part) {
    constexpr double kClearly = 8;
    const std::size_t n = w.right.size();
    double most = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(w.claimed[i] - w.right[i]));
    SplitPlaces found;
    Values allowed, relative;
    for (std::size_t i = 0; i < n; ++i) {
        const double size = std::abs(w.right[i]), off = std::abs(w.claimed[i] - w.right[i]);
        const double doubt = w.symptoms.doubts.empty() ? 0 : kClearly * w.symptoms.doubts[i];
        allowed.push_back(std::max(doubt, std::min(w.same * size, part * most)));
        found.is_wrong.push_back(off > allowed[i]);
        if (off <= allowed[i]) continue;
        if (found.wrong++ == 0) found.first = i;
        relative.push_back(off / std::max(size, std::abs(w.claimed[i])));
    }
    if (relative.empty()) return found;
    const auto middle = relative.begin() + static_cast<std::ptrdiff_t>(relative.size() / 2);
    std::nth_element(relative.begin(), middle, relative.end());
    for (std::size_t i = 0; i < n; ++i) {
        const bool visible = allowed[i] < 0.25 * *middle * std::abs(w.right[i]);
        if (!found.is_wrong[i] && visible) ++found.surely_right;
    }
    return found;
}

// "the second half", "where x is negative": where exactly those are wrong; empty if nothing fits.
std::string words_for(const Wrong& w, const SplitPlaces& found) {
    const std::size_t n = found.is_wrong.size();
    const auto fits = [&](auto is_in) {
        for (std::size_t i = 0; i < n; ++i) {
            const bool counts = w.right[i] != 0 || w.claimed[i] != 0;
            if (counts && found.is_wrong[i] != is_in(w.symptoms.places[i])) return false;
        }
        return true;
    };
    const std::size_t all = w.symptoms.claimed.size();
    const std::size_t half = all / 2;
    if (fits([=](std::size_t i) { return i < half; })) return "the first half";
    if (fits([=](std::size_t i) { return i >= half; })) return "the second half";
    if (fits([](std::size_t i) { return i % 2 == 0; })) return "every second, from 0";
    if (fits([](std::size_t i) { return i % 2 == 1; })) return "every second, from 1";
    if (found.wrong < 2) return {};  // a single element differs from the others in many ways
    const Values& x = w.symptoms.point;
    if (!x.empty() && fits([&x](std::size_t i) { return x[i] < 0; })) return "where x is negative";
    if (!x.empty() && fits([&x](std::size_t i) { return x[i] > 0; })) return "where x is positive";
    double largest_wrong = 0, least_right = HUGE_VAL, least_wrong = HUGE_VAL, largest_right = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double size = std::abs(w.right[i]);
        double& most = found.is_wrong[i] ? largest_wrong : largest_right;
        double& least = found.is_wrong[i] ? least_wrong : least_right;
        most = std::max(most, size);
        least = std::min(least, size);
    }
    if (largest_wrong < least_right) return "the smaller ones";
    if (least_wrong > largest_right) return "the larger ones";
    return {};
}

// "; there claimed = 0.5 * numeric"; empty if it is no one factor.
std::string factor_there(const Wrong& w, const SplitPlaces& found) {
    Values claimed, right;
    for (std::size_t i = 0; i < found.is_wrong.size(); ++i) {
        if (!found.is_wrong[i]) continue;
        claimed.push_back(w.claimed[i]);
        right.push_back(w.right[i]);
    }
    const double size = dot(right, right);
    if (claimed.size() < 2 || !(size > 0)) return {};
    const double c = dot(claimed, right) / size;
    Values model = right;
    for (double& value : model) value *= c;
    const bool zero = norm(claimed) <= w.same * norm(right);
    const double far = w.is_narrow() ? 2 * w.same : 100 * w.same;
    if (!zero && !(distance(claimed, model) <= far)) return {};
    return zero ? "; there it claims 0" : fmt::format("; there claimed = {:.6g} * numeric", c);
}

// In a narrow format, the error of a pattern (a mean, a multiple of x) has all sizes, down to those
// that the format hides. So if many elements are wrong, one factor must explain them; if few are,
// the others must not even nearly be wrong.
bool is_clear_cut(const Wrong& w, const SplitPlaces& found) {
    constexpr double kNearly = 4;  // times the doubt
    const std::size_t n = found.is_wrong.size();
    if (3 * found.wrong > n) return !factor_there(w, found).empty();
    for (std::size_t i = 0; i < n; ++i) {
        const double doubt = w.symptoms.doubts.empty() ? 0 : w.symptoms.doubts[i];
        const double off = std::abs(w.claimed[i] - w.right[i]);
        if (!found.is_wrong[i] && off > kNearly * doubt) return false;
    }
    return true;
}

Match partly_right(const Wrong& w, bool clearly) {
    constexpr double kFar = 0.01, kFarther = 1e-3;
    SplitPlaces found = split(w, kFar);
    const std::size_t n = found.is_wrong.size();
    if (found.wrong == 0 || found.surely_right == 0) return {};
    if (3 * found.wrong > n) {
        // That many elements are right by more than chance; those that are 0 do not count.
        found = split(w, kFarther);
        std::size_t count = 0;
        for (std::size_t i = 0; i < n; ++i) count += w.right[i] != 0 || w.claimed[i] != 0 ? 1 : 0;
        const bool some = found.surely_right > 0 && 8 * found.surely_right >= count;
        if (found.wrong == 0 || !some || found.wrong == n) return {};
        // Almost all: more likely a cause that a few elements do not show
        if (3 * found.wrong > 2 * n && words_for(w, found).empty()) clearly = true;
    }
    if (w.is_narrow() && !is_clear_cut(w, found)) return {};
    const std::string which = words_for(w, found);
    if (clearly && 3 * found.wrong > n && which.empty() && factor_there(w, found).empty())
        return {};
    return Cause{
        Mistake::partial,
        fmt::format("{} of {} elements are wrong{}, the first is number {}{}", found.wrong, n,
                    which.empty() || found.wrong < 2 ? "" : ": " + which,
                    w.symptoms.places[found.first], factor_there(w, found)),
        "a border: the last elements of a vectorised loop, a mask, a branch, an index that "
        "occurs twice"};
}

}  // namespace

Match looks_clearly_partly_right(const Wrong& w) { return partly_right(w, true); }
Match looks_partly_right(const Wrong& w) { return partly_right(w, false); }

Match looks_off_by_few_values(const Wrong& w) {
    constexpr std::size_t kLeast = 9, kMost = 3;
    if (w.is_narrow() || w.symptoms.cotangent.size() != 1 || w.right.size() < kLeast) return {};
    Values errors;
    double doubt = 0;
    for (std::size_t i = 0; i < w.right.size(); ++i) {
        errors.push_back(w.claimed[i] - w.right[i]);
        if (!w.symptoms.doubts.empty()) doubt = std::max(doubt, 8 * w.symptoms.doubts[i]);
    }
    const double apart = std::max(doubt, same_difference(w, errors) * largest(errors));
    const auto distinct = [apart](Values values) {
        std::sort(values.begin(), values.end());
        std::vector<std::pair<double, std::size_t>> found;
        for (const double value : values) {
            if (found.empty() || value - found.back().first > apart) found.emplace_back(value, 0);
            ++found.back().second;
        }
        return found;
    };
    const auto values = distinct(errors);
    // Each occurs more than once, or nothing confirms them.
    const bool repeated = std::all_of(values.begin(), values.end(),
                                      [](const auto& value) { return value.second > 1; });
    if (values.size() < 2 || values.size() > kMost || !repeated) return {};
    if (2 * distinct(w.right).size() < w.right.size()) return {};
    return Cause{
        Mistake::formula,
        fmt::format("claimed - numeric takes {} values in {} elements, the first is {:.6g}",
                    values.size(), errors.size(), values.front().first),
        "a constant of the formula (a target, label, weight or mask) is not that of f"};
}

}  // namespace tapestry::checker
