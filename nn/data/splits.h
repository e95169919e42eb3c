// Which examples are held out where random parts would leak: all rows of a group (a patient, a
// house) go to the same side, and what is held out comes after what is learned from. Random parts:
// random_split in data_loader.h.
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/core/tensor.h>

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

}  // namespace tapestry
