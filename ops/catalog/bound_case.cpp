#include <tapestry/ops/catalog/bound_case.h>

namespace tapestry::catalog {

BoundCase bind_case(const OpCase& row, const Tensors& inputs) {
    std::vector<std::size_t> real;
    BoundCase bound;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!is_floating(inputs[i].dtype())) continue;
        real.push_back(i);
        bound.inputs.push_back(inputs[i]);
    }
    bound.f = [op = row.op, inputs, real](const Tensors& x) {
        Tensors all = inputs;
        for (std::size_t i = 0; i < real.size(); ++i) all[real[i]] = x[i];
        return op(all);
    };
    bound.dual = [definition = row.dual_reference, inputs,
                  real](const std::vector<std::vector<Dual>>& x) {
        reference::Arrays<Dual> all;
        for (const Tensor& input : inputs) {
            reference::Array<Dual> array(input.shape());
            const auto values = input.to_vector<double>();
            array.data.assign(values.begin(), values.end());
            all.push_back(std::move(array));
        }
        for (std::size_t i = 0; i < real.size(); ++i) all[real[i]].data = x[i];
        return definition(all).data;
    };
    return bound;
}

}  // namespace tapestry::catalog
