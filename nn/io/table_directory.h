// A trained model of a table as a directory: config.json, with what the model knows of the columns,
// and model.safetensors. Read next: nn/models/table/table_network.h.
#pragma once

#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/models/table/table_network.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tapestry {

/// A column of numbers, which the model reads as (x - mean) / deviation.
struct NumberColumn {
    std::string name;          ///< in the table
    double mean = 0;           ///< in the training part
    double deviation = 1;      ///< in the training part; positive
    bool has_missing = false;  ///< whether the model also reads if the number is missing
    bool is_date = false;      ///< whether the table has dates, read as days since 1970-01-01
};

/// A column of categories.
struct CategoryColumn {
    std::string name;                 ///< in the table
    std::vector<std::string> values;  ///< those that the model knows; others share a vector
    bool has_missing = false;         ///< whether some were missing in the training part
};

/// Everything that a model of a table knows, apart from its weights.
struct TableColumns {
    std::vector<NumberColumn> numbers;       ///< in the order of the model's inputs
    std::vector<CategoryColumn> categories;  ///< in the order of the model's inputs
    std::vector<std::string> labels = {};    ///< of the target, by id; empty: it is a number
    std::string majority = {};               ///< the label that is most frequent in training
    double mean = 0;                         ///< of a target that is a number, in the training part
    double deviation = 1;                    ///< of a target that is a number; positive
};

/// A model of a table from a directory.
struct LoadedTableModel {
    std::unique_ptr<TableNetwork> model;  ///< in evaluation mode
    TableColumns columns;                 ///< what it knows of them
};

/// Writes everything but the weights (write_weights in model_directory.h) into a folder of the
/// directory, "" for none.
void write_description(Commit& commit, const std::string& folder, const TableConfig& config,
                       const TableColumns& columns);

/// Reads a model of a table. Throws IoError, with the file and the reason, as load_model does.
LoadedTableModel load_table_model(const std::filesystem::path& directory);

/// All but its weights. Throws IoError.
TableColumns load_table_columns(const std::filesystem::path& directory);

}  // namespace tapestry
