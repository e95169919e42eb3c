// One rotary head, trained to look near or to look wide: which frequencies does it use?
#pragma once

#include <tapestry/examples/school/experiments/trial.h>

namespace tapestry::experiments {

/// Learns to say which symbols stood `first` to `last` positions before, as shares. Numbers:
/// "pair", the mean number of the pairs it uses, each weighted by what it adds to the scores;
/// "error", of the shares, over that of knowing nothing; "weight", what it gives to those
/// positions. Curves: "profile", weight by distance; "pairs", each pair's part.
Measured train_rotary_head(std::int64_t first, std::int64_t last, std::int64_t steps,
                           std::uint64_t seed);

}  // namespace tapestry::experiments
