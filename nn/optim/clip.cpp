#include <tapestry/nn/optim/clip.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/optimizer_step.h>

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

}  // namespace

double grad_norm(const Tensors& parameters) {
    return std::sqrt(sum_of_squares(gradients_of(parameters)));
}

double clip_grad_norm(const Tensors& parameters, double max_norm) {
    require(max_norm > 0, "clip_grad_norm: max norm must be positive, got {}", max_norm);
    const double norm = grad_norm(parameters);
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
