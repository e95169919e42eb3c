#include <tapestry/autograd/check/long_vectors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tapestry::checker {
namespace {

using Values = std::vector<double>;

constexpr double kLargest = std::numeric_limits<double>::max();

// The sums of kSums terms each, which term(i, add) hands to add(which, value). Counts are sums of
// 1.0, which a vector unit adds like the others.
template <std::size_t kSums, class Term>
std::array<double, kSums> sums(std::size_t n, const Term& term) {
    constexpr std::size_t kTotals = 4;
    std::array<std::array<double, kTotals>, kSums> totals{};
    std::size_t i = 0;
    for (; i + kTotals <= n; i += kTotals) {
        const auto here = [&](std::size_t j) {
            term(i + j, [&](std::size_t which, double value) { totals[which][j] += value; });
        };
        here(0), here(1), here(2), here(3);
    }
    std::array<double, kSums> all{};
    for (std::size_t k = 0; k < kSums; ++k) {
        const auto& t = totals[k];
        all[k] = (t[0] + t[1]) + (t[2] + t[3]);
    }
    for (; i < n; ++i) {
        term(i, [&](std::size_t which, double value) { all[which] += value; });
    }
    return all;
}

double if_finite(double x) { return std::abs(x) <= kLargest ? x : 0.0; }

}  // namespace

void move_along(const Values& x, const Values& u, double t, Values& to) {
    to.resize(x.size());
    const double *from = x.data(), *by = u.data();
    double* const there = to.data();
    const std::size_t n = x.size();
    for (std::size_t i = 0; i < n; ++i) there[i] = from[i] + t * by[i];
}

void multiply(Values& a, const Values& b) {
    double* const to = a.data();
    const double* const by = b.data();
    const std::size_t n = a.size();
    for (std::size_t i = 0; i < n; ++i) to[i] *= by[i];
}

Values where_group_is(std::uint8_t group, const std::vector<std::uint8_t>& groups,
                      const Values& u) {
    Values part(u.size());
    double* const to = part.data();
    const double* const from = u.data();
    const std::uint8_t* const of = groups.data();
    const std::size_t n = u.size();
    for (std::size_t i = 0; i < n; ++i) to[i] = of[i] == group ? from[i] : 0.0;
    return part;
}

Values drawn_signs(std::size_t n, Generator& generator) {
    constexpr std::size_t kBits = 64;
    constexpr auto kMinusOne = std::bit_cast<std::uint64_t>(-1.0);
    Values signs(n);
    double* const to = signs.data();
    for (std::size_t from = 0; from < n; from += kBits) {
        const std::uint64_t bits = generator.next();
        const std::size_t count = std::min(n - from, kBits);
        for (std::size_t i = 0; i < count; ++i) {
            to[from + i] = std::bit_cast<double>(kMinusOne ^ (bits >> i << 63U));
        }
    }
    return signs;
}

Values drawn_parts(std::size_t n, Generator& generator) {
    constexpr std::size_t kNumbers = 4;
    // Numbers of few digits would make whole periods of f of all steps from x = 1: 2^-15 is too
    // even.
    constexpr double kUnit = 0x1p-15 * 0.9876543210987654;
    Values parts(n);
    double* const to = parts.data();
    for (std::size_t from = 0; from < n; from += kNumbers) {
        const std::uint64_t bits = generator.next();
        const std::size_t count = std::min(n - from, kNumbers);
        for (std::size_t i = 0; i < count; ++i) {
            const auto number = static_cast<std::int16_t>(bits >> (16 * i));
            to[from + i] = (number + 0.5) * kUnit;
        }
    }
    return parts;
}

void multiply_by_sizes(Values& u, const Values& x, double least) {
    double* const to = u.data();
    const double* const from = x.data();
    const std::size_t n = u.size();
    for (std::size_t i = 0; i < n; ++i) to[i] *= std::max(std::abs(from[i]), least);
}

void shake(Values& x, const Values& signs, double part) {
    double* const to = x.data();
    const double* const sign = signs.data();
    const std::size_t n = x.size();
    for (std::size_t i = 0; i < n; ++i) to[i] += to[i] * sign[i] * part;
}

