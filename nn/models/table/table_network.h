// A network for rows of a table: numbers, and categories as learned vectors, through hidden layers
// to the scores of classes or to a number. Read next: nn/train/table/table_task.h, which trains it.
//
// Sources: Guo and Berkhahn 2016, "Entity Embeddings of Categorical Variables"; a plain MLP as a
// baseline: Gorishniy et al. 2021, "Revisiting Deep Learning Models for Tabular Data".
#pragma once

#include <tapestry/core/random.h>
#include <tapestry/nn/layers/dropout.h>
#include <tapestry/nn/layers/embedding.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/table/table_config.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tapestry {

/// numbers [B, N] and categories i64 [B, K] -> [B, classes], or [B, 1] for a number:
///     x_0 = [numbers, table[categories_1], ..., table[categories_K]]
///     x_i = dropout(relu(x_(i-1) W_i + b_i)),  y = x_L W + b
/// A category is a row of one table that all columns share; each column has its own rows. Rows are
/// initially normal of deviation 0.1; the last layer is initially 0: all classes are equally
/// likely, and a number is the mean.
class TableNetwork : public Module {
public:
    std::optional<Embedding> table;               ///< [values, E]; with columns of categories
    std::vector<std::unique_ptr<Linear>> hidden;  ///< [C, N + K E], then [C, C]
    Dropout dropout;                              ///< of each hidden layer, in training
    Linear head;                                  ///< [classes or 1, C]

    /// Throws ValueError for sizes out of range: there must be a column to read.
    explicit TableNetwork(const TableConfig& config, Generator& generator = default_generator());

    /// Throws ShapeError for inputs of other shapes, IndexError for a category outside the table.
    Tensor operator()(const Tensor& numbers, const Tensor& categories) const;

    const TableConfig& config() const { return config_; }  ///< as given
    /// Sets the compute type of later calls.
    void compute_in(ComputeType type) { config_.compute = type; }
    std::string settings() const override;

private:
    TableConfig config_;
};

}  // namespace tapestry
