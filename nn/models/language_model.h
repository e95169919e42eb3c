// A language model: what training on text, sampling, evaluating, inspecting and saving need of a
// model of any kind. Read next: model_registry.h, the kinds; gpt.h, the first of them.
#pragma once

#include <tapestry/nn/models/model_registry.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/nn/transformer/blocks.h>

namespace tapestry {

/// A model that predicts the next token of a sequence from those before it.
class LanguageModel : public Module {
public:
    using Module::Module;

    /// ids i64 [B, T] -> logits [B, T, V], T <= context. With inputs.caches the ids continue those
    /// of earlier calls, which count towards the context. Throws ShapeError for more tokens than
    /// the context, IndexError for ids outside the vocabulary.
    virtual Tensor operator()(const Tensor& ids,
                              const TransformerStackInputs& inputs = {}) const = 0;

    /// Mean cross-entropy of predicting targets i64 [B, T] from ids [B, T]. Logits that would be
    /// large are not computed as a whole (ops/linear_cross_entropy.h), which gives the same up to
    /// rounding, unless hooks or WholeLogits (ops/recorded.h) want to see them.
    Tensor loss(const Tensor& ids, const Tensor& targets) const;

    /// Its configuration, which make_model() takes.
    virtual ModelConfig model_config() const = 0;

    /// Sets the compute type of later calls. Does not change parameters; a model with bf16
    /// parameters always computes in bf16.
    virtual void compute_in(ComputeType type) = 0;

protected:
    /// The linear layer without a bias that a model's logits come from.
    struct LastLayer {
        const Linear* head = nullptr;  ///< [V, C]; null for another kind of head
        double softcap = 0;            ///< as in LinearCrossEntropyOptions
    };

    /// Its last layer, from which a loss in slices computes the logits. A class that changes the
    /// logits in operator() must return none.
    virtual LastLayer last_layer() const { return {}; }
    /// ids i64 [B, T] -> [B, T, C], what the last layer's head reads; undefined if it has none.
    /// Throws as operator() does.
    virtual Tensor features(const Tensor& /*ids*/, const TransformerStackInputs& /*inputs*/) const {
        return {};
    }

    /// Position of the first of the ids [B, T]: the number of tokens in the caches. Throws
    /// ShapeError if they do not fit into the context.
    std::int64_t first_position(const Tensor& ids, const TransformerStackInputs& inputs) const;

private:
    bool has_large_logits(const Tensor& ids) const;
};

/// The model as one of this kind, to reach members that only that kind has:
/// as<GPT>(session.model()).head. Throws ValueError for another kind.
template <class Model, class Given>
auto& as(Given& model) {
    auto* found =
        dynamic_cast<std::conditional_t<std::is_const_v<Given>, const Model, Model>*>(&model);
    require(found != nullptr, "the model is {}, which cannot be used here",
            row_of(model.model_config()).phrase);
    return *found;
}

}  // namespace tapestry
