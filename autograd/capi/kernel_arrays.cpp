#include <tapestry/autograd/capi/kernel_arrays.h>

#include <algorithm>

namespace tapestry::capi {
namespace {

using Values = std::vector<double>;

constexpr std::size_t kSlack = 8;

}  // namespace

Given::Given(Tensors arrays) : arrays_(std::move(arrays)) {
    for (const Tensor& x : arrays_) {
        const bool there = x.defined();
        pointers_.push_back(there ? x.data<double>() : nullptr);
        std::vector<std::ptrdiff_t> strides;
        for (int axis = 0; there && axis < x.rank(); ++axis) strides.push_back(x.strides()[axis]);
        strides.push_back(1);  // a pointer even without axes
        strides_.push_back(std::move(strides));
        before_.push_back(there ? x.to_vector<double>() : Values());
    }
    for (const auto& one : strides_) stride_pointers_.push_back(one.data());
}

std::optional<std::pair<std::size_t, std::size_t>> Given::changed() const {
    for (std::size_t k = 0; k < arrays_.size(); ++k) {
        if (!arrays_[k].defined()) continue;
        const Values now = arrays_[k].to_vector<double>();
        for (std::size_t i = 0; i < now.size(); ++i) {
            if (!same_bits(now[i], before_[k][i])) return std::pair(k, i);
        }
    }
    return {};
}

Written::Written(const std::vector<Shape>& shapes, double filling,
                 const std::vector<bool>& wanted) {
    for (std::size_t k = 0; k < shapes.size(); ++k) {
        wanted_.push_back(wanted.empty() || wanted[k]);
        buffers_.emplace_back(static_cast<std::size_t>(numel(shapes[k])), filling);
    }
    for (std::size_t k = 0; k < shapes.size(); ++k) {
        pointers_.push_back(wanted_[k] ? buffers_[k].data() : nullptr);
    }
}

std::vector<Values> Written::now() const {
    std::vector<Values> all;
    for (std::size_t k = 0; k < buffers_.size(); ++k) {
        all.push_back(wanted_[k] ? buffers_[k].now() : Values());
    }
    return all;
}

std::optional<std::size_t> Written::beyond() const {
    for (std::size_t k = 0; k < buffers_.size(); ++k) {
        if (!buffers_[k].has_its_guards()) return k;
    }
    return {};
}

Results::Results(const std::vector<Shape>& shapes) {
    for (const Shape& shape : shapes) {
        numbers_.emplace_back(static_cast<std::size_t>(numel(shape)) + kSlack);
    }
    for (Values& one : numbers_) pointers_.push_back(one.data());
}

std::vector<Values> Results::taken() {
    for (Values& one : numbers_) one.resize(one.size() - kSlack);
    return std::move(numbers_);
}

}  // namespace tapestry::capi
