// The gradients that the rules claim, for all incoming gradients that a check needs, and how far
// they are from themselves. Internal to autograd/check. Read next: gradcheck.cpp, which compares
// them.
#pragma once

#include <tapestry/autograd/check/compare.h>
#include <tapestry/autograd/check/rule_rounding.h>
#include <tapestry/autograd/check/whole_check.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tapestry::checker {

class Claims {
public:
    /// `weights`: of the outputs, for all of them together. All arguments must outlive it.
    Claims(Subject& subject, const GradcheckOptions& options, const std::vector<double>& weights,
           const Neighbourhood& around)
        : subject_(subject), options_(options), weights_(weights), around_(around) {}

    /// Calls the rules. `each`: also for every single output; `classes`: also for every class of
    /// outputs of a plain function. `complain` is called for a fault of the rule itself.
    void collect(bool each, bool classes, const std::function<void(const Complaint&)>& complain);

    const ClaimedGradient& of_all_outputs(std::size_t leaf) const { return claims_[leaf][0]; }
    bool has_classes() const { return first_class_ > 0; }
    /// Of all outputs; by classes, if there are any.
    std::span<const ClaimedGradient> together(std::size_t leaf) const;
    /// Of all outputs, and of each.
    std::vector<ClaimedGradient> with_each(std::size_t leaf) const;

private:
    using Values = std::vector<double>;

    std::vector<Values> all_weights(bool each, bool classes);
    RuleGradients shaken_gradients(std::vector<Values> weights, std::uint64_t seed, double factor,
                                   int power);
    void note_rounding_inside(const std::vector<Values>& all);
    void shake(const std::vector<Values>& all, bool scales, bool in_f32);

    Subject& subject_;
    const GradcheckOptions& options_;
    const Values& weights_;
    const Neighbourhood& around_;
    std::vector<std::vector<ClaimedGradient>> claims_ = {};  // [leaf][weights]
    std::vector<std::string> words_ = {};                    // [weights]
    std::size_t together_ = 1;     // leading weights: those over all outputs, or a class of them
    std::size_t first_class_ = 0;  // the first that is of a class; 0: none is
};

}  // namespace tapestry::checker
