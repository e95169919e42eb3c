// From a table to numbers that a network reads: what a model learns to know of the columns, and
// rows as numbers. Internal to nn/train/table. Read next: table_task.h.
#pragma once

#include <tapestry/core/tensor.h>
#include <tapestry/nn/data/splits.h>
#include <tapestry/nn/data/table.h>
#include <tapestry/nn/io/table_directory.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry {

/// How to read a table for a model that knows these columns.
TableOptions options_for(const TableColumns& columns, const std::string& target, bool has_target);

/// The target's classes by row, by their place in `labels`; without labels, which are then the
/// distinct values, sorted. Throws IoError, with file and line, for one that is missing or not
/// among them.
std::vector<std::int64_t> classes_of(const Table& table, const TableColumn& target,
                                     std::vector<std::string>& labels);

/// Throws IoError, with file and line, for a number that is missing.
void check_target_numbers(const Table& table, const TableColumn& target);

/// Means, deviations and categories of the training part. Throws IoError for a column of
/// categories that is different in nearly every row.
TableColumns known_columns(const Table& table, const std::string& target,
                           const std::vector<std::size_t>& train);

/// One line on values that the training part did not have: categories that the model does not know,
/// and missing values in columns where none were missing. Empty if there are none.
std::string unknown_values(const Table& table, const TableColumns& columns);

/// The inputs of a network, f64 [rows, N + K], as TableTask explains.
Tensor row_inputs(const Table& table, const TableColumns& columns);

/// Numbers and categories that the columns give a network, and the rows of its table.
struct InputSizes {
    std::int64_t numbers = 0, categories = 0, values = 0;
};
/// Those of these columns.
InputSizes input_sizes(const TableColumns& columns);

}  // namespace tapestry
