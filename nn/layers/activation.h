// Activation functions as modules, for Sequential; elsewhere, call the functions (ops/activation.h,
// ops/elementwise.h).
#pragma once

#include <tapestry/nn/module/module.h>
#include <tapestry/ops/activation.h>

namespace tapestry {

/// max(x, 0)
class ReLU : public Module {
public:
    ReLU() : Module("ReLU") {}
    Tensor operator()(const Tensor& x) const;  ///< x of any shape and floating dtype -> the same
};

/// x where x > 0, else slope x
class LeakyReLU : public Module {
public:
    /// `slope` is the factor for x < 0.
    explicit LeakyReLU(double slope = 0.01) : Module("LeakyReLU"), slope_(slope) {}
    Tensor operator()(const Tensor& x) const;  ///< x of any shape and floating dtype -> the same
    std::string settings() const override;

private:
    double slope_;
};

/// x where x > 0, else alpha (e^x - 1)
class ELU : public Module {
public:
    /// `alpha` is minus the limit for x -> -infinity.
    explicit ELU(double alpha = 1) : Module("ELU"), alpha_(alpha) {}
    Tensor operator()(const Tensor& x) const;  ///< x of any shape and floating dtype -> the same
    std::string settings() const override;

private:
    double alpha_;
};

/// x Phi(x), where Phi is the CDF of the standard normal distribution; by default exact
/// (Gelu::erf), as PyTorch's.
class GELU : public Module {
public:
    /// `form`: exact (erf), or the approximation by tanh.
    explicit GELU(Gelu form = Gelu::erf) : Module("GELU"), form_(form) {}
    Tensor operator()(const Tensor& x) const;  ///< x of any shape and floating dtype -> the same
    std::string settings() const override;

private:
    Gelu form_;
};

/// x sigmoid(x)
class SiLU : public Module {
public:
    SiLU() : Module("SiLU") {}
    Tensor operator()(const Tensor& x) const;  ///< x of any shape and floating dtype -> the same
};

/// The hyperbolic tangent.
class Tanh : public Module {
public:
    Tanh() : Module("Tanh") {}
    Tensor operator()(const Tensor& x) const;  ///< x of any shape and floating dtype -> the same
};

/// 1 / (1 + e^-x)
class Sigmoid : public Module {
public:
    Sigmoid() : Module("Sigmoid") {}
    Tensor operator()(const Tensor& x) const;  ///< x of any shape and floating dtype -> the same
};

}  // namespace tapestry
