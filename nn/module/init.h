// Parameter initialisation, with PyTorch's names:
//
//     init::kaiming_normal_(layer.weight, {.generator = generator});
//     for (auto& [name, p] : model.named_parameters()) {
//         if (p.rank() >= 2) init::trunc_normal_(p, 0, 0.02, -0.04, 0.04, generator);
//     }
//
// The functions overwrite a tensor in place: leaves stay leaves, and no tape records it. The
// numbers depend only on the generator, so a seed always gives the same model. All of them take f32
// and f64 (else DTypeError) and return x.
#pragma once

#include <tapestry/core/random.h>

namespace tapestry::init {

/// Uniform in [low, high). Throws ValueError as uniform() does.
Tensor& uniform_(Tensor& x, double low = 0, double high = 1,
                 Generator& generator = default_generator());

/// Normal. Throws ValueError as normal() does.
Tensor& normal_(Tensor& x, double mean = 0, double std = 1,
                Generator& generator = default_generator());

/// Normal, resampled until it lies in [low, high]. Throws ValueError unless low < high and std > 0,
/// and if [low, high] lies more than two standard deviations to one side of the mean, where
/// resampling would take too long. Narrow intervals: Robert 1995, "Simulation of truncated normal
/// variables".
Tensor& trunc_normal_(Tensor& x, double mean = 0, double std = 1, double low = -2, double high = 2,
                      Generator& generator = default_generator());

/// Sets all elements to 0.
Tensor& zeros_(Tensor& x);
/// Sets all elements to 1.
Tensor& ones_(Tensor& x);

/// A matrix [R, C], where C is the product of all axes but the first, with orthogonal rows (columns
/// if R > C) of length `gain`, uniformly distributed among such matrices. Throws ShapeError below
/// rank 2. Takes R C min(R, C) operations in f64, on one thread. Source: Saxe et al. 2013, "Exact
/// solutions to the nonlinear dynamics of learning in deep linear neural networks".
Tensor& orthogonal_(Tensor& x, double gain = 1, Generator& generator = default_generator());

/// Number of inputs that each output depends on, and the reverse. For the weights [out, in, ...] of
/// a linear layer or a convolution: `in` and `out`, times the product of the remaining axes.
struct Fans {
    std::int64_t in;   ///< inputs per output
    std::int64_t out;  ///< outputs per input
};
/// Throws ShapeError below rank 2.
Fans fans(const Tensor& weight);

/// The activation after a layer.
enum class Nonlinearity {
    linear,      ///< none: gain 1
    sigmoid,     ///< gain 1
    tanh,        ///< gain 5/3
    relu,        ///< gain sqrt(2)
    leaky_relu,  ///< gain sqrt(2 / (1 + negative_slope^2))
    selu         ///< gain 3/4
};

/// The factor that makes up for its reduction of the standard deviation, as PyTorch's
/// calculate_gain: 1; 1; 5/3; sqrt(2); sqrt(2 / (1 + negative_slope^2)), the only one that uses
/// negative_slope; 3/4.
double calculate_gain(Nonlinearity nonlinearity, double negative_slope = 0.01);

/// Options of xavier_uniform_() and xavier_normal_().
struct XavierOptions {
    double gain = 1;                             ///< factor of the deviation, from calculate_gain()
    Generator& generator = default_generator();  ///< source of the numbers
};

/// Uniform in +-gain sqrt(6 / (fan in + fan out)). Throws ShapeError below rank 2. Source: Glorot
/// and Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks".
Tensor& xavier_uniform_(Tensor& x, const XavierOptions& options = {});
/// Normal with standard deviation gain sqrt(2 / (fan in + fan out)).
Tensor& xavier_normal_(Tensor& x, const XavierOptions& options = {});

/// Which fan kaiming_uniform_() and kaiming_normal_() take: it preserves the scale of activations,
/// or of gradients.
enum class FanMode {
    fan_in,  ///< inputs per output
    fan_out  ///< outputs per input
};

/// Options of kaiming_uniform_() and kaiming_normal_().
struct KaimingOptions {
    FanMode mode = FanMode::fan_in;                  ///< which fan
    Nonlinearity nonlinearity = Nonlinearity::relu;  ///< PyTorch: leaky_relu with slope 0, the same
    double negative_slope = 0.01;                    ///< of leaky_relu
    Generator& generator = default_generator();      ///< source of the numbers
};

/// Uniform in +-gain sqrt(3 / fan). Throws ShapeError below rank 2. Source: He et al. 2015,
/// "Delving Deep into Rectifiers".
Tensor& kaiming_uniform_(Tensor& x, const KaimingOptions& options = {});
/// Normal with standard deviation gain / sqrt(fan).
Tensor& kaiming_normal_(Tensor& x, const KaimingOptions& options = {});

}  // namespace tapestry::init
