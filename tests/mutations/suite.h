// Plants mutants everywhere, one at a time: does the checker detect, name and locate them?
#pragma once

#include <tapestry/ops/catalog/bound_case.h>
#include <tapestry/tests/mutations/mutant.h>

#include <functional>
#include <map>

namespace tapestry::test {

struct Counts {
    int mutants = 0;   ///< those that change the gradient by more than the threshold
    int detected = 0;  ///< FAIL
    int inconclusive = 0;
    int named = 0;    ///< the right cause at the first guess
    int located = 0;  ///< the right tape entry
    double percent(int part) const { return mutants == 0 ? 100 : 100.0 * part / mutants; }
    Counts& operator+=(const Counts& other);
};

/// Called with each missed mutant and the checker's report.
using Told = std::function<void(const std::string&)>;

struct SuiteOptions {
    /// Try every n-th mutant.
    int every = 1;
    Told told = [](const std::string&) {};
};

/// A sample of a row to try mutants on.
struct MutationCase {
    const catalog::OpCase* row;
    std::string title;
    Tensors inputs;     ///< of the row
    bool tied = false;  ///< the second input is the first
    catalog::BoundCase bound;
};

/// The check that f64 mutants should fail.
GradcheckReport check(const MutationCase& one);

/// Calls each() for every mutant that mutate_ops() tries.
void for_each_mutant(const SuiteOptions& options,
                     const std::function<void(const MutationCase&, const Target&, Mutation)>& each);

/// Every mutation of every operand of every entry of every row's tape, in f64.
std::map<Mutation, Counts> mutate_ops(const SuiteOptions& options);
/// The same in f32 or bf16 only, with right f64 rules; changes of over 1% count, in bf16 over 25%.
std::map<Mutation, Counts> mutate_ops_in(DType dtype, const SuiteOptions& options);
/// Inside models; counts by model.
std::map<std::string, Counts> mutate_models(const SuiteOptions& options);

struct FalseAlarms {
    int cases = 0;
    int alarms = 0;
    int inconclusive = 0;
    std::map<std::string, int> reasons;
};

/// Correct gradients: random rows, samples and input scales from 1e-6 to 1e6.
FalseAlarms false_alarms(int cases, DType dtype, std::uint64_t seed, const Told& told);

/// The inputs of a row's sample, every real one multiplied by a random power of ten. If the row's
/// function is not finite there, the powers are drawn again, closer to 1.
struct ScaledCase {
    const catalog::OpCase* row;
    std::size_t sample;
    Tensors inputs;
    std::string title;
    std::vector<double> powers;  ///< exponents of ten, by input
};
ScaledCase random_case(std::uint64_t number, std::uint64_t seed);

/// What false_alarms() runs in f64 on random_case(number, seed).
GradcheckReport check(const ScaledCase& one, std::uint64_t number);

}  // namespace tapestry::test
