// The claims of one leaf against differences of the subject: entry by entry or along directions.
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/report.h>
#include <tapestry/autograd/check/subject.h>

namespace tapestry::checker {

/// What a rule claims for some weights: the gradient, and the same again with the last bits of
/// everything it depends on changed.
struct ClaimedGradient {
    std::vector<double> weights;
    std::vector<double> gradient;
    std::vector<std::vector<double>> shaken = {};
    std::string of = {};  ///< which outputs are weighted, in words: "output element 3"
    bool evened = false;  ///< by weights of evened()
};

/// How closely slopes are looked at.
struct Examination {
    GradcheckLimits limits;
    /// PyTorch's |claimed - numeric| <= atol + rtol |numeric| with step eps, instead of the derived
    /// tolerance.
    bool fixed = false;
    double eps = 1e-6;
    double atol = 1e-5;
    double rtol = 1e-3;
    /// By how much an output may be off, as its author declares: so much, and this part of itself.
    double noise = 0;
    double relative_noise = 0;
};

/// Every entry of leaf `which` for every claim. Where there are several, messages say which.
void compare_entries(Subject& subject, std::size_t which, const Neighbourhood& around,
                     const std::vector<ClaimedGradient>& claims, const Examination& examination,
                     InputReport& report);

/// `count` random directions for every claim; entry by entry where they cross kinks and the leaf is
/// no giant.
void compare_directions(Subject& subject, std::size_t which, const Neighbourhood& around,
                        const std::vector<ClaimedGradient>& claims, int count, std::uint64_t seed,
                        const Examination& examination, InputReport& report);

/// One entry of leaf `which`, for one claim. `hidden`: where it is known already.
SlopeReport examine_entry(Subject& subject, std::size_t which, std::size_t entry,
                          const Neighbourhood& around, const ClaimedGradient& claim,
                          const Examination& examination, const HiddenNoise& hidden = {});

/// One slope of <weights, f>; the Judgement says how it went.
Judgement examine(Line& line, const std::vector<double>& weights, const Neighbourhood& around,
                  const Claim& claim, const Examination& examination, bool one_number = true,
                  const HiddenNoise& hidden = {});

/// `weights`, those of outputs that are much smaller than the largest made larger, so that the
/// gradient of none is lost in that of another; unchanged where all are of about one size.
std::vector<double> evened(const std::vector<double>& weights, const Neighbourhood& around);

/// claims of slopes along u: <gradient, u>, with its uncertainty and scale.
Claim claim_along(const ClaimedGradient& claim, const std::vector<double>& u);

/// A small size among the numbers in x: nine tenths of those that are not 0 are as large. 1 if all
/// are 0.
double typical_size(const std::vector<double>& x);

/// A direction of random signs, in which every number moves in proportion to its own size (a mask
/// may have put -1e30 beside 1), or to the typical one where that is larger.
std::vector<double> random_direction(const std::vector<double>& x, std::uint64_t seed);

/// "[2, 5]": the index of an element in row-major order.
std::string index_text(const Shape& shape, std::int64_t flat);

/// Why there is a kink where x moves by t u, in words.
std::string kink_note(Subject& subject, std::size_t which, const std::vector<double>& u,
                      const Judgement& judgement);

}  // namespace tapestry::checker
