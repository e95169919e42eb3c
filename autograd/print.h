// A tape as text: one row per operation, in the order in which they ran.
//
//     tape: 3 operations, 48 B saved for backward
//       #  op              module  inputs -> outputs           saved
//       0  mul                     leaf [3], leaf [3] -> [3]    48 B
//       1  add                     #0 [3], constant [] -> [3]    0 B
//       2  sum (axes=[0])          #1 [3] -> []                  0 B
//
// "#0" is the output of row 0, "leaf" a tensor that requires a gradient. Read from the bottom up,
// it is the order of backward.
#pragma once

#include <tapestry/autograd/tape.h>

#include <cstdint>

namespace tapestry {

/// The table, with a line for each entry.
std::string to_string(const Tape& tape);

/// "1.5 KB", in powers of 1000.
std::string bytes_text(std::uint64_t bytes);

}  // namespace tapestry

/// "{}": see to_string.
template <>
struct fmt::formatter<tapestry::Tape> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::Tape& tape, fmt::format_context& context) const;
};
