#include <tapestry/ops/catalog/bound_case.h>

#include <tapestry/ops/join.h>
#include <tapestry/ops/view.h>

#include <algorithm>

namespace tapestry::catalog {

Tensor real_result(const Tensors& results) {
    Tensors real;
    std::copy_if(results.begin(), results.end(), std::back_inserter(real),
                 [](const Tensor& y) { return is_floating(y.dtype()); });
    if (real.size() <= 1) return real.empty() ? Tensor() : real[0];
    for (Tensor& y : real) y = flatten(y);
    return concat(real);
}

std::vector<Dual> real_result(const reference::Arrays<Dual>& arrays, const Tensors& results) {
    std::vector<Dual> real;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        if (!is_floating(results.at(i).dtype())) continue;
        real.insert(real.end(), arrays[i].data.begin(), arrays[i].data.end());
    }
    return real;
}

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
        return real_result(op(all));
    };
    bound.dual = [definition = row.dual_reference, inputs, real,
                  results = row.op(inputs)](const std::vector<std::vector<Dual>>& x) {
        reference::Arrays<Dual> all;
        for (const Tensor& input : inputs) {
            reference::Array<Dual> array(input.shape());
            const auto values = input.to_vector<double>();
            array.data.assign(values.begin(), values.end());
            all.push_back(std::move(array));
        }
        for (std::size_t i = 0; i < real.size(); ++i) all[real[i]].data = x[i];
        return real_result(definition(all), results);
    };
    return bound;
}

}  // namespace tapestry::catalog
