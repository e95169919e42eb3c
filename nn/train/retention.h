// Which checkpoints of a run stay. The latest are for going on, and the best is what one may want
// to go back to. All others are for looking at steps again: at equal distances, so that no step is
// far from one, and at twice the distance when they take too much room.
#pragma once

#include <tapestry/nn/train/run_directory.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tapestry {

struct Retention {
    std::int64_t keep = 1;                  ///< of those to go on from, the latest so many
    std::optional<std::int64_t> best = {};  ///< a step that stays
    std::int64_t rewind_every = 0;          ///< and all multiples of this; 0: none
    /// And those where a part of the run with settings of its own began.
    std::vector<std::int64_t> begun = {};
};

/// Those that may go. `stored` ascends by steps, and its last stays in any case.
std::vector<StoredCheckpoint> superseded(const std::vector<StoredCheckpoint>& stored,
                                         const Retention& retention);

/// The distance at which states of `bytes` each stay within `budget` until the last of `steps`
/// steps, and a step between two of them is about half a second away at `step_seconds` each. 0 if
/// not even three have room.
std::int64_t rewind_distance(std::int64_t steps, double step_seconds, double bytes, double budget);

}  // namespace tapestry
