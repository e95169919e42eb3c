#include <tapestry/examples/cli/step_page.h>

#include <tapestry/autograd/print.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace tapestry::cli {
namespace {

// The tokens of one sequence as text, one each. ids: i64 [B, T].
std::vector<std::string> sequence_of(const Tensor& ids, std::int64_t row,
                                     const Tokenizer& tokenizer) {
    const auto all = views::slice(ids, 0, row, row + 1).to_vector<std::int64_t>();
    std::vector<std::string> texts;
    for (const std::int64_t& id : all) texts.push_back(tokenizer.decode(std::span(&id, 1)));
    return texts;
}

}  // namespace

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

void print_update(const std::vector<ParameterFlow>& flow) {
    const auto smaller = [](const ParameterFlow& a, const ParameterFlow& b) {
        return !(a.ratio() >= b.ratio()) && !std::isnan(b.ratio());
    };
    const auto most = std::max_element(flow.begin(), flow.end(), smaller);
    fmt::print("largest update: {}, {:.2g} of its size\n", most->name, most->ratio());
}

void print_batches(const RecordedStep& step, const Tokenizer& tokenizer, int width) {
    constexpr std::int64_t kMost = 24;
    std::int64_t row = 0, rows = 0;
    for (const RecordedBatch& b : step.batches) {
        const Tensor& ids = b.batch.inputs;
        for (std::int64_t i = 0; i < ids.size(0); ++i, ++rows) {
            if (rows >= kMost) continue;
            std::string text;
            for (const std::string& token : sequence_of(ids, i, tokenizer)) text += token;
            fmt::print("{:4}  {}\n", ++row,
                       utf8::quoted(text, static_cast<std::size_t>(std::max(width - 12, 20))));
        }
    }
    if (rows > row) fmt::print("      and {} more\n", rows - row);
}

void write_page(const std::string& out, const Inspector& inspector, const PageOptions& page) {
    const std::string html = to_html(inspector, page);
    write_file_atomically(out, html);
    fmt::print("{}: {} entries, {}\n", utf8::quoted(out, 300), inspector.entries().size(),
               bytes_text(html.size()));
}

}  // namespace tapestry::cli
