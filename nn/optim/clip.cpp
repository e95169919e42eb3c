#include <tapestry/nn/optim/clip.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/optimizer_step.h>
#include <tapestry/ops/reduction.h>

#include <cmath>

namespace tapestry {
namespace {

Tensors gradients_of(const Tensors& parameters) {
    Tensors gradients;
    for (const Tensor& parameter : parameters) {
        if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    }
    return gradients;
}

// The norm if the squares of f64 gradients leave the range: m |gradients / m|, where m is the
// largest number.
double norm_in_range(const Tensors& gradients) {
    const NoGradGuard no_grad;
    double largest = 0;
    for (const Tensor& gradient : gradients) {
        if (gradient.numel() > 0) largest = std::fmax(largest, max(abs(gradient)).item());
    }
    if (largest == 0 || !std::isfinite(largest)) return largest;
    double squares = 0;
    for (const Tensor& gradient : gradients) {
        squares += sum_of_squares({div(to(gradient, DType::f64), largest)});
    }
    return largest * std::sqrt(squares);
}

}  // namespace

double grad_norm(const Tensors& parameters) {
    const Tensors gradients = gradients_of(parameters);
    const double squares = sum_of_squares(gradients);
    constexpr double kLeast = 1e-290;  // below, squares have lost digits to underflow
    const bool in_range = squares >= kLeast && squares < HUGE_VAL;
    return in_range || std::isnan(squares) ? std::sqrt(squares) : norm_in_range(gradients);
}

double clip_grad_norm(const Tensors& parameters, double max_norm, bool error_if_nonfinite) {
    require(max_norm > 0, "clip_grad_norm: max norm must be positive, got {}", max_norm);
    const double norm = grad_norm(parameters);
    require(!error_if_nonfinite || std::isfinite(norm),
            "clip_grad_norm: the norm of the gradients must be finite, got {}", norm);
    if (norm > max_norm) {
        for (Tensor& gradient : gradients_of(parameters)) scale_(gradient, max_norm / norm);
    }
    return norm;
}

void clip_grad_value(const Tensors& parameters, double max_value) {
    require(max_value > 0, "clip_grad_value: max value must be positive, got {}", max_value);
    const NoGradGuard no_grad;
    for (Tensor& gradient : gradients_of(parameters)) {
        gradient.copy_(clamp(gradient, -max_value, max_value));
    }
}

}  // namespace tapestry
