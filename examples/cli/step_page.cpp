#include <tapestry/examples/cli/step_page.h>

#include <tapestry/autograd/print.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>

#include <fmt/core.h>

#include <span>

namespace tapestry::cli {

std::vector<std::string> sequence_of(const Tensor& ids, std::int64_t row,
                                     const Tokenizer& tokenizer) {
    const auto all = views::slice(ids, 0, row, row + 1).to_vector<std::int64_t>();
    std::vector<std::string> texts;
    for (const std::int64_t& id : all) texts.push_back(tokenizer.decode(std::span(&id, 1)));
    return texts;
}

PageOptions page_of(const RecordedStep& step, const RetakenStep& retaken, const GPT& model,
                    const Tokenizer& tokenizer, const std::string& directory) {
    const Tensor& ids = step.batches[retaken.batch].batch.inputs;
    return {.title = fmt::format("Step {}, taken again", step.step),
            .subtitle = fmt::format("{}; {}, {} parameters{}; {}, {} sequences of {}; loss {}",
                                    directory, model.settings(), model.parameter_count(),
                                    step.updated ? " as the step's update left them" : "",
                                    name_of_batch(step, retaken.batch), ids.size(0), ids.size(1),
                                    retaken.loss),
            .texts = {{.queries = sequence_of(ids, 0, tokenizer)}}};
}

void write_page(const std::string& out, const Inspector& inspector, const PageOptions& page) {
    const std::string html = to_html(inspector, page);
    write_file_atomically(out, html);
    fmt::print("{}: {} entries, {}\n", utf8::quoted(out, 300), inspector.entries().size(),
               bytes_text(html.size()));
}

}  // namespace tapestry::cli
