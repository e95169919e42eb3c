// The corpus for a program in another language: one case at a time, over two pipes.
// torch_templates.py checks the same functions with PyTorch's gradient checker.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>

namespace tapestry::test {

/// Answers every line with one line, until the end of input. Numbers are C's %a, exact.
///
///     right 17    selects the seed's right case 17: JSON with `title`, `of` (template or
///     wrong 23    mistake), `x`, `outputs`, `ours` (our verdict)
///     f X...      the value of f there
///     g X... G... the pullback: the gradient at X for the cotangent G
///
/// "error: ..." if f or the pullback throws, or for any other line.
void serve(std::istream& in, std::ostream& out, std::uint64_t seed);

}  // namespace tapestry::test
