// Checks everything that a row of the catalogue promises about its op. Read next:
// ops/catalog/op_case.h (the row), ops_test.cpp (the loop over all rows).
#pragma once

#include <tapestry/core/cpu.h>
#include <tapestry/ops/catalog/op_case.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tapestry::test {

/// f32, f64, bf16, f16, and any that is added.
inline std::vector<DType> floating_dtypes() {
    std::vector<DType> dtypes;
    for_each_floating([&](auto zero) { dtypes.push_back(dtype_of<decltype(zero)>()); });
    return dtypes;
}

/// How thoroughly every row is checked.
struct Effort {
    std::vector<Isa> isas = available_isas();
    /// Narrow types run only on the last of `isas`: what they add to f32 is the same on all.
    std::vector<DType> dtypes = floating_dtypes();
    /// Must give the bits of one thread; all but the last only on the best instruction set.
    std::vector<int> threads{2, 3};
    /// Compares with the definition, and gradients with its slopes.
    bool definitions = true;
    /// The caller's floating-point state changes nothing. (It changes no access to memory.)
    bool caller_state = true;
    std::size_t samples = std::numeric_limits<std::size_t>::max();  ///< at most
    /// Maximum size of samples for central differences, which evaluate an op twice per element and
    /// order. Of larger ones up to 1000, the smallest of a row that has no other.
    std::int64_t differenced = 64;
};

/// The effort for a value of TAPESTRY_ROWS: by default everything except central differences of
/// large samples, whose gradients dual numbers have checked, or
///     whole       those as well
///     sanitized   the slowest and the fastest instruction set, one and three threads, no
///                 definitions, no differences, no floating-point state: what an op reads and
///                 writes, not what it computes
///     emulated    the fastest instruction set: the first sample, in f32 and bf16, no differences,
///                 no large sample
Effort effort_for(const char* tapestry_rows);

/// The effort for the environment's TAPESTRY_ROWS.
Effort usual_effort();

/// The failures of one row; empty if there are none. Sets threads and ISA and restores them.
std::vector<std::string> check_case(const catalog::OpCase& row,
                                    const Effort& effort = usual_effort());

}  // namespace tapestry::test
