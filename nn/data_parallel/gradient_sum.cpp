#include <tapestry/nn/data_parallel/gradient_sum.h>

#include <tapestry/autograd/tape.h>
#include <tapestry/core/checksum.h>
#include <tapestry/core/copy.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/cast.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tapestry {
namespace {

void add_to(Tensors& sums, Tensors gradients) {
    for (std::size_t i = 0; i < sums.size(); ++i) add_gradient(sums[i], std::move(gradients[i]));
}

void scale_all(Tensors& gradients, double scale) {
    if (scale == 1) return;
    for (Tensor& gradient : gradients) {
        if (gradient.defined()) gradient = gradient * scale;
    }
}

// Two subtrees of equal size are siblings if the left one begins at an even multiple of it.
bool are_siblings(const GradientSubtree& left, const GradientSubtree& right) {
    return left.leaves == right.leaves && left.first % (2 * left.leaves) == 0;
}

bool are_half(const Tensors& parameters) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [](const Tensor& p) { return is_narrow(p.dtype()); });
}

}  // namespace

// A leaf that does not use a parameter has no gradient for it.
void add_gradient(Tensor& sum, Tensor more) {
    if (!more.defined()) return;
    if (!sum.defined()) {
        sum = std::move(more);
        return;
    }
    sum = to(sum, compute_dtype(sum.dtype()));
    more = to(more, sum.dtype());
    if (sum.owns_alone() && sum.is_contiguous()) {
        accumulate_gradients_in_place(sum, more);
    } else {
        sum = accumulate_gradients(sum, more);
    }
}

Range share_of(std::int64_t count, std::int64_t part, std::int64_t parts) {
    const auto begin = [&](std::int64_t p) { return (count * p + parts - 1) / parts; };
    return {begin(part), begin(part + 1)};
}

GradientSum::GradientSum(Tensors parameters, std::int64_t micro_batches, std::int64_t first_leaf)
    : parameters_(std::move(parameters)),
      in_tree_(micro_batches > 1 || are_half(parameters_)),
      next_leaf_(first_leaf) {
    if (in_tree_) before_ = take_all();
}

Tensors GradientSum::take_all() {
    Tensors gradients;
    gradients.reserve(parameters_.size());
    for (Tensor& parameter : parameters_) {
        gradients.push_back(parameter.grad());
        parameter.clear_grad();
    }
    return gradients;
}

// Number of subtrees that the next leaf leaves unchanged; those to the right of them it merges with
// itself, smallest first.
std::size_t GradientSum::kept() const {
    std::size_t kept = subtrees_.size();
    GradientSubtree right{next_leaf_, 1};
    while (kept > 0 && are_siblings(subtrees_[kept - 1], right)) {
        --kept;
        right = {subtrees_[kept].first, 2 * right.leaves};
    }
    return kept;
}

void GradientSum::take(std::size_t parameter) {
    if (taken_.empty()) {
        taken_.resize(parameters_.size());
        pending_.resize(parameters_.size());
    }
    if (taken_[parameter]) return;
    taken_[parameter] = true;
    Tensor& sum = pending_[parameter];
    sum = parameters_[parameter].grad();
    parameters_[parameter].clear_grad();
    for (std::size_t i = subtrees_.size(); i-- > kept();) {
        Tensor right = std::exchange(sum, std::move(subtrees_[i].gradients[parameter]));
        add_gradient(sum, std::move(right));
    }
}

std::vector<Tensors*> GradientSum::whole() {
    const std::size_t count = taken_.empty() ? subtrees_.size() : kept();
    std::vector<Tensors*> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(&subtrees_[i].gradients);
    if (!taken_.empty()) all.push_back(&pending_);
    return all;
}

void GradientSum::add(double loss) {
    if (!in_tree_) {
        loss_ += loss;
        return;
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const bool late = !taken_.empty() && taken_[i] && parameters_[i].grad().defined();
        require<AutogradError>(!late, "train: parameter {} {} got a gradient after its backward", i,
                               parameters_[i].shape());
        take(i);
    }
    GradientSubtree leaf{next_leaf_, 1, loss, std::exchange(pending_, {})};
    for (const std::size_t count = kept(); subtrees_.size() > count; subtrees_.pop_back()) {
        const GradientSubtree& left = subtrees_.back();
        leaf = {left.first, 2 * leaf.leaves, left.loss + leaf.loss, std::move(leaf.gradients)};
    }
    subtrees_.push_back(std::move(leaf));
    taken_.clear();
    ++next_leaf_;
}

std::vector<double> GradientSum::losses() const {
    std::vector<double> losses;
    for (const GradientSubtree& subtree : subtrees_) losses.push_back(subtree.loss);
    return losses;
}

void GradientSum::join_last_two() {
    GradientSubtree right = std::move(subtrees_.back());
    subtrees_.pop_back();
    GradientSubtree& left = subtrees_.back();
    left.leaves += right.leaves;
    left.loss += right.loss;
    add_to(left.gradients, std::move(right.gradients));
}

void GradientSum::will_be_scaled() {
    if (before_.empty()) before_ = take_all();
}

double GradientSum::finish(double scale) {
    if (!in_tree_ && before_.empty()) return loss_;
    if (!in_tree_) subtrees_.push_back({0, 1, loss_, take_all()});
    while (subtrees_.size() > 1) join_last_two();
    if (subtrees_.empty()) subtrees_.push_back({0, 0, 0, Tensors(parameters_.size())});
    GradientSubtree& all = subtrees_.front();
    scale_all(all.gradients, scale);
    add_to(all.gradients, std::move(before_));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        Tensor& sum = all.gradients[i];
        if (!sum.defined()) continue;
        parameters_[i].set_grad(to(sum, parameters_[i].dtype()));
        sum = Tensor();  // freed before the next is rounded
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
        if (parameter.grad().defined()) checksum.add(bytes_of(dense(parameter.grad())));
    }
    return checksum.hex();
}

}  // namespace tapestry
