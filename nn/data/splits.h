// Which examples are held out for validation: where random parts would leak, all rows of a group (a
// patient, a house) on the same side, or what comes after what is learned from; where examples have
// labels, a share of each. Random parts: random_split in data_loader.h.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tapestry {

/// Numbers of examples, i64 and ascending: for TensorDataset::examples() or index_select().
struct HeldOut {
    Tensor train;     ///< to learn from
    Tensor held_out;  ///< for validation
};

/// Holds out whole groups, in random order, until at least `fraction` of the examples are held out;
/// `groups` [N], i64, is each example's group. At least one group is left to learn from. Throws
/// DTypeError, ShapeError, and ValueError unless 0 < fraction < 1 and there are two groups.
HeldOut split_by_group(const Tensor& groups, double fraction,
                       Generator& generator = default_generator());

/// Holds out the latest `fraction` of the examples; `times` [N], i64 or floating-point, has the
/// time of each, in any order. Examples of the same time are on the same side: the later one, where
/// the boundary falls among them. Throws DTypeError, ShapeError, and ValueError unless 0 < fraction
/// < 1 and there are two times, none of them NaN.
HeldOut split_by_time(const Tensor& times, double fraction);

/// Examples with a label, by index, in their order.
struct SplitByLabel {
    std::vector<std::size_t> train;     ///< to learn from
    std::vector<std::size_t> held_out;  ///< for validation
    std::int64_t single = 0;            ///< labels with one example, which is not held out
};

/// Holds out every tenth example of each label, and of a label with 2 to 9 examples the last: only
/// their order decides, and each label has its share. `targets` are in [0, labels).
SplitByLabel split_by_label(const std::vector<std::int64_t>& targets, std::int64_t labels);

}  // namespace tapestry
