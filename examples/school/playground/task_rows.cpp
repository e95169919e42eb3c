// The page trains language models on texts, so it needs no other task's code: 0.6 MB.
#include <tapestry/nn/train/task_rows.h>
#include <tapestry/nn/train/text_task.h>

namespace tapestry {

std::vector<TaskRow> own_rows() {
    return {{.name = "text",
             .summary = "a language model predicts each token of a text from those before it",
             .begin = TextTask::begin,
             .load = TextTask::load}};
}

}  // namespace tapestry