double dot(const Values& a, const Values& b) {
    const double *one = a.data(), *other = b.data();
    return sums<1>(a.size(), [=](std::size_t i, const auto& add) { add(0, one[i] * other[i]); })[0];
}

double weighted_difference(const Values& w, const Values& a, const Values& b) {
    const double *weight = w.data(), *above = a.data(), *below = b.data();
    return sums<1>(w.size(), [=](std::size_t i, const auto& add) {
        const double apart = weight[i] * (above[i] - below[i]);
        add(0, weight[i] != 0 ? apart : 0.0);
    })[0];
}

bool all_finite(const Values& w, const Values& y) {
    const double *weight = w.data(), *value = y.data();
    return sums<1>(w.size(), [=](std::size_t i, const auto& add) {
               const double not_finite = std::abs(value[i]) <= kLargest ? 0.0 : 1.0;
               add(0, weight[i] != 0 ? not_finite : 0.0);
           })[0] == 0;
}

namespace {

// Two numbers of a vector unit, and a comparison of two: compilers do not vectorise this much in
// one loop by themselves.
using Pair __attribute__((vector_size(16))) = double;
using Mask = decltype(Pair{} != Pair{});
using Words __attribute__((vector_size(16))) = std::uint64_t;

Pair pair_at(const double* from) {
    Pair two;
    std::memcpy(&two, from, sizeof two);
    return two;
}

// x; 0 where the mask is.
Pair where(Mask mask, Pair x) { return std::bit_cast<Pair>(mask & std::bit_cast<Mask>(x)); }

Mask are_finite(Pair x) { return (x <= kLargest) & (x >= -kLargest); }

// The summand of the hash for output i, i + 1 times this:
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

template <class Integers>
Integers hashed(Integers place) {
    return place ^ (place >> 29U);
}

// The vectors that a difference is made of, and what it adds for one output.
struct Terms {
    const double *weight, *above, *below, *base;

    void add_to(Difference& found, std::size_t i) const {
        const double a = above[i], b = below[i], apart = a - b, size = weight[i] * a;
        const bool counts = weight[i] != 0, changed = (a != base[i]) | (b != base[i]);
        // inf - inf and NaN - NaN are NaN; what is too large for a double counts as well
        const bool is_finite = std::abs(a) <= kLargest && std::abs(b) <= kLargest;
        found.is_finite = found.is_finite && (is_finite || !counts);
        found.moved = found.moved || (counts && a != b);
        found.slope += counts ? weight[i] * apart : 0.0;
        found.squares += counts ? size * size : 0.0;
        found.changed += changed ? 1 : 0;
        found.which += changed ? hashed((i + 1) * kGolden) : 0;
    }
};

// Of some outputs, with the same four running totals.
Difference difference_of_few(const Terms& terms, const std::vector<std::size_t>& of) {
    constexpr std::size_t kTotals = 4;
    std::array<Difference, kTotals> all{};
    std::size_t k = 0;
    for (; k + kTotals <= of.size(); k += kTotals) {
        for (std::size_t j = 0; j < kTotals; ++j) terms.add_to(all[j], of[k + j]);
    }
    Difference found{
        .slope = (all[0].slope + all[1].slope) + (all[2].slope + all[3].slope),
        .squares = (all[0].squares + all[1].squares) + (all[2].squares + all[3].squares)};
    for (const Difference& one : all) {
        found.is_finite = found.is_finite && one.is_finite;
        found.moved = found.moved || one.moved;
        found.changed += one.changed;
        found.which += one.which;
    }
    for (; k < of.size(); ++k) terms.add_to(found, of[k]);
    return found;
}

}  // namespace

