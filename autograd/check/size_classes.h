// Numbers grouped by their sizes: a small number is lost next to large ones, so each group is
// compared by itself. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/compare.h>

#include <string>
#include <vector>

namespace tapestry::checker {

/// Numbers that differ by less than a factor of a thousand.
struct SizeClass {
    double most = 0, least = 0;  ///< sizes; both 0: they are nothing
    std::size_t count = 0;

    bool holds(double size) const { return size >= least && size <= most; }
};

/// The classes of these sizes, none of which is negative or NaN, from the largest down. Those of 0
/// are one class, the last.
std::vector<SizeClass> size_classes(const std::vector<double>& sizes);

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

/// The entries of a claim by their contribution to its slope if x moves by u, its own size; 0 for
/// entries that are only rounding.
struct EntryClasses {
    std::vector<double> sizes;
    std::vector<SizeClass> classes;
};
EntryClasses entry_classes(const ClaimedGradient& claim, const std::vector<double>& u);

/// The part of its own step that each entry moves in a direction within one class, 0 outside of it:
/// no entry contributes more to the claimed slope than the smallest does, and an error of the same
/// part of any of them shows alike.
std::vector<double> shares_within(const SizeClass& one, const std::vector<double>& sizes);

}  // namespace tapestry::checker
