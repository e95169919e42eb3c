// What the text and the JSON of a profile have to say of the whole. Internal to nn/bench.
#pragma once

#include <tapestry/nn/bench/measurement.h>
#include <tapestry/nn/bench/profile.h>

namespace tapestry::bench {

struct ProfileTotals {
    ProfiledWork tape, outside, all;
    Times step;
    double flops;    ///< of the model's products, by its sizes
    double of_peak;  ///< counted by these and the median step

    explicit ProfileTotals(const GPTProfile& p)
        : tape(sum_of(p.profile.rows).total()),
          outside(sum_of(p.profile.outside).total()),
          all(tape),
          step(times_of(p.profile.step_seconds)),
          flops(step_flops(p.config, p.batch)),
          of_peak(p.profile.peak.least_seconds(flops, 0) / step.median) {
        all += outside;
    }
};

}  // namespace tapestry::bench
