// The corpus of plain functions, as a table.
#pragma once

#include <tapestry/tests/mutations/table.h>

#include <cstdint>

namespace tapestry::test {

/// Tries so many right and as many wrong gradients of plain functions and prints what the checker
/// made of them, by template and by mistake; with `verbose` a line for each that is not as it
/// should be. False where a figure is not what it must be.
bool print_corpus(int cases, std::uint64_t seed, bool verbose);

}  // namespace tapestry::test
