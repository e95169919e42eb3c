// Are the gradients right? Held against central differences, in f64.
//
// The outputs are weighted with random numbers before they are added up: a plain sum is blind to
// whatever cancels in it (softmax sums to one, so its gradient under a sum is zero whatever the
// rule says).
#pragma once

#include <tapestry/autograd/tape.h>

#include <functional>
#include <string>

namespace tapestry {

/// A function under test: all its randomness fixed, its inputs f64 tensors.
using TensorFunction = std::function<Tensor(const Tensors&)>;

struct GradcheckOptions {
    /// Half the distance of the two evaluations, times max(1, |x|). The cube root of the machine
    /// epsilon balances truncation (h^2) against roundoff (eps / h).
    double step = 6e-6;
    double rtol = 1e-5;
    double atol = 1e-7;  ///< both relative to the largest entry of the gradient, or 1
    std::uint64_t seed = 1;
};

struct GradcheckResult {
    bool ok = true;
    /// Largest |analytic - numeric| / max(1, largest entry), over all entries.
    double worst = 0;
    /// What is wrong and where: input, index, both values. Empty if ok.
    std::string message;
    explicit operator bool() const { return ok; }
};

/// df/dx of every input that is f64, entry by entry. Throws DTypeError for an f32 input and
/// ValueError where two evaluations of f differ (f must be deterministic).
GradcheckResult gradcheck(const TensorFunction& f, const Tensors& inputs,
                          const GradcheckOptions& options = {});

/// The same for the gradient itself as a function of the inputs and the cotangent: second
/// derivatives, and whether the backward rules record themselves rightly; also whether they give
/// the same whether they are recorded or not.
GradcheckResult gradgradcheck(const TensorFunction& f, const Tensors& inputs,
                              const GradcheckOptions& options = {});

}  // namespace tapestry
