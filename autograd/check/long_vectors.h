// Loops over vectors that may have a million numbers, each in one pass: where f itself is a few
// passes, they decide what a check costs. Their sums have four running totals: additions need not
// wait for one another. Internal to autograd/check.
#pragma once

#include <tapestry/core/random.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapestry::checker {

/// to = x + t u; all have the same size.
void move_along(const std::vector<double>& x, const std::vector<double>& u, double t,
                std::vector<double>& to);

/// a *= b, element by element.
void multiply(std::vector<double>& a, const std::vector<double>& b);

/// u, and 0 for numbers of other groups.
std::vector<double> where_group_is(std::uint8_t group, const std::vector<std::uint8_t>& groups,
                                   const std::vector<double>& u);

/// -1 or 1 each, one bit of the generator for each.
std::vector<double> drawn_signs(std::size_t n, Generator& generator);

/// Evenly between -1 and 1, of 16 bits each.
std::vector<double> drawn_parts(std::size_t n, Generator& generator);

/// u *= max(|x|, least)
void multiply_by_sizes(std::vector<double>& u, const std::vector<double>& x, double least);

/// x += part * signs * x
void shake(std::vector<double>& x, const std::vector<double>& signs, double part);

/// <a, b>
double dot(const std::vector<double>& a, const std::vector<double>& b);

/// <w, a - b>, over the outputs of nonzero weight.
double weighted_difference(const std::vector<double>& w, const std::vector<double>& a,
                           const std::vector<double>& b);

/// Whether all outputs with a nonzero weight are finite.
bool all_finite(const std::vector<double>& w, const std::vector<double>& y);

/// The facts that a quotient needs of f at two points, `above` and `below`, and at x, `base`.
struct Difference {
    bool is_finite = true;    ///< where the weights are not 0
    bool moved = false;       ///< there they differ
    double slope = 0;         ///< <w, above - below>
    double squares = 0;       ///< of w * above
    std::size_t changed = 0;  ///< outputs that differ from `base` in one of the two
    std::uint64_t which = 0;  ///< a hash of their indices
};
/// Of the outputs `of`; of all if these are empty.
Difference difference_of(const std::vector<double>& w, const std::vector<double>& above,
                         const std::vector<double>& below, const std::vector<double>& base,
                         const std::vector<std::size_t>& of = {});

/// The outputs with a weight, if they are less than an eighth of them; otherwise none. (A loop over
/// their indices is not vectorised.)
std::vector<std::size_t> few_weighted(const std::vector<double>& w);

/// The difference along u between a claim and each of the same with bits shaken, without entries
/// that are not finite.
struct Shaken {
    double change = 0;   ///< <shaken - gradient, u>
    double squares = 0;  ///< of the terms of this sum
};
std::vector<Shaken> shaken_along(const std::vector<double>& gradient,
                                 const std::vector<std::vector<double>>& shaken,
                                 const std::vector<double>& u);

/// |gradient * u|; 0 if that is not finite, or the gradient at most `rounding` times as large as
/// the largest change of it when bits are shaken.
std::vector<double> contributions(const std::vector<double>& gradient,
                                  const std::vector<std::vector<double>>& shaken,
                                  const std::vector<double>& u, double rounding);

/// The sum of the squares of gradient * u, without entries that are not finite.
double squares_along(const std::vector<double>& gradient, const std::vector<double>& u);

}  // namespace tapestry::checker
