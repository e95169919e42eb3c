// What is shown of a step that was taken again, for `tapestry rewind` and `tapestry replay`.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/inspect/gradient_flow.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/train/recorded_step.h>

#include <string>
#include <vector>

namespace tapestry::cli {

/// `directory`: where the step comes from. Attention is that of the first sequence.
PageOptions page_of(const RecordedStep& step, const RetakenStep& retaken, const GPT& model,
                    const Tokenizer& tokenizer, const std::string& directory);

/// Writes the page and says so.
void write_page(const std::string& out, const Inspector& inspector, const PageOptions& page);

/// The parameter that changed by the largest part of its size.
void print_update(const std::vector<ParameterFlow>& flow);

/// The text of every sequence, a line each; of many the first.
void print_batches(const RecordedStep& step, const Tokenizer& tokenizer, int width);

}  // namespace tapestry::cli
