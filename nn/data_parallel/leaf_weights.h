// The weights of a step's leaves (gradient_sum.h), if each loss has a count
// (nn/train/counted_loss.h). The number of all targets is only known after the last leaf, so a
// leaf is weighted relative to leaf 0, and the sum is scaled once at the end. With equal counts
// both factors are exactly 1, and the bits are those without counts. Internal to nn.
#pragma once

#include <tapestry/core/error.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/distributed/communicator.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace tapestry {

inline double checked_count(double count) {
    require(std::isfinite(count) && count >= 0,
            "train: the count of a loss must be finite and >= 0, got {}", count);
    return count;
}

class LeafWeights {
public:
    /// `communicator` may be null: a single process.
    LeafWeights(std::int64_t leaves, Communicator* communicator)
        : leaves_(leaves), communicator_(communicator) {}

    /// The weight of this process's next leaf relative to leaf 0 of the step; 1 without a count.
    /// Several processes must all call it. Throws ValueError for counts on some leaves only.
    double next(const std::optional<double>& count) {
        require(taken_ == 0 || count.has_value() == counted(),
                "train: the losses of some micro-batches have a count and others have none");
        ++taken_;
        if (!count) return 1;
        counts_.push_back(checked_count(*count));
        if (taken_ == 1) {
            reference_ = gathered({*count}, [](int) { return std::size_t{1}; }).front();
            if (reference_ == 0) reference_ = 1;
        }
        return *count / reference_;
    }

    /// Whether losses have counts.
    bool counted() const { return !counts_.empty(); }

    /// After this process's last leaf: the factor that turns (1 / leaves) sum of weight * gradient
    /// into the gradient of the mean; 0 if nothing was counted.
    double factor() const {
        if (!counted()) return 1;
        const auto share = [&](int p) {
            return static_cast<std::size_t>(share_of(leaves_, p, communicator_->size()).size());
        };
        double sum = 0;
        for (const double count : gathered(counts_, share)) sum += count;
        return sum == 0 ? 0 : static_cast<double>(leaves_) * reference_ / sum;
    }

private:
    // All processes' numbers, in the order of the leaves.
    template <class Counts>
    std::vector<double> gathered(const std::vector<double>& mine, const Counts& counts) const {
        if (communicator_ == nullptr || communicator_->size() == 1) return mine;
        std::vector<std::size_t> sizes;
        for (int p = 0; p < communicator_->size(); ++p) sizes.push_back(counts(p));
        std::vector<double> all;
        for (const auto& one : all_gather(*communicator_, mine, sizes, "counts of targets")) {
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    }

    std::int64_t leaves_;
    Communicator* communicator_;
    std::int64_t taken_ = 0;
    double reference_ = 1;
    std::vector<double> counts_;  // of this process's leaves
};

}  // namespace tapestry
