// Mutations of an archive as what it is: a directory that a run, a model or data was saved in.
// Read next: mutate_text.h, of one file; repair.h, of checksums.
#pragma once

#include <tapestry/tests/fuzz/archive.h>
#include <tapestry/tests/fuzz/chance.h>

namespace tapestry::fuzz {

/// Some of them, and mostly with checksums that are right afterwards.
void mutate(Archive& archive, Chance& chance);

/// Entries of both.
Archive cross(const Archive& a, const Archive& b, Chance& chance);

}  // namespace tapestry::fuzz
