// Muon: a matrix moves along its momentum with all directions made equally long. What several
// directions have in common no longer hides what the others would have changed.
#pragma once

#include <tapestry/nn/optim/adam.h>

namespace tapestry {

/// x [R, C] with its singular vectors kept and its singular values brought near 1: approximately
/// U V^T of x = U S V^T, computed with matrix products only. Divides by the Frobenius norm, then
/// repeats `iterations` times
///     x <- a x + b (x x^T) x + c (x x^T)^2 x,   a, b, c = 3.4445, -4.7750, 2.0315.
/// Five iterations bring singular values above a thousandth of the largest to between 0.7 and 1.2.
/// The result is a constant; zeros stay zeros. Throws ShapeError unless x is a matrix, ValueError
/// for less than one iteration. Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers
/// in neural networks".
Tensor orthogonalised(const Tensor& x, std::int64_t iterations = 5);

/// The settings of Muon.
struct MuonConfig {
    double lr = 1e-3;             ///< learning rate of all parameters
    double momentum = 0.95;       ///< of the matrices
    std::int64_t iterations = 5;  ///< of orthogonalised()
    double beta1 = 0.9;           ///< this and the next two: AdamW's, of all others
    double beta2 = 0.999;         ///< share of the mean of the squares that stays, in [0, 1)
    double eps = 1e-8;            ///< added to the root to avoid division by 0
    double weight_decay = 0.01;   ///< of groups that set none
};

template <>
struct FieldsOf<MuonConfig> {
    using C = MuonConfig;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("momentum", &C::momentum, "Momentum of the matrices", kOpenFraction);
        field("iterations", &C::iterations, "Iterations of orthogonalised()",
              {.low = 1, .high = 100});
        list_adam_settings<C>(field);
    }
};

/// The parameters that each of Muon's two rules updates.
struct MuonGroups {
    ParameterGroups matrices;  ///< by Muon
    ParameterGroups others;    ///< by AdamW
};

/// The matrices are the weights of the linear layers below the module of this name; embeddings and
/// heads, whose rows stand for tokens, are not among them. Decay as decay_groups has it.
MuonGroups muon_groups(const Module& model, double weight_decay,
                       std::string_view hidden = "blocks");

/// Updates a matrix with the gradient g by
///     m <- momentum m + g,    p <- p (1 - lr weight_decay) - lr s orthogonalised(g + momentum m),
/// s = 0.2 sqrt(max(R, C)): the steps are as long as AdamW's, so both work with the same learning
/// rates and decays. AdamW updates all other parameters.
/// Sources: Jordan et al. 2024; s: Liu et al. 2025, "Muon is Scalable for LLM Training".
class Muon : public ConfiguredOptimizer<Muon, MuonConfig> {
public:
    /// Throws ValueError if `groups.matrices` has a tensor that is not a matrix, and as AdamW does.
    explicit Muon(const MuonGroups& groups, const MuonConfig& config = {});

    /// AdamW's; a matrix has a momentum instead.
    static std::vector<std::string> moments(const MuonConfig&) { return {"m", "v"}; }

protected:
    void update(const std::vector<Slot*>& slots, double grad_scale) override;
    std::vector<std::string> moment_names_in(std::size_t group,
                                             const Settings& settings) const override;

private:
    void move_matrix(Slot& slot, double grad_scale) const;

    std::size_t matrix_groups_;
};

}  // namespace tapestry
