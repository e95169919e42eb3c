// How a C callback is called is part of it. Its buffers are its caller's: it must write all of its
// results and nothing else, must not add to what is in them, must leave its arguments as they are,
// keep no pointer to them, and answer the same when it is asked again. The checker always hands out
// new memory full of zeros, which hides all of that. Internal to Tapestry.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tapestry::capi {

/// The callbacks of a check, for raw memory; they throw what the status of the callback says.
struct Callbacks {
    std::function<void(const double* x, double* y)> f;
    std::function<void(const double* x, const double* cotangent, double* gradient)> vjp;
    const char* vjp_name = "the vjp";  ///< in complaints
};

/// A sentence for each convention that the callbacks break at x; m: number of results. Calls f four
/// times and the vjp five times, within buffers with guards.
std::vector<std::string> broken_conventions(const Callbacks& callbacks,
                                            const std::vector<double>& x, std::size_t m);

}  // namespace tapestry::capi
