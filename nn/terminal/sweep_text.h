// Several trainings beside one another: the options in which they differ, and what came of each.
//
//     fmt::print("{}", sweep_text({"runs/lr-1e-3", "runs/lr-3e-3"}));
//
//     run           --lr   loss    lowest validation loss
//     runs/lr-3e-3  0.003  0.5310  0.5412 at step 2000
//     runs/lr-1e-3  0.001  0.6124  0.6180 at step 1750
#pragma once

#include <string>
#include <vector>

namespace tapestry {

/// The lowest validation loss comes first, those without one last. The options are those of each
/// run's latest checkpoint; where there is none yet they are "?". Throws as read_metrics does.
std::string sweep_text(const std::vector<std::string>& directories);

}  // namespace tapestry
