// Which examples with a label are held out for validation. Read next:
// nn/train/classify/classify_task.h and nn/train/image/image_task.h, whose examples have labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapestry {

/// Examples by index, in their order.
struct SplitByLabel {
    std::vector<std::size_t> train;     ///< to learn from
    std::vector<std::size_t> held_out;  ///< for validation
    std::int64_t single = 0;            ///< labels with one example, which is not held out
};

/// Holds out every tenth example of each label, and of a label with 2 to 9 examples the last: only
/// their order decides, and each label has its share. `targets` are in [0, labels).
SplitByLabel split_by_label(const std::vector<std::int64_t>& targets, std::int64_t labels);

}  // namespace tapestry
