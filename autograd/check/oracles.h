// What others than the differences say of a gradient: dual numbers through a definition, and the
// transpose identity <v, J u> = <J^T v, u>. Both are exact but for rounding.
// Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/gradcheck.h>

namespace tapestry::checker {

inline constexpr const char* kDualNumbers = "dual numbers";
inline constexpr const char* kTranspose = "transpose";

class Oracles {
public:
    /// Asks those that `options` name; all arguments must outlive it.
    Oracles(Subject& subject, const GradcheckOptions& options, const std::vector<double>& weights,
            const Neighbourhood& around);

    /// Of the slope of leaf i along a random direction. Who has no opinion is left out.
    std::vector<Opinion> ask(std::size_t i, const ClaimedGradient& claim);

    /// That the dual numbers are of another function; empty if they are not.
    const std::string& complaint() const { return complaint_; }

private:
    using Values = std::vector<double>;
    std::pair<double, double> weighted(const Values& slopes) const;
    bool is_the_function(const Values& values);
    Values dual_slopes(std::size_t i, const Values& u);
    void give(const char* oracle, const Values& slopes, const Claim& claim, std::size_t terms,
              std::vector<Opinion>& opinions) const;

    Subject& subject_;
    const GradcheckOptions& options_;
    const Values& weights_;
    const Neighbourhood& around_;
    double worth_;  // what f is worth, here and elsewhere: rounding on the way is a part of that
    std::string complaint_;
};

}  // namespace tapestry::checker
