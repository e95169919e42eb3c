// What is said of a training before its first step.
#pragma once

#include <tapestry/nn/train/session.h>

namespace tapestry::cli {

/// Text and model in a line each; with `show_samples` also what it writes untrained.
void announce(Session& session, bool show_samples);

}  // namespace tapestry::cli
