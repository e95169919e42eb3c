// What an Inspector has seen of a step, as text: its tape and its heads of attention. The page of
// nn/pages/page.h for a terminal; `tapestry inspect --print` prints it.
#pragma once

#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/pages/page.h>

#include <optional>
#include <string>

namespace tapestry {

struct StepTextOptions {
    int width = 80;
    std::optional<std::int64_t> layer = {}, head = {};  ///< both, or neither: then all heads, small
};

/// Layers are numbered as their attentions ran. Throws ValueError for a layer or a head that there
/// is not.
std::string text_step(const Inspector& inspector, const PageOptions& page,
                      const StepTextOptions& options = {});

}  // namespace tapestry
