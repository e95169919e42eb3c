#include <tapestry/nn/layers/sequential.h>

namespace tapestry {

void Sequential::append(std::unique_ptr<Module> module, Call call) {
    register_module(std::to_string(steps_.size()), *module);
    steps_.push_back({std::move(module), std::move(call)});
}

Tensor Sequential::operator()(const Tensor& x) const {
    const ModuleScope scope(name());
    Tensor y = x;
    for (const Step& step : steps_) y = step.call(y);
    return hooked(y, x);
}

Module& Sequential::operator[](std::size_t i) const {
    require<IndexError>(i < steps_.size(), "Sequential: module {} of {}", i, steps_.size());
    return *steps_[i].module;
}

}  // namespace tapestry
