// Rows for reductions, one for each arrangement of the axes.
#pragma once

#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/ops/catalog/reference/reduction.h>

namespace tapestry::catalog {

using Axes = std::vector<int>;

// The result of a reduction over no elements: a number, or NaN or an error. The latter two are
// tested in tests/ops/reduction_test.cpp; rows then only have empty results.
enum class OfNothing { number, no_number };

using ReductionFunction = std::function<Tensor(const Tensor&, const Axes&, bool keepdim)>;
template <class T>
using OfNumbers = T(const std::vector<T>&);

OpCase reduction_row(const char* name, const char* variant, const Axes& axes, bool keepdim,
                     const ReductionFunction& op, const Generic<OfNumbers>& f,
                     OfNothing of_nothing);

// Adds one row per arrangement of the axes.
void add_rows(std::vector<OpCase>& rows, const char* name, const ReductionFunction& op,
              const Generic<OfNumbers>& f, OfNothing of_nothing);

ErrorCase needs_floating(const std::string& name, const std::function<void()>& call);

}  // namespace tapestry::catalog
