#include <tapestry/nn/train/gradient_sum.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/checksum.h>

#include <bit>
#include <span>
#include <utility>

namespace tapestry {
namespace {

// A parameter that a leaf does not reach has no gradient there.
void add_to(Tensor& sum, Tensor gradient) {
    if (!gradient.defined()) return;
    if (!sum.defined()) {
        sum = std::move(gradient);
    } else if (sum.owns_alone() && sum.is_contiguous()) {
        accumulate_gradients_in_place(sum, gradient);
    } else {
        sum = accumulate_gradients(sum, gradient);
    }
}

void add_to(Tensors& sums, Tensors gradients) {
    for (std::size_t i = 0; i < sums.size(); ++i) add_to(sums[i], std::move(gradients[i]));
}

// Two subtrees of one size are one where the left begins at an even multiple of it.
bool are_siblings(const GradientSubtree& left, const GradientSubtree& right) {
    return left.leaves == right.leaves && left.first % (2 * left.leaves) == 0;
}

}  // namespace

Range share_of(std::int64_t count, std::int64_t part, std::int64_t parts) {
    const auto begin = [&](std::int64_t p) { return (count * p + parts - 1) / parts; };
    return {begin(part), begin(part + 1)};
}

GradientSum::GradientSum(Tensors parameters, std::int64_t micro_batches, std::int64_t first_leaf)
    : parameters_(std::move(parameters)), in_tree_(micro_batches > 1), next_leaf_(first_leaf) {
    if (in_tree_) before_ = take();
}

Tensors GradientSum::take() {
    Tensors gradients;
    gradients.reserve(parameters_.size());
    for (Tensor& parameter : parameters_) {
        gradients.push_back(parameter.grad());
        parameter.clear_grad();
    }
    return gradients;
}

void GradientSum::add(double loss) {
    if (!in_tree_) {
        loss_ += loss;
        return;
    }
    subtrees_.push_back({next_leaf_++, 1, loss, take()});
    while (subtrees_.size() > 1 && are_siblings(subtrees_.end()[-2], subtrees_.back())) {
        join_last_two();
    }
}

void GradientSum::join_last_two() {
    GradientSubtree right = std::move(subtrees_.back());
    subtrees_.pop_back();
    GradientSubtree& left = subtrees_.back();
    left.leaves += right.leaves;
    left.loss += right.loss;
    add_to(left.gradients, std::move(right.gradients));
}

double GradientSum::finish() {
    if (!in_tree_) return loss_;
    while (subtrees_.size() > 1) join_last_two();
    if (subtrees_.empty()) subtrees_.push_back({0, 0, 0, Tensors(parameters_.size())});
    GradientSubtree& all = subtrees_.front();
    add_to(all.gradients, std::move(before_));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        if (all.gradients[i].defined()) parameters_[i].set_grad(std::move(all.gradients[i]));
    }
    return all.loss;
}

std::int64_t GradientSum::gradient_sets(std::int64_t n, std::int64_t micro_batches) {
    if (micro_batches <= 1 || n <= 1) return 1;
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1))) + 1;
}

std::string checksum_of_gradients(const Tensors& parameters) {
    Checksum checksum;
    for (const Tensor& parameter : parameters) {
        const Tensor gradient = parameter.grad();
        if (!gradient.defined()) continue;
        const Tensor dense = gradient.is_contiguous() ? gradient : gradient.clone();
        visit_dtype(dense.dtype(), [&](auto zero) {
            const auto* numbers = dense.data<decltype(zero)>();
            checksum.add(
                std::as_bytes(std::span(numbers, static_cast<std::size_t>(dense.numel()))));
        });
    }
    return checksum.hex();
}

}  // namespace tapestry
