#include <tapestry/examples/school/playground/taken_away.h>

#include <tapestry/core/create.h>
#include <tapestry/core/error.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/matmul.h>

#include <cstddef>
#include <map>
#include <utility>

namespace tapestry::examples {
namespace {

Tensor as_it_came(const Module&, const Tensors& inputs, const Tensor&) { return inputs[0]; }

// [C]: zeros at the columns of `heads`, ones elsewhere.
Tensor mask_without(const std::vector<std::int64_t>& heads, const GPTConfig& config) {
    const auto width = static_cast<std::size_t>(config.dim / config.heads);
    std::vector<float> mask(static_cast<std::size_t>(config.dim), 1);
    for (const std::int64_t head : heads) {
        for (std::size_t i = 0; i < width; ++i)
            mask[static_cast<std::size_t>(head) * width + i] = 0;
    }
    return tensor(mask, {config.dim});
}

}  // namespace

TakenAway::TakenAway(GPT& model, const Parts& parts) {
    const auto& blocks = model.blocks.layers;
    if (parts.positions) {
        require(model.position_embedding.has_value(),
                "this model adds no positions: there are none to take away");
        hook(*model.position_embedding, as_it_came);
    }
    if (parts.residuals) {  // before the norms' hooks, because these hooks read the norms' inputs
        for (const auto& block : blocks) without_residuals(*block);
    }
    if (parts.norms) {
        for (const auto& block : blocks) {
            hook(block->attention_norm, as_it_came);
            hook(block->feed_forward_norm, as_it_came);
        }
        hook(model.final_norm, as_it_came);
    }
    without_heads(model, parts.heads);
    for (const std::int64_t layer : parts.layers) {
        require(layer >= 0 && layer < std::ssize(blocks), "layer {} of {}", layer, blocks.size());
        hook(*blocks[static_cast<std::size_t>(layer)], as_it_came);
    }
}

void TakenAway::hook(Module& module, ForwardHook f) {
    hooks_.push_back(module.register_forward_hook(std::move(f)));
}

// The block adds x to dropout's output, so the hook subtracts x from that output. In f32 the sum is
// then the sublayer's own output up to rounding, and its gradient with respect to x is exactly 0.
void TakenAway::without_residuals(TransformerBlock& block) {
    const auto x = std::make_shared<Tensor>();
    const auto note = [x](const Module&, const Tensors& inputs, const Tensor&) {
        *x = inputs[0];
        return Tensor();
    };
    hook(block.attention_norm, note);
    hook(block.feed_forward_norm, note);
    hook(block.residual_dropout, [x](const Module&, const Tensors&, const Tensor& output) {
        return output - std::exchange(*x, {});
    });
}

// Zeroes the removed heads in the input of the output projection.
void TakenAway::without_heads(GPT& model, const std::vector<std::int64_t>& heads) {
    const GPTConfig& config = model.config();
    std::map<std::int64_t, std::vector<std::int64_t>> by_layer;
    for (const std::int64_t head : heads) {
        require(head >= 0 && head < config.layers * config.heads, "head {} of {}", head,
                config.layers * config.heads);
        by_layer[head / config.heads].push_back(head % config.heads);
    }
    for (const auto& [layer, gone] : by_layer) {
        Linear& output = model.blocks.layers[static_cast<std::size_t>(layer)]->attention.output;
        hook(output, [&output, mask = mask_without(gone, config)](
                         const Module&, const Tensors& inputs, const Tensor&) {
            return linear(inputs[0] * mask, output.weight, output.bias);
        });
    }
}

}  // namespace tapestry::examples
