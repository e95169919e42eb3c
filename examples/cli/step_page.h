// What is shown of a step that was taken again, for `tapestry rewind` and `tapestry replay`.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/train/recorded_step.h>

#include <string>
#include <vector>

namespace tapestry::cli {

/// The tokens of one sequence as text, one each. ids: i64 [B, T].
std::vector<std::string> sequence_of(const Tensor& ids, std::int64_t row,
                                     const Tokenizer& tokenizer);

/// `directory`: where the step comes from. Attention is that of the first sequence.
PageOptions page_of(const RecordedStep& step, const RetakenStep& retaken, const GPT& model,
                    const Tokenizer& tokenizer, const std::string& directory);

/// Writes the page and says so.
void write_page(const std::string& out, const Inspector& inspector, const PageOptions& page);

}  // namespace tapestry::cli