Difference difference_of(const Values& w, const Values& above, const Values& below,
                         const Values& base, const std::vector<std::size_t>& of) {
    const Terms terms{w.data(), above.data(), below.data(), base.data()};
    if (!of.empty()) return difference_of_few(terms, of);
    constexpr std::size_t kPairs = 2;
    Pair slope[kPairs]{}, squares[kPairs]{};
    Mask changed{}, moved{}, bad{};
    Words which{}, place[kPairs]{{kGolden, 2 * kGolden}, {3 * kGolden, 4 * kGolden}};
    std::size_t i = 0;
    for (; i + 2 * kPairs <= w.size(); i += 2 * kPairs) {
        for (std::size_t k = 0; k < kPairs; ++k) {
            const std::size_t at = i + 2 * k;
            const Pair weight = pair_at(terms.weight + at), here = pair_at(terms.base + at);
            const Pair a = pair_at(terms.above + at), b = pair_at(terms.below + at);
            const Mask counts = weight != 0.0, differs = (a != here) | (b != here);
            const Pair size = weight * a;
            slope[k] += where(counts, weight * (a - b));
            squares[k] += where(counts, size * size);
            moved |= counts & (a != b);
            bad |= counts & ~(are_finite(a) & are_finite(b));
            changed -= differs;
            which += std::bit_cast<Words>(differs) & hashed(place[k]);
            place[k] += 2 * kPairs * kGolden;
        }
    }
    Difference found{.is_finite = (bad[0] | bad[1]) == 0,
                     .moved = (moved[0] | moved[1]) != 0,
                     .slope = (slope[0][0] + slope[0][1]) + (slope[1][0] + slope[1][1]),
                     .squares = (squares[0][0] + squares[0][1]) + (squares[1][0] + squares[1][1]),
                     .changed = static_cast<std::size_t>(changed[0] + changed[1]),
                     .which = which[0] + which[1]};
    for (; i < w.size(); ++i) terms.add_to(found, i);
    return found;
}

std::vector<std::size_t> few_weighted(const Values& w) {
    constexpr std::size_t kFew = 8, kWorthIt = 64;
    std::vector<std::size_t> few;
    for (std::size_t i = 0; i < w.size(); ++i) {
        if (w[i] == 0) continue;
        if (kFew * (few.size() + 1) > w.size()) return {};
        few.push_back(i);
    }
    if (w.size() < kWorthIt) few.clear();
    return few;
}

// In blocks that stay in the cache while all shaken ones are read.
std::vector<Shaken> shaken_along(const Values& gradient, const std::vector<Values>& shaken,
                                 const Values& u) {
    constexpr std::size_t kBlock = 2048;
    std::vector<Shaken> all(shaken.size());
    for (std::size_t from = 0; from < u.size(); from += kBlock) {
        const std::size_t count = std::min(kBlock, u.size() - from);
        const double *slope = gradient.data() + from, *by = u.data() + from;
        for (std::size_t k = 0; k < shaken.size(); ++k) {
            const double* const other = shaken[k].data() + from;
            const auto found = sums<2>(count, [=](std::size_t i, const auto& add) {
                const double term = if_finite(other[i] - slope[i]) * by[i];
                add(0, term);
                add(1, term * term);
            });
            all[k].change += found[0];
            all[k].squares += found[1];
        }
    }
    return all;
}

Values contributions(const Values& gradient, const std::vector<Values>& shaken, const Values& u,
                     double rounding) {
    constexpr std::size_t kBlock = 2048;
    Values all(u.size());
    std::array<double, kBlock> moved{};
    for (std::size_t from = 0; from < u.size(); from += kBlock) {
        const std::size_t count = std::min(kBlock, u.size() - from);
        const double *slope = gradient.data() + from, *by = u.data() + from;
        std::fill_n(moved.begin(), count, 0.0);
        for (const Values& one : shaken) {
            const double* const other = one.data() + from;
            for (std::size_t i = 0; i < count; ++i) {
                const double change = std::abs(if_finite(other[i] - slope[i]));
                moved[i] = change > moved[i] ? change : moved[i];
            }
        }
        double* const to = all.data() + from;
        for (std::size_t i = 0; i < count; ++i) {
            const double size = std::abs(if_finite(slope[i] * by[i]));
            to[i] = std::abs(slope[i]) <= rounding * moved[i] ? 0.0 : size;
        }
    }
    return all;
}

double squares_along(const Values& gradient, const Values& u) {
    const double *slope = gradient.data(), *by = u.data();
    return sums<1>(u.size(), [=](std::size_t i, const auto& add) {
        const double term = if_finite(slope[i]) * by[i];
        add(0, term * term);
    })[0];
}

}  // namespace tapestry::checker
