// Numbers grouped by their sizes: a small number is lost next to large ones, so each group is
// compared by itself. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/compare.h>

#include <string>
#include <vector>

namespace tapestry::checker {

/// Numbers that differ by less than a factor of a thousand.
struct SizeClass {
    std::vector<std::size_t> members = {};
    double most = 0, least = 0;  ///< sizes; both 0: they are nothing
};

/// The classes of these sizes, from the largest down. Those of at most `nothing` are one class, the
/// last.
std::vector<SizeClass> size_classes(const std::vector<double>& sizes, double nothing);

/// How much each output changes when x moves by its own size, by differences along a random
/// direction for each leaf; at least its last bit, or what a narrow format shows of it.
std::vector<double> output_sizes(Subject& subject, const Neighbourhood& around, std::uint64_t seed,
                                 Format format);

/// A random weight, moved to a size between 1/2 and 3/2. Sizes vary: equal errors do not cancel.
double even_weight(double weight);

/// The cotangents that look at each class of outputs by itself, its members evened out; none if
/// all outputs are alike.
struct OutputClass {
    std::vector<double> weights;
    std::string words;  ///< "outputs of size 2e-05"
};
std::vector<OutputClass> output_classes(const std::vector<double>& sizes,
                                        const std::vector<double>& weights);

/// A direction within one class of a claim's entries: no entry contributes more to the claimed
/// slope than the smallest does: an error of the same part of any of them shows alike.
struct EntryClass {
    SizeClass entries;           ///< by their contribution if x moves by its own size
    std::vector<double> shares;  ///< of each entry's own step; 0 outside of the class
};
std::vector<EntryClass> entry_classes(const ClaimedGradient& claim, const std::vector<double>& u);

}  // namespace tapestry::checker
