// Ablates parts of a GPT while it is in use: their output no longer counts, and the parameters stay
// unchanged. It works by a hook on each module (Module::register_forward_hook), so the model itself
// is not involved.
#pragma once

#include <tapestry/nn/models/gpt.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace tapestry::examples {

struct Parts {
    bool positions = false;  ///< added to the token vectors
    bool norms = false;      ///< all of them, including the last
    bool residuals = false;  ///< a block's sublayers pass on only their own output
    std::vector<std::int64_t> layers = {};
    std::vector<std::int64_t> heads = {};  ///< layer * config.heads + head

    bool any() const {
        return positions || norms || residuals || !layers.empty() || !heads.empty();
    }
};

class TakenAway {
public:
    /// Ablates while this object lives; the model must outlive it. Throws ValueError for parts that
    /// the model does not have.
    TakenAway(GPT& model, const Parts& parts);

private:
    void hook(Module& module, ForwardHook f);
    void without_residuals(TransformerBlock& block);
    void without_heads(GPT& model, const std::vector<std::int64_t>& heads);

    std::vector<std::shared_ptr<const void>> hooks_;
};

}  // namespace tapestry::examples
