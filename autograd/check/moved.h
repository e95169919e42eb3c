// Moves a leaf and moves it back. Internal to autograd/check.
#pragma once

#include <tapestry/core/tensor.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tapestry::checker {

/// Moves a leaf for the lifetime of this object, from the numbers that it had before.
class Moved {
public:
    explicit Moved(Tensor leaf) : leaf_(std::move(leaf)), own_(leaf_.to_vector<double>()) {}
    /// `before` must outlive it: a line moves its leaf often, and knows where it begins.
    Moved(Tensor leaf, const std::vector<double>& before)
        : leaf_(std::move(leaf)), before_(before) {}
    ~Moved() { std::copy(before_.begin(), before_.end(), leaf_.mutable_data<double>()); }
    Moved(const Moved&) = delete;
    Moved& operator=(const Moved&) = delete;

    void to(const std::vector<double>& u, double t) {
        double* x = leaf_.mutable_data<double>();
        for (std::size_t i = 0; i < before_.size(); ++i) x[i] = before_[i] + t * u[i];
    }
    const std::vector<double>& before() const { return before_; }
    double* data() { return leaf_.mutable_data<double>(); }

private:
    Tensor leaf_;
    std::vector<double> own_ = {};
    const std::vector<double>& before_ = own_;
};

}  // namespace tapestry::checker
