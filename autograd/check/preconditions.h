// What must hold before a gradient can be checked at all. Internal to autograd/check.
#pragma once

#include <tapestry/autograd/check/subject.h>

namespace tapestry::checker {

/// Throws ValueError where an input overlaps itself (a stride of 0) or another: a step in one
/// number would be a step in several.
void refuse_overlaps(const Tensors& inputs);

/// "dropout (#4, ffn) gives other results ..." where two runs on the same inputs differ; empty if
/// they are the same to the last bit.
std::string find_randomness(Subject& subject);

/// What changes, and should not, when f runs with one thread or several, or inside recompute():
/// value and gradient, bit by bit. One sentence each.
std::vector<std::string> find_dependence_on_running(Subject& subject,
                                                    const std::vector<double>& weights);

/// What there is to say if gradients are not proportional to what comes in, or not the sum of those
/// of its parts: a backward rule is a linear function of the incoming gradient. `gradient`: that
/// for `weights`, [leaf][element].
std::string find_nonlinearity(Subject& subject, const std::vector<double>& weights,
                              const std::vector<std::vector<double>>& gradient);

}  // namespace tapestry::checker
