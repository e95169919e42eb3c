#include <tapestry/nn/train/counted_loss.h>

#include <tapestry/nn/data_parallel/leaf_weights.h>
#include <tapestry/ops/arithmetic.h>

#include <algorithm>

namespace tapestry {

CountedLoss mean_of_sum(const Tensor& sum, double count) {
    return {sum * (count > 0 ? 1 / count : 0.0), count};
}

double count_targets(const Tensor& targets, std::int64_t ignore_index) {
    const std::vector<std::int64_t> all = targets.to_vector<std::int64_t>();
    return static_cast<double>(std::ssize(all) - std::count(all.begin(), all.end(), ignore_index));
}

void MeanLoss::add(const CountedLoss& loss) {
    const double count = checked_count(loss.count.value_or(1));
    if (count == 0) return;
    sum_ += count * loss.mean.item();
    count_ += count;
}

}  // namespace tapestry
