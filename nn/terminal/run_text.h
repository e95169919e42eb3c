// A training in words: what it is about to do, and how it went. Read next: session.h and
// training_run.h, of which it speaks.
#pragma once

#include <tapestry/nn/train/training_run.h>

#include <string>

namespace tapestry {

/// A line for the text, its size and how it is divided; one for the model; one more if part of it
/// is frozen.
std::string description_of(const Session& session);

/// "500 steps in 1:05 (61031 tokens/s, 48% of the peak): loss 1.4632, validation loss 1.5208", and
/// lines that say where it was saved, what the user should know of it, and where the report is.
std::string to_text(const TrainingResult& result, const std::string& out);

}  // namespace tapestry
