// The configuration of a network for tables, and its cost. The list of fields below is the only
// source for config.json, the command line, error messages and docs/modules.md. Read next:
// table_network.h, the model.
#pragma once

#include <tapestry/nn/models/model_types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tapestry {

/// The configuration of a TableNetwork. FieldsOf<TableConfig> has meaning and bounds of every
/// field. `target`, `categories` and `ignore` say how the table is read (nn/data/table.h).
struct TableConfig {
    std::string target = {};                   ///< the column to predict
    std::vector<std::string> categories = {};  ///< columns of categories that look like numbers
    std::vector<std::string> ignore = {};      ///< columns that are not read
    std::int64_t numbers = 0;                  ///< N, numbers that a row has
    std::int64_t columns = 0;                  ///< K, columns of categories
    std::int64_t values = 0;                   ///< rows of the table of categories, of all columns
    std::int64_t classes = 0;                  ///< of the target; 0: it is a number
    std::int64_t dim = 64;                     ///< C, width of the hidden layers
    std::int64_t hidden_layers = 2;            ///< their number; 0: a linear model
    std::int64_t category_dim = 8;             ///< E, width of a category's vector
    double dropout = 0;                        ///< of the hidden layers, in training
    ComputeType compute = ComputeType::f32;    ///< type of activations and matrix products
    /// Type of the parameters, and so of gradients and moments.
    ComputeType weights = ComputeType::f32;

    // Its cost, for nn/models/model_registry.h.

    /// Total number of parameters; a double, because a configuration from a file may be absurd.
    friend double parameter_count(const TableConfig& config);
    /// Estimated peak memory of training; the arguments are those of gpt_config.h.
    friend double training_bytes(const TableConfig& config, std::int64_t batch,
                                 std::int64_t gradient_sets, std::int64_t moments);
    /// Floating-point operations of the matrix products of a step.
    friend double step_flops(const TableConfig& config, std::int64_t batch);
};

template <>
struct FieldsOf<TableConfig> {
    using C = TableConfig;
    using Enums = Types<ComputeType>;
    template <class Visitor>
    static constexpr void list(const Visitor& field) {
        field("target", &C::target, "Column of the table to predict", {.required = true});
        field("categories", &C::categories,
              "Columns whose numbers are names: of classes, of kinds, postcodes");
        field("ignore", &C::ignore, "Columns of the table that are not read");
        field("numbers", &C::numbers, "Numbers of a row", {.low = 0, .required = true});
        field("columns", &C::columns, "Columns of categories", {.low = 0, .required = true});
        field("values", &C::values, "Rows of the table of categories, of all columns",
              {.low = 0, .required = true});
        field("classes", &C::classes, "Classes of the target; 0: it is a number",
              {.low = 0, .required = true});
        field("dim", &C::dim, "Width of the model", {.low = 1, .required = true});
        field("hidden_layers", &C::hidden_layers, "Hidden layers; 0: a linear model",
              {.low = 0, .high = 1000, .required = true});
        field("category_dim", &C::category_dim, "Width of a category's vector",
              {.low = 1, .required = true});
        field("dropout", &C::dropout, "Dropout probability",
              {.low = 0, .high = 0.99, .required = true});
        list_types<C>(field);
    }
};

}  // namespace tapestry
