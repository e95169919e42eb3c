// The tasks that the library has: nothing else names them all. The playground, a page that is
// downloaded, is linked with a list of one (examples/school/playground/task_rows.cpp). Internal to
// nn.
#pragma once

#include <tapestry/nn/train/task.h>

#include <vector>

namespace tapestry {

/// One row for each task, in the order of the help; register_task() adds others behind them.
std::vector<TaskRow> own_rows();

}  // namespace tapestry
