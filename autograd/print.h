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

/// "#0 [3], constant [] -> [3]" of operands and outputs, which have a slot and a shape;
/// `entry_of(slot)` is the entry that gave it, or negative for a leaf.
template <class Inputs, class Outputs, class EntryOf>
std::string flow_text(const Inputs& inputs, const Outputs& outputs, const EntryOf& entry_of) {
    std::string flow;
    for (const auto& x : inputs) {
        const std::int64_t entry = x.slot < 0 ? -1 : entry_of(x.slot);
        const std::string from = x.slot < 0  ? "constant"
                                 : entry < 0 ? "leaf"
                                             : fmt::format("#{}", entry);
        flow += fmt::format("{}{} {}", flow.empty() ? "" : ", ", from, x.shape);
    }
    flow += " ->";
    for (const auto& y : outputs)
        flow += fmt::format("{} {}", flow.back() == '>' ? "" : ",", y.shape);
    return flow;
}

/// "1.5 KB", in powers of 1000.
std::string bytes_text(std::uint64_t bytes);

}  // namespace tapestry

/// "{}": see to_string.
template <>
struct fmt::formatter<tapestry::Tape> : tapestry::PlainFormatter {
    fmt::appender format(const tapestry::Tape& tape, fmt::format_context& context) const;
};
