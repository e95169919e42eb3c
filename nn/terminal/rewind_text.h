// What is said and shown of a step that was taken again: its numbers beside those of the run, the
// text that it learned from, and a page. For `tapestry rewind` and `tapestry replay`. Read next:
// nn/train/rewind.h and replay.h, which take the step; nn/pages/page.h.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/train/rewind.h>

#include <string>
#include <vector>

namespace tapestry {

/// Some lines: the step's numbers and whether they are the run's, or, of the step at which the run
/// diverged, where NaN or infinity first appeared; which parameter changed by the
/// largest part of its size; from where it was taken again; and the text of every sequence that it
/// learned from, of many the first 24, in about `width` columns.
std::string to_text(const RewoundStep& step, const RunHistory& history, const RewindStart& start,
                    const Tokenizer& tokenizer, int width);

/// Of a step that was recorded with this outcome: its loss, whether that has the same bits again,
/// and the finding; a line of what was found then, if that is not the same.
std::string to_text(const RecordedStep& step, const RetakenStep& retaken,
                    const RecordedOutcome& then);

/// Its page. `directory`: where the step comes from. Attention is that of the first sequence.
PageOptions page_of(const RecordedStep& step, const RetakenStep& retaken, const GPT& model,
                    const Tokenizer& tokenizer, const std::string& directory);

}  // namespace tapestry
