// How accurate functions are over the whole range of a type: for elementwise ones and their
// gradients exact value and bound, one row each. range_test.cpp and range_vectors_test.cpp check
// the bounds; ops_page.cpp prints them in docs/ops.md.
#pragma once

#include <tapestry/core/tensor.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace tapestry::test {

/// At least 64 bits of precision and 15 of exponent, and whether functions have them: the browser's
/// C library computes them as doubles.
using Exact = long double;
#if defined(__wasm__)
inline constexpr bool kHasExact = false;
#else
inline constexpr bool kHasExact = std::numeric_limits<Exact>::digits >= 64;
#endif

/// Where a unit in the last place is measured. A unit is never below that of the smallest normal
/// number: results smaller than that may be 0.
enum class Relative {
    to_result,
    to_argument,        ///< the larger of the result and |x|
    to_small_argument,  ///< the larger of the result and min(|x|, 1)
    to_one,             ///< the larger of the result and 1
    to_pole             ///< the larger of the result, min(|x|, 1), and 2^-40 y^2
};

struct RangeRow {
    std::string name;     ///< function, as in the catalogue
    std::string variant;  ///< "tanh", "gradient", ...
    int operands = 1;
    std::function<Tensor(const Tensor& a, const Tensor& b)> op;
    std::function<Exact(Exact a, Exact b)> exact;
    double units_f32 = 0;  ///< bound in units in the last place
    double units_f64 = 0;
    double units_half = 0;  ///< for bf16 and f16
    Relative relative = Relative::to_result;
};

const std::vector<RangeRow>& range_rows();

/// Bounds for functions of vectors, in f32 and f64 alike, which range_vectors_test.cpp checks.
struct VectorBound {
    const char* name;
    double units;
    const char* measured_at;
};
const std::vector<VectorBound>& vector_bounds();

/// Classical bounds of products, sums and eliminations, which product_bounds_test.cpp and
/// elimination_bounds_test.cpp check.
struct ClassicalBound {
    const char* bound;
    std::vector<std::string> names;
};
const std::vector<ClassicalBound>& classical_bounds();

/// Functions without a row of their own, and why, by reason.
struct WithoutRow {
    const char* reason;
    std::vector<std::string> names;
};
const std::vector<WithoutRow>& without_row();

/// The section "Range and accuracy" of docs/ops.md, made of the four.
std::string accuracy_section();

}  // namespace tapestry::test
