// Softmax attention, estimated by random features whose products have e^(q.k) as their mean.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/attention/form.h>

namespace tapestry {

/// phi(x) = exp(W x - |x|^2 / 2) / sqrt(m) for x [..., D] and W [m, D]: [..., m]. With rows of W
/// drawn from N(0, 1), E[phi(x) . phi(y)] = e^(x.y). Overflows for large x, as e^(x.y) does.
Tensor positive_features(const Tensor& x, const Tensor& projection);

/// [m, D]: rows distributed as N(0, 1), but in every D consecutive ones orthogonal to one another,
/// which lessens the variance of what is estimated with them.
Tensor orthogonal_gaussian(std::int64_t m, std::int64_t dim, Generator& generator,
                           DType dtype = DType::f32);

/// linear_attention of phi(sqrt(scale) q) and phi(sqrt(scale) k), whose products estimate the
/// e^(scale q.k) of softmax attention without bias; the error of a weight falls as 1 / sqrt(m) and
/// grows with e^(|q + k|^2), so that sharp attention needs many features.
///
/// Cost: O((T + S) m (D + E)) operations, O(T (m + E)) numbers kept. Masks: bool [B, 1, 1, S]
/// (others: ValueError). There are no weights: dropout throws ValueError. The projection W [m, D]
/// is a buffer, saved with the model. Source: Choromanski et al. 2020, "Rethinking Attention with
/// Performers" (FAVOR+), lemma 1 and section 2.4.
class PerformerAttention : public AttentionForm {
public:
    Tensor projection;  // W [m, D]

    /// For heads of size D = `head_dim`, with m = `features`. Throws ValueError unless both are
    /// positive.
    PerformerAttention(std::int64_t head_dim, std::int64_t features,
                       Generator& generator = default_generator());

    /// Draws new features: now and then in training, so that no model fits itself to one draw.
    void redraw(Generator& generator = default_generator());

    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override;
    std::string settings() const override;
};

}  // namespace tapestry
