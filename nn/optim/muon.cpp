#include <tapestry/nn/optim/muon.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/parallel.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/matmul.h>
#include <tapestry/ops/optimizer_step.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace tapestry {
namespace {

ParameterGroups joined(const MuonGroups& groups) {
    for (const ParameterGroup& group : groups.matrices) {
        for (const auto& [name, parameter] : group.parameters) {
            require(parameter.rank() == 2, "Muon: parameter \"{}\" must be a matrix, got {}", name,
                    parameter.shape());
        }
    }
    ParameterGroups all = groups.matrices;
    all.insert(all.end(), groups.others.begin(), groups.others.end());
    return all;
}

bool is_of_linear(const Tensor& parameter) {
    if (parameter.leaf() == nullptr) return false;
    const auto& place = parameter.leaf()->place;
    return place && place->module->kind == "Linear";
}

// The product of all iterations' factors, without multiplying the wide y each time: y y^T becomes
// p (y y^T) p, where p is the factor, which is symmetric and commutes with y y^T.
template <class F>
Tensor product_of_factors(Tensor square, const F& factor, std::int64_t iterations) {
    Tensor all = factor(square);
    Tensor last = all;
    for (std::int64_t i = 1; i < iterations; ++i) {
        square = matmul(matmul(last, square), last);
        last = factor(square);
        all = matmul(last, all);
    }
    return all;
}

}  // namespace

Tensor orthogonalised(const Tensor& x, std::int64_t iterations) {
    constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
    require<ShapeError>(x.defined() && x.rank() == 2, "orthogonalised: needs a matrix, got {}",
                        x.shape());
    require(iterations >= 1, "orthogonalised: iterations must be at least 1, got {}", iterations);
    const NoGradGuard no_grad;
    const double length = std::sqrt(sum_of_squares({x}));
    if (length == 0) return x.clone();
    const bool tall = x.size(0) > x.size(1);
    Tensor y = mul(tall ? transpose(x, 0, 1) : x, 1 / length);  // [r, c], r <= c
    const Tensor identity = mul(eye(y.size(0), x.dtype()), kA);
    const auto factor = [&](const Tensor& square) {  // by which y is multiplied
        return identity + kB * square + kC * matmul(square, square);
    };
    if (y.size(1) >= 2 * y.size(0)) {
        y = matmul(product_of_factors(matmul(y, transpose(y, 0, 1)), factor, iterations), y);
    } else {
        for (std::int64_t i = 0; i < iterations; ++i) {
            y = matmul(factor(matmul(y, transpose(y, 0, 1))), y);
        }
    }
    return tall ? transpose(y, 0, 1) : y;
}

MuonGroups muon_groups(const Module& model, double weight_decay, std::string_view hidden) {
    ParameterGroup matrices{.parameters = {}, .weight_decay = weight_decay};
    ParameterGroups others = decay_groups(model, weight_decay);
    const std::string below = std::string(hidden) + ".";
    ParameterList& decayed = others.front().parameters;
    const auto moves = [&](const auto& named) {
        const auto& [name, parameter] = named;
        return parameter.rank() == 2 && name.starts_with(below) && is_of_linear(parameter);
    };
    std::copy_if(decayed.begin(), decayed.end(), std::back_inserter(matrices.parameters), moves);
    std::erase_if(static_cast<NamedTensors&>(decayed), moves);
    return {ParameterGroups{matrices}, others};
}

Muon::Muon(const MuonGroups& groups, const MuonConfig& config)
    : ConfiguredOptimizer("Muon", joined(groups), config), matrix_groups_(groups.matrices.size()) {}

std::vector<std::string> Muon::moment_names_in(std::size_t group, const Settings& settings) const {
    if (group < matrix_groups_) return {"momentum"};
    return moment_names(settings);
}

void Muon::move_matrix(Slot& slot, double grad_scale) const {
    const Tensor& p = slot.parameter;
    const double length =
        0.2 * std::sqrt(static_cast<double>(std::max(p.size(0), p.size(1))));  // of a step
    // From zeros, with Nesterov's momentum, at the rate -1: g + momentum m.
    Tensor ahead = zeros_like(p.detach());
    sgd_update_(
        ahead, p.grad(), slot.moments[0],
        {.lr = -1, .momentum = config().momentum, .nesterov = true, .grad_scale = grad_scale});
    Tensor none;
    sgd_update_(slot.parameter, orthogonalised(ahead, config().iterations), none,
                {.lr = lr_of(slot) * length, .weight_decay = weight_decay_of(slot) / length});
}

// Updates the matrices in parallel, one thread each: the same bits as one after the other.
void Muon::update(const std::vector<Slot*>& slots, double grad_scale) {
    const AdamUpdate adam{.beta1 = config().beta1,
                          .beta2 = config().beta2,
                          .eps = config().eps,
                          .grad_scale = grad_scale};
    RecycledVector<Slot*> matrices;
    RecycledVector<AdamParameter> others;
    for (Slot* slot : slots) {
        if (slot->group < matrix_groups_) {
            matrices.push_back(slot);
        } else {
            others.push_back(adam_step(*slot, adam));
        }
    }
    parallel_for_chunks(static_cast<std::int64_t>(matrices.size()), [&](std::int64_t i) {
        move_matrix(*matrices[static_cast<std::size_t>(i)], grad_scale);
    });
    adamw_update_(others);
}

}  // namespace tapestry
