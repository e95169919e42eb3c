// The corpus for a program in another language: one case at a time, over two pipes.
// torch_templates.py asks PyTorch's gradient checker about the same functions.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>

namespace tapestry::test {

/// Answers every line with one, until there are no more. Numbers are C's %a, exact.
///
///     right 17    the seed's right case 17, from here on: JSON with `title`, `of` (template or
///     wrong 23    mistake), `x`, `outputs`, `ours` (our verdict)
///     f X...      what f is worth there
///     g X... G... the pullback: the gradient at X for the cotangent G
///
/// "error: ..." where f or the pullback throws, or a line is none of these.
void serve(std::istream& in, std::ostream& out, std::uint64_t seed);

}  // namespace tapestry::test
