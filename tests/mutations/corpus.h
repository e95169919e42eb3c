// Plain functions by number: right gradients of the hard templates, and wrong ones made from right
// ones. Read next: judge.h, the checker's verdicts on them.
#pragma once

#include <tapestry/tests/mutations/templates/planted.h>

namespace tapestry::test {

struct CorpusCase {
    std::string title = {};
    std::string_view of = {};  ///< the template, or the mistake
    PlainCase plain = {};      ///< with the pullback to check
    PlainPullback right = {};
    const PlantedMistake* mistake = nullptr;  ///< null: it is right
    /// For a right one: differences can resolve every entry to a relative 1e-3.
    bool must_pass = false;
    /// For a wrong one: f shows it. If only entries below f's rounding are wrong, INCONCLUSIVE is
    /// the answer.
    bool must_fail = true;
};

CorpusCase right_case(std::uint64_t number, std::uint64_t seed);
/// Drawn again until the gradient's relative error exceeds 1e-6 in some entry, or 32 epsilons of a
/// narrower format of f's numbers.
CorpusCase wrong_case(std::uint64_t number, std::uint64_t seed, Format format = Format::f64);

/// Cotangents to test a pullback with: each output by itself, all together, and all scaled up,
/// because a rule may not be linear.
std::vector<std::vector<double>> cotangents(std::size_t outputs);

/// The maximum relative error of each entry. An entry that cancels to rounding noise has no size,
/// unless the case says that its entries are exact (PlainCase::by_own_size).
/// In a narrow format, where small entries are lost among large ones, a tenth of the largest is
/// the least size.
std::vector<double> errors(const CorpusCase& one);

}  // namespace tapestry::test
