// Parts of a GPT taken away while it is used: what they compute no longer counts, the parameters
// stay as they are. A hook on each module does it (Module::register_forward_hook), so the model
// itself knows nothing of it.
#pragma once

#include <tapestry/nn/models/gpt.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace tapestry::examples {

struct Parts {
    bool positions = false;  ///< that are added to the vectors
    bool norms = false;      ///< all of them, the last as well
    bool residuals = false;  ///< a block's parts pass on what they compute alone
    std::vector<std::int64_t> layers = {};
    std::vector<std::int64_t> heads = {};  ///< layer * config.heads + head

    bool any() const {
        return positions || norms || residuals || !layers.empty() || !heads.empty();
    }
};

class TakenAway {
public:
    /// As long as this lives; the model must live longer. Throws ValueError for what the model
    /// does not have.
    TakenAway(GPT& model, const Parts& parts);

private:
    void hook(Module& module, ForwardHook f);
    void without_residuals(TransformerBlock& block);
    void without_heads(GPT& model, const std::vector<std::int64_t>& heads);

    std::vector<std::shared_ptr<const void>> hooks_;
};

}  // namespace tapestry::examples
