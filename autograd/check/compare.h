// Compares the claims for one leaf with differences of the subject: entry by entry or along
// directions. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/report.h>
#include <tapestry/autograd/check/subject.h>

#include <span>

namespace tapestry::checker {

/// The gradient that a rule claims for some weights, and again with the last bits of everything
/// that it depends on changed.
struct ClaimedGradient {
    std::vector<double> weights;
    std::vector<double> gradient;
    std::vector<std::vector<double>> shaken = {};
    std::string of = {};  ///< the outputs that are weighted, in words: "output element 3"
    bool evened = false;  ///< the weights are those of evened()
    bool alone = false;   ///< its outputs round as small as they are, not as those of other claims
    /// Contributions, slopes times sizes of x, that a rule in f32 may give as 0; 0 for other rules.
    double unseen = 0;
    /// What all lines share.
    std::shared_ptr<WeightedHere> here = std::make_shared<WeightedHere>();
};

/// How thoroughly slopes are examined.
struct Examination {
    GradcheckLimits limits;
    /// PyTorch's |claimed - numeric| <= atol + rtol |numeric| with step eps, instead of the derived
    /// tolerance.
    bool fixed = false;
    double eps = 1e-6;
    double atol = 1e-5;
    double rtol = 1e-3;
    /// The error of an output as its author declares it: absolute, and relative to the output.
    double noise = 0;
    double relative_noise = 0;
};

/// Checks every entry of leaf `which` for every claim. With several claims, messages name the
/// claim.
void compare_entries(Subject& subject, std::size_t which, const Neighbourhood& around,
                     std::span<const ClaimedGradient> claims, const Examination& examination,
                     InputReport& report);

/// Checks `count` random directions for every claim; entry by entry where they cross kinks, unless
/// the leaf is huge.
void compare_directions(Subject& subject, std::size_t which, const Neighbourhood& around,
                        std::span<const ClaimedGradient> claims, int count, std::uint64_t seed,
                        const Examination& examination, InputReport& report);

/// Checks one entry of leaf `which` for one claim. `hidden`: its noise, if already known.
SlopeReport examine_entry(Subject& subject, std::size_t which, std::size_t entry,
                          const Neighbourhood& around, const ClaimedGradient& claim,
                          const Examination& examination, const HiddenNoise& hidden = {});

/// Checks one slope of <weights, f>; the Judgement is the result.
Judgement examine(Line& line, const std::vector<double>& weights, const Neighbourhood& around,
                  const Claim& claim, const Examination& examination, bool one_number = true,
                  const HiddenNoise& hidden = {});

/// A failure of a plain function at x becomes INCONCLUSIVE if the differences found the slope
/// between two of f's jumps, as of a denominator under a rounded numerator: the slope over a few of
/// them leads to the claim, f falls between them by what they raise it, or they are on both sides.
void leave_open_if_between_jumps(Line& line, double x, const std::vector<double>& weights,
                                 double claimed, const Examination& examination,
                                 Judgement& judgement);

/// `weights`, with larger weights for outputs that are much smaller than the largest: no
/// output's gradient is lost in that of another; unchanged if all are of about the same size.
std::vector<double> evened(const std::vector<double>& weights, const Neighbourhood& around);

/// Adds one more slope to the report of its leaf. Small outputs that were scaled up (`evened`) may
/// be nothing but rounding: their inconclusive slopes do not count against the others.
void add_slope(InputReport& report, SlopeReport slope, bool evened);

/// The claimed slope along u: <gradient, u>, with its uncertainty and scale.
Claim claim_along(const ClaimedGradient& claim, const std::vector<double>& u);

/// A small size among the numbers in x: nine tenths of those that are not 0 are at least as large.
/// 1 if all are 0.
double typical_size(const std::vector<double>& x);

/// A direction of random signs in which every number moves in proportion to its own size (a mask
/// may have put -1e30 next to 1), or to the typical size if that is larger.
std::vector<double> random_direction(const std::vector<double>& x, std::uint64_t seed);
std::vector<double> random_direction(const std::vector<double>& x, std::uint64_t seed,
                                     double typical);

/// "[2, 5]": the index of an element in row-major order.
std::string index_text(const Shape& shape, std::int64_t flat);

/// The reason for a kink where x moves by t u, in words.
std::string kink_note(Subject& subject, std::size_t which, const std::vector<double>& u,
                      const Judgement& judgement);

}  // namespace tapestry::checker
