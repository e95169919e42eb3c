// Mutates an archive as a directory of a run, a model or data.
// Read next: mutate_text.h, of one file; repair.h, of checksums.
#pragma once

#include <tapestry/tests/fuzz/archive.h>
#include <tapestry/tests/fuzz/chance.h>

namespace tapestry::fuzz {

/// Applies a few mutations, and mostly repairs the checksums.
void mutate(Archive& archive, Chance& chance);

/// The first, with some entries of the second.
Archive cross(const Archive& a, const Archive& b, Chance& chance);

}  // namespace tapestry::fuzz
