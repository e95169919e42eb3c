// Everything a row of the catalogue promises of its op, put to the test. Read next:
// ops/catalog/op_case.h, the row; ops_test.cpp, which goes through them all.
#pragma once

#include <tapestry/core/cpu.h>
#include <tapestry/ops/catalog/op_case.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tapestry::test {

/// How much of every row is tried.
struct Effort {
    std::vector<Isa> isas = available_isas();
    /// Those of 16 bits on the last of isas alone: what they add to f32 is the same on all.
    std::vector<DType> dtypes{DType::f64, DType::f32, DType::bf16, DType::f16};
    std::vector<int> threads{2, 3};                                 ///< the same bits as with one
    std::size_t samples = std::numeric_limits<std::size_t>::max();  ///< at most
    /// Central differences, which evaluate an op twice per number and order, at samples of at most
    /// so many numbers.
    std::int64_t differenced = 1000;
};

/// What the environment's TAPESTRY_ROWS says: all of it but differences at large samples, whose
/// gradients dual numbers have checked, or
///     whole       those, too
///     sanitized   the slowest and the fastest instruction set, one and three threads, no
///                 differences
///     emulated    the fastest instruction set: the first sample, in f32 and bf16, no differences,
///                 no large sample
Effort effort_for(const char* tapestry_rows);

/// What the environment asks for.
Effort usual_effort();

/// What is wrong with one row; empty if nothing is. Sets threads and ISA and restores them.
std::vector<std::string> check_case(const catalog::OpCase& row,
                                    const Effort& effort = usual_effort());

}  // namespace tapestry::test
