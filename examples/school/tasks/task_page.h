// --page of the tasks: after training, one step on a held-out question as a page (docs/inspect.md).
#pragma once

#include <tapestry/examples/school/tasks/task.h>

namespace tapestry::examples {

struct TaskQuestion {
    std::string what;  ///< "a story with hidden words"
    std::vector<PageText> texts;
    std::function<std::string(std::int64_t)> name_of;  ///< of what is to be predicted
    std::function<Tensor()> loss;                      ///< asks it
    std::optional<PageImage> image = {};
};

/// Writes the page that options.page asks for, or nothing. Throws IoError.
void write_page(const TaskOptions& options, Module& model, const TaskQuestion& question);

/// A text as its characters, a token each.
std::vector<std::string> characters_of(std::string_view text);

}  // namespace tapestry::examples
