// What `tapestry inspect --print` shows of a step: the tape and the heads of attention as text.
#pragma once

#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/pages/page.h>

#include <optional>
#include <string>

namespace tapestry::cli {

struct StepTextOptions {
    int width = 80;
    std::optional<std::int64_t> layer = {}, head = {};  ///< both, or neither: then all heads, small
};

/// Layers are numbered as their attentions ran. Throws ValueError for a layer or a head that there
/// is not.
std::string text_of(const Inspector& inspector, const PageOptions& page,
                    const StepTextOptions& options);

}  // namespace tapestry::cli
