// AttentionForm: what a head does with its queries, keys and values. The softmax of the paper is
// one form; cheaper ones for long sequences stand beside it in this folder, and a
// MultiHeadAttention takes any of them:
//
//     MultiHeadAttention attention({.dim = 128, .heads = 4, .form = [] {
//         return std::make_unique<SlidingWindowAttention>(64);
//     }});
//
// Read next: sparse_attention.h and linear_attention.h, those forms.
#pragma once

#include <tapestry/nn/module/module.h>
#include <tapestry/ops/attention.h>

#include <functional>
#include <memory>
#include <string_view>

namespace tapestry {

class AttentionForm : public Module {
public:
    /// q [B, H, T, D], k [B, H, S, D], v [B, H, S, E] -> [B, H, T, E]. A form that cannot honour
    /// one of the options throws ValueError rather than leave it out.
    virtual Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                              const AttentionOptions& options) const = 0;

protected:
    using Module::Module;
};

/// Makes the form of one attention: every layer has its own, since a form may have parameters.
using AttentionFormFactory = std::function<std::unique_ptr<AttentionForm>()>;

/// softmax(q k^T / sqrt(D)) v, the form that is taken where none is named: T S D operations;
/// its weights are not kept. Source: Vaswani et al. 2017, equation 1.
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
    std::int64_t queries, keys;  // T, S
    std::int64_t width, values;  // D, E
};

/// Throws ShapeError unless q [B, H, T, D], k [B, H, S, D], v [B, H, S, E] go together and T and S
/// are not 0, and DTypeError unless they are f32 or f64, all the same. `options.weights` is made
/// undefined: no efficient form has weights [T, S].
AttentionSizes check_attention(std::string_view form, const Tensor& q, const Tensor& k,
                               const Tensor& v, const AttentionOptions& options);

/// For forms that look from a position at others near it: throws ValueError unless T = S, or, if
/// causal, T <= S, the queries being the last ones.
void check_positions(std::string_view form, const AttentionSizes& sizes, bool causal);

/// For forms that never compute a weight: throws ValueError for dropout or a scale.
void refuse_weights(std::string_view form, const AttentionOptions& options, bool scaled);

/// A mask that says of a key, but not of a query and a key, whether it is seen: bool [B, H, 1, S],
/// any of the first two sizes may be 1. All keys if `mask` is undefined. Throws ValueError for any
/// other mask.
Tensor key_mask(std::string_view form, const Tensor& mask, std::int64_t keys);

}  // namespace tapestry
