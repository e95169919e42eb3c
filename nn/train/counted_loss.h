// A loss as a mean and the number of targets that it is a mean of. Parts of one batch may count
// different numbers of targets (ignored rows, padding, masks), and the mean over all of them is
// not the mean of the parts' means. TrainStep (train_step.h) and MeanLoss weight each part by its
// count.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace tapestry {

/// A mean loss and its count, converted from a plain Tensor where all parts count the same:
///
///     BatchLoss loss = [&] { return CountedLoss(model.loss(x, y), count_targets(y)); };
struct CountedLoss {
    /// A mean whose count is not known: it weighs as much as any other.
    CountedLoss(Tensor scalar) : mean(std::move(scalar)) {}  // NOLINT: implicit on purpose
    /// The mean over `number` targets, or a sum of weights.
    CountedLoss(Tensor scalar, double number) : mean(std::move(scalar)), count(number) {}

    Tensor mean;                  ///< a scalar; if nothing counts, it may be NaN
    std::optional<double> count;  ///< finite and >= 0
};

/// sum / count, or zero if nothing counts: for losses that would divide zero by zero.
CountedLoss mean_of_sum(const Tensor& sum, double count);

/// The number of targets other than ignore_index, as cross_entropy() counts them.
double count_targets(const Tensor& targets, std::int64_t ignore_index = -100);

/// The mean over several slices of the data, for an evaluation: the sum of all losses divided by
/// the sum of all counts. A slice without targets adds nothing.
class MeanLoss {
public:
    /// Throws ValueError for a count that is negative or not finite.
    void add(const CountedLoss& loss);
    /// NaN if nothing was counted.
    double value() const { return sum_ / count_; }
    /// The sum of the counts; losses without one count 1.
    double count() const { return count_; }

private:
    double sum_ = 0;
    double count_ = 0;
};

}  // namespace tapestry
