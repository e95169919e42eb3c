// Is the peak to be believed that everything is measured against? Others use the machine, too, and
// what they take while it is measured makes all look nearer to it. So it is measured again
// afterwards.
#pragma once

#include <tapestry/autograd/profile/roofline.h>

#include <string>

namespace tapestry::bench {

struct PeakCheck {
    MachinePeak peak;   ///< as measured before; of arithmetic's two rates the better one
    double before = 0;  ///< FLOP/s
    double after = 0;
    double fastest = 0;  ///< FLOP/s of the fastest thing in between; 0 if that is not known

    /// What makes it doubtful, in a line: that the two differ by more than a twentieth, or that
    /// something measured was faster than either. Empty if nothing does.
    std::string doubt() const;
};

/// Measures again, with as many threads and the same instruction set.
PeakCheck check_peak(const MachinePeak& before, double fastest = 0);

}  // namespace tapestry::bench
