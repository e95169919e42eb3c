// The suite's cases as JSON, for another framework's checker: torch_gradcheck.py reads them.
#pragma once

#include <tapestry/tests/mutations/suite.h>

namespace tapestry::test {

/// Writes to `path`
///
///     correct    what false_alarms(cases, f64, 1) tries: row, inputs, output (of several real
///                results: all in one line), gradient (see export.cpp), the largest power of ten
///                in `exponent`, and our verdict
///     functions  what mutants are tried on: row, inputs, output, gradient; `tied` where the
///                second input is the first
///     mutants    of them, those of mutate_ops() where the row is one entry of the tape and the
///                gradient that is corrupted an input's own: elsewhere another framework has no
///                such place. Which function, which of its inputs, the corruption, our verdict
///
/// Throws std::ios_base::failure where that does not work.
void export_cases(const std::string& path, int cases, const SuiteOptions& options);

}  // namespace tapestry::test
