// Plain functions by number: right gradients of the hard templates, and wrong ones made of right
// ones. Read next: judge.h, what the checker says of them.
#pragma once

#include <tapestry/tests/mutations/templates/planted.h>

namespace tapestry::test {

struct CorpusCase {
    std::string title = {};
    std::string_view of = {};  ///< the template, or the mistake
    PlainCase plain = {};      ///< with the pullback that is to be checked
    PlainPullback right = {};
    const PlantedMistake* mistake = nullptr;  ///< none: it is right
    /// A right one: differences can resolve every entry to a thousandth of itself.
    bool must_pass = false;
};

CorpusCase right_case(std::uint64_t number, std::uint64_t seed);
/// Drawn until the gradient is off by more than 1e-6 of an entry's own size.
CorpusCase wrong_case(std::uint64_t number, std::uint64_t seed);

/// Cotangents by which a pullback is looked at: each output alone, all together, and all loudly,
/// for a rule may not be linear.
std::vector<std::vector<double>> cotangents(std::size_t outputs);

/// By how much each entry is off at the most, as a part of its own size. What cancels to nothing
/// but rounding has no size of its own.
std::vector<double> errors(const CorpusCase& one);

}  // namespace tapestry::test
