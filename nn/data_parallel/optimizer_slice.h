// An optimiser's work on one process's slice of the parameters, with the moments of that slice
// only. If a number's step depends on no other number (OptimizerRow::elementwise), cutting changes
// no bit, and each of P processes keeps a P-th of the moments.
// Source: Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter
// Models", stage 1.
// Internal to nn/data_parallel. Read next: data_parallel.h, which uses it.
#pragma once

#include <tapestry/nn/data_parallel/flat_parameters.h>
#include <tapestry/nn/distributed/communicator.h>
#include <tapestry/nn/optim/optimizer.h>

#include <memory>

namespace tapestry {

class OptimizerSlice {
public:
    /// Whether the optimiser is elementwise (nn/optim/optimizer_registry.h) and so can be cut.
    static bool is_for(const Optimizer& optimizer);

    /// Takes over from `whole`, whose moments are forgotten there. Throws ValueError unless it can
    /// be cut.
    OptimizerSlice(Optimizer& whole, const FlatParameters& flat, int rank);

    /// One step for the numbers that this process owns, which have this gradient, [n].
    void step(const Tensor& gradient, double lr, double grad_scale);

    /// Puts all processes' slices together in `whole`, of process 0. All call it.
    void collect(Communicator& communicator, Optimizer& whole) const;

    /// Size of this process's moments.
    std::size_t bytes() const;

private:
    OptimizerState cut(const OptimizerState& whole) const;
    ParameterGroups groups(const OptimizerState& of) const;
    std::vector<Optimizer::Part> origins(const OptimizerState& of) const;
    Tensors own_moments() const;
    OptimizerState without_moments(std::int64_t steps) const;

    const FlatParameters& flat_;
    std::vector<FlatParameters::Part> parts_;
    OptimizerState begun_;                  // of the whole; its moments are released
    std::vector<std::string> names_;        // of all parameters, in their order
    std::vector<std::string> moments_;      // "m", "v": names of each parameter's moments
    Tensors views_;                         // of the parts
    std::unique_ptr<Optimizer> optimizer_;  // null for an empty slice
    std::int64_t taken_ = 0;
    double lr_ = 0;
};

}  // namespace tapestry
