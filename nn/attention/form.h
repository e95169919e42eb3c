// AttentionForm: what a head does with its queries, keys and values. The softmax of the paper is
// one form; cheaper ones for long sequences stand beside it in this folder, and a
// MultiHeadAttention takes any of them:
//
//     MultiHeadAttention attention({.dim = 128, .heads = 4, .form = [] {
//         return std::make_unique<SlidingWindowAttention>(64);
//     }});
#pragma once

#include <tapestry/nn/module/module.h>
#include <tapestry/ops/attention.h>

#include <functional>
#include <memory>

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

}  // namespace tapestry
