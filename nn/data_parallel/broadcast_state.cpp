#include <tapestry/nn/data_parallel/broadcast_state.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/data_parallel/flat_parameters.h>
#include <tapestry/nn/io/module_file.h>

#include <map>
#include <string_view>

namespace tapestry {
namespace {

constexpr std::string_view kFirstState = "weights and moments to begin with";

template <class T>
void broadcast_number(Communicator& c, T& number) {
    broadcast(c, 0, std::as_writable_bytes(std::span(&number, 1)), kFirstState);
}

// An optimiser's tensors are those of its parameters' shapes, and their numbers of steps.
Tensor empty_for(const std::string& name, const std::map<std::string, Tensor>& parameters) {
    const std::size_t dot = name.find('.');
    if (name.substr(0, dot) == "steps") return tensor(std::vector<std::int64_t>{0}, {});
    const Tensor& parameter = parameters.at(name.substr(dot + 1));
    return Tensor(parameter.shape(), parameter.dtype());
}

void broadcast_optimizer(Communicator& c, Optimizer& optimizer) {
    OptimizerState state = optimizer.state();
    broadcast_number(c, state.steps);
    broadcast_number(c, state.lr);
    std::map<std::string, Tensor> parameters;
    const Tensors all = optimizer.parameters();
    std::size_t next = 0;
    for (const auto& group : state.groups) {
        for (const std::string& name : group.parameters) parameters[name] = all[next++];
    }
    std::uint64_t count = state.tensors.size();
    broadcast_number(c, count);
    state.tensors.resize(count);
    for (auto& [name, tensor] : state.tensors) {
        broadcast(c, 0, name, kFirstState);
        if (c.rank() != 0) tensor = empty_for(name, parameters);
        broadcast(c, 0, mutable_bytes_of(tensor), kFirstState);
    }
    if (c.rank() != 0) optimizer.load_state(state);
}

}  // namespace

std::int64_t broadcast_state(Communicator& communicator, const Checkpoint& state) {
    for (const auto& [name, saved] : saved_tensors(state.module)) {
        Tensor here = saved;
        broadcast(communicator, 0, mutable_bytes_of(here), kFirstState);
    }
    broadcast_optimizer(communicator, state.optimizer);
    for (const auto& [name, generator] : state.generators) {
        std::uint64_t seed = generator->seed(), offset = generator->offset();
        broadcast_number(communicator, seed);
        broadcast_number(communicator, offset);
        generator->set_state(seed, offset);
    }
    std::int64_t step = state.step;
    broadcast_number(communicator, step);
    return step;
}

}  // namespace tapestry
