// How a gradient is called is part of it. The tape hands a rule views of any strides, no gradient
// where none arrived, operands that share memory, and asks it again. A rule that is right
// only for a contiguous incoming gradient passes every comparison with differences, and is wrong in
// a training run. Internal to autograd/check. Read next: layouts.h.
#pragma once

#include <tapestry/autograd/check/report.h>
#include <tapestry/autograd/check/subject.h>

#include <vector>

namespace tapestry::checker {

/// The entries of the tape whose rules, or forward passes, give other results when they are called
/// in another way, in the order of the tape; the cause names the convention (Mistake::convention,
/// overwrites, stale). Each entry is called
///
///   - twice for the same incoming gradient;
///   - with the incoming gradient, and with its operands, in every layout (layouts.h);
///   - without a gradient of one of several outputs;
///   - with gradients needed for only some operands;
///   - with one tensor as two operands of the same shape;
///
/// and must leave what it is given as it was. Entries that only repeat what they are given as plain
/// arrays (plain.h) are left out, and results that are not finite. `weights`: of the outputs.
/// Restores the leaves.
std::vector<WrongOp> find_broken_conventions(Subject& subject, const std::vector<double>& weights,
                                             std::uint64_t seed);

/// "rule (#2): its gradient of operand 0 ...", for the complaints of a report.
std::string convention_text(const WrongOp& wrong);

}  // namespace tapestry::checker
