#include <tapestry/core/file.h>
#include <tapestry/examples/school/tasks/task_page.h>
#include <tapestry/nn/inspect/watched_step.h>

namespace tapestry::examples {

void write_page(const TaskOptions& options, Module& model, const TaskQuestion& question) {
    if (options.page.empty()) return;
    const WatchedStep step(model, question.loss);
    const PageOptions page{
        .title = question.what,
        .subtitle = fmt::format("{}: {}, {} parameters; held out; loss {:.4f}", model.kind(),
                                model.settings(), model.parameter_count(), step.loss()),
        .texts = question.texts,
        .name_of = question.name_of,
        .image = question.image};
    write_file_atomically(options.page, to_html(step.inspector(), page));
    if (options.print) fmt::print("{}: one step on {}\n", options.page, question.what);
}

std::vector<std::string> characters_of(std::string_view text) {
    std::vector<std::string> characters;
    for (const char c : text) characters.emplace_back(1, c);
    return characters;
}

}  // namespace tapestry::examples
