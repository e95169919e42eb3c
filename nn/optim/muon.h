// Muon: a matrix moves along its momentum with all directions made equally long. What several
// directions have in common no longer hides what the others would have changed.
#pragma once

#include <tapestry/nn/optim/optimizer.h>

namespace tapestry {

/// x [R, C] with its singular values brought near 1 and its singular vectors kept, which is what
/// U V^T of x = U S V^T would be, by products alone: after division by the Frobenius norm
/// `iterations` times
///     x <- a x + b (x x^T) x + c (x x^T)^2 x,   a, b, c = 3.4445, -4.7750, 2.0315,
/// whose values end between 0.7 and 1.2 after five, if they began above a thousandth of the
/// largest. A constant; zeros stay zeros. Throws ShapeError unless x is a matrix, ValueError for
/// less than one iteration. Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in
/// neural networks".
Tensor orthogonalised(const Tensor& x, std::int64_t iterations = 5);

/// The settings of Muon.
struct MuonConfig {
    double lr = 1e-3;             ///< learning rate of all parameters
    double momentum = 0.95;       ///< of the matrices
    std::int64_t iterations = 5;  ///< of orthogonalised()
    double beta1 = 0.9;           ///< this and the next two: AdamW's, of all others
    double beta2 = 0.999;         ///< share of the mean of the squares that stays, in [0, 1)
    double eps = 1e-8;            ///< added to the root, so that nothing is divided by 0
    double weight_decay = 0.01;   ///< of groups without one of their own
};

/// Who is moved how.
struct MuonGroups {
    ParameterGroups matrices;  ///< by Muon
    ParameterGroups others;    ///< by AdamW
};

/// The matrices are the weights of the linear layers below the module of this name; embeddings and
/// heads, whose rows stand for tokens, are not among them. Decay as decay_groups has it.
MuonGroups muon_groups(const Module& model, double weight_decay,
                       std::string_view hidden = "blocks");

/// Of a matrix with the gradient g:
///     m <- momentum m + g,    p <- p (1 - lr weight_decay) - lr s orthogonalised(g + momentum m),
/// s = 0.2 sqrt(max(R, C)): the steps are as long as AdamW's, so that rates and decays of the one
/// are right for the other, too. All other parameters are AdamW's.
/// Sources: Jordan et al. 2024; s: Liu et al. 2025, "Muon is Scalable for LLM Training".
class Muon : public Optimizer {
public:
    /// Throws ValueError for one of `groups.matrices` that is none, and as AdamW does.
    explicit Muon(const MuonGroups& groups, const MuonConfig& config = {});

    const char* kind() const override { return "Muon"; }

protected:
    void update(const std::vector<Slot*>& slots, double grad_scale) override;
    Settings settings() const override;
    void set_settings(const Settings& settings) override;
    std::vector<std::string> moment_names(const Settings& settings) const override;
    std::vector<std::string> moment_names_in(std::size_t group,
                                             const Settings& settings) const override;

private:
    void move_matrix(Slot& slot, double grad_scale) const;

    std::size_t matrix_groups_;
    double momentum_ = 0;
    std::int64_t iterations_ = 0;
    double beta1_ = 0;
    double beta2_ = 0;
    double eps_ = 0;
};

}  // namespace tapestry
