// The suite's cases as JSON, for another framework's checker: torch_gradcheck.py reads them.
#pragma once

#include <tapestry/tests/mutations/suite.h>

namespace tapestry::test {

/// Writes to `path`
///
///     correct    the cases of false_alarms(cases, f64, 1): row, inputs, output (of several real
///                results: all concatenated), gradient (see export.cpp), the largest power of ten
///                in `exponent`, and our verdict
///     functions  the functions to mutate: row, inputs, output, gradient; `tied` if the second
///                input is the first
///     mutants    those of mutate_ops() whose row is a single entry of the tape and whose
///                corrupted gradient is that of an input: other frameworks lack any other place.
///                The function, the input, the corruption, our verdict
///
/// Throws std::ios_base::failure if writing fails.
void export_cases(const std::string& path, int cases, const SuiteOptions& options);

}  // namespace tapestry::test
