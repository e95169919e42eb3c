// AttentionForm: how a head combines its queries, keys and values. The paper's softmax is one form;
// cheaper ones for long sequences are in this folder, and a MultiHeadAttention takes any of them:
//
//     MultiHeadAttention attention({.dim = 128, .heads = 4, .form = [] {
//         return std::make_unique<SlidingWindowAttention>(64);
//     }});
//
// Read next: sparse_attention.h, linear_attention.h and lsh_attention.h, those forms.
#pragma once

#include <tapestry/nn/module/module.h>
#include <tapestry/ops/attention.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// How a head combines its queries, keys and values. Derive from this to define your own.
class AttentionForm : public Module {
public:
    /// q [B, H, T, D], k [B, H, S, D], v [B, H, S, E] -> [B, H, T, E]. A form that does not support
    /// one of the options throws ValueError instead of ignoring it.
    virtual Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                              const AttentionOptions& options) const = 0;

    /// Whether queries must be the keys; a MultiHeadAttention then has one projection for both.
    virtual bool shares_keys() const { return false; }

protected:
    using Module::Module;
};

/// Creates the form of one attention module; each layer has its own, because a form may have
/// parameters.
using AttentionFormFactory = std::function<std::unique_ptr<AttentionForm>()>;

// ---- by name ------------------------------------------------------------------------------------

/// Gives a form a name that configurations can have (GPTConfig::form). Checkpoints and model
/// directories store the name, and loading them finds the form. Call it at the start of every
/// program that uses such models, before there are other threads. Throws
/// ValueError for a name that is empty or taken, and for no factory.
void register_attention_form(const std::string& name, AttentionFormFactory factory);

/// The registered form; empty for "softmax", the default. Throws ValueError, listing the names, for
/// any other.
AttentionFormFactory attention_form(const std::string& name);

/// "softmax" and the registered names, in order of registration.
std::vector<std::string> attention_form_names();

/// softmax(q k^T / sqrt(D)) v, the default form: T S D operations; does not keep its weights.
/// Source: Vaswani et al. 2017, equation 1.
class SoftmaxAttention : public AttentionForm {
public:
    SoftmaxAttention() : AttentionForm("SoftmaxAttention") {}
    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override {
        return hooked(scaled_dot_product_attention(q, k, v, options), q, k, v);
    }
};

// ---- checks of the efficient forms --------------------------------------------------------------

/// The sizes of one call.
struct AttentionSizes {
    std::int64_t queries,  ///< T
        keys;              ///< S
    std::int64_t width,    ///< D
        values;            ///< E
};

/// Throws ShapeError unless q [B, H, T, D], k [B, H, S, D], v [B, H, S, E] match and T and S are
/// positive, and DTypeError unless all are f32 or all f64. Makes `options.weights` undefined,
/// because no efficient form has weights [T, S].
AttentionSizes check_attention(std::string_view form, const Tensor& q, const Tensor& k,
                               const Tensor& v, const AttentionOptions& options);

/// For forms in which a position sees its neighbours: throws ValueError unless T = S or, if causal,
/// T <= S, the queries being the last positions.
void check_positions(std::string_view form, const AttentionSizes& sizes, bool causal);

/// For forms without explicit weights: throws ValueError for dropout or a scale.
void refuse_weights(std::string_view form, const AttentionOptions& options, bool scaled);

/// A mask on keys, the same for all queries: bool [B, H, 1, S], where the first two sizes may be 1.
/// All true if `mask` is undefined. Throws ValueError for any other mask.
Tensor key_mask(std::string_view form, const Tensor& mask, std::int64_t keys);

}  // namespace tapestry
