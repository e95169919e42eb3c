// Tests everything that a catalogue row states about its op. Read next: ops/catalog/op_case.h, the
// row; ops_test.cpp, which checks them all.
#pragma once

#include <tapestry/core/cpu.h>
#include <tapestry/ops/catalog/op_case.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tapestry::test {

/// How thoroughly to test every row.
struct Effort {
    std::vector<Isa> isas = available_isas();
    /// 16-bit dtypes only on the last of `isas`: what they add to f32 is the same on all.
    std::vector<DType> dtypes{DType::f64, DType::f32, DType::bf16, DType::f16};
    std::vector<int> threads{2, 3};  ///< must give the same bits as one thread
    std::size_t samples = std::numeric_limits<std::size_t>::max();  ///< at most
    /// Use central differences, which evaluate an op twice per number and order, for samples of at
    /// most this many numbers.
    std::int64_t differenced = 1000;
};

/// The effort for TAPESTRY_ROWS: by default everything but differences on large samples, whose
/// gradients dual numbers have checked, or
///     whole       those as well
///     sanitized   the slowest and the fastest instruction set, one and three threads, no
///                 differences
///     emulated    the fastest instruction set: the first sample, in f32 and bf16, no differences,
///                 no large sample
Effort effort_for(const char* tapestry_rows);

/// The effort that the environment selects.
Effort usual_effort();

/// The failures of one row; empty if there are none. Changes threads and ISA and restores them.
std::vector<std::string> check_case(const catalog::OpCase& row,
                                    const Effort& effort = usual_effort());

}  // namespace tapestry::test
