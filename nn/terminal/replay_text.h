// Texts and a page about a replayed step: its numbers compared with the run's, and the text that it
// trained on. For `tapestry rewind` and `tapestry replay`. Read next:
// nn/train/replay.h, which replays the step; nn/pages/page.h.
#pragma once

#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/train/replay.h>

#include <string>
#include <vector>

namespace tapestry {

/// Some lines: the step's numbers and whether they equal the run's, or, for a step that diverged,
/// where NaN or infinity first appeared; the parameter with the largest relative update; where the
/// replay started; and the text of every sequence in the batch (at most the first 24), in about
/// `width` columns.
std::string to_text(const ReplayedStep& step, const RunHistory& history, const ReplayStart& start,
                    const Task& task, int width);
/// The same for a text in the tokenizer's tokens.
std::string to_text(const ReplayedStep& step, const RunHistory& history, const ReplayStart& start,
                    const Tokenizer& tokenizer, int width);

/// About a recorded step: its loss, whether the replay reproduced its bits, and the finding; if
/// that differs from `then`, also the finding at that time.
std::string to_text(const RecordedStep& step, const ReplayedGradients& replayed,
                    const RecordedOutcome& then);

/// The step's page, with the first row's attention. `directory`: the source of the step. The task
/// must outlive the page.
PageOptions page_of(const RecordedStep& step, const ReplayedGradients& replayed, const Task& task,
                    const std::string& directory);
/// The same for a language model and its tokenizer.
PageOptions page_of(const RecordedStep& step, const ReplayedGradients& replayed,
                    const LanguageModel& model, const Tokenizer& tokenizer,
                    const std::string& directory);

}  // namespace tapestry
