// The corpus of plain functions, as a table.
#pragma once

#include <tapestry/autograd/check/verdict.h>
#include <tapestry/tests/mutations/table.h>

#include <cstdint>

namespace tapestry::test {

/// Checks `cases` right and as many wrong gradients of plain functions and prints the results by
/// template and by mistake; with `verbose`, a line for each unexpected one. Returns false if a
/// figure is out of bounds.
bool print_corpus(int cases, std::uint64_t seed, bool verbose, Format format = Format::f64);

}  // namespace tapestry::test
