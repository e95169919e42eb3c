// What became of the plan of a step's memory, in a line.
#pragma once

#include <tapestry/core/planned_memory.h>

#include <string>

namespace tapestry {

/// "plan: the 110 blocks of a step in 2.52 MB, 2.52 MB being needed at once; 996 steps followed
/// it\n", and why the first that did not did not; or why there is none.
std::string plan_text(const PlannedMemory::Report& report);

}  // namespace tapestry
