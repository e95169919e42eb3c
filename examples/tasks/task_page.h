// --page of the tasks: after training, one step on a held-out question as a page (docs/inspect.md).
#pragma once

#include <tapestry/examples/tasks/task.h>

namespace tapestry::examples {

/// Writes the page that options.page asks for, or nothing. `what` says what the question is, `loss`
/// asks it. Throws IoError.
void write_page(const TaskOptions& options, Module& model, const std::string& what,
                const std::vector<PageText>& texts, const std::function<Tensor()>& loss);

/// A text as its characters, a token each.
std::vector<std::string> characters_of(std::string_view text);

}  // namespace tapestry::examples
