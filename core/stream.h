// Streams of random numbers with names: what is drawn from one does not depend on what is drawn
// from another, nor on who draws first. Read next: nn/train/streams.h, those of a training.
#pragma once

#include <tapestry/core/random.h>

#include <cstdint>
#include <string_view>

namespace tapestry {

/// A stream at its beginning, one for each name, step and index (of a process, or a batch). Its key
/// is a hash of the four: Philox under the seed scrambles the name, and under the result step and
/// index.
Generator stream(std::uint64_t seed, std::string_view name, std::uint64_t step = 0,
                 std::uint64_t index = 0);

}  // namespace tapestry
