// A table with typed columns, numbers or categories, and missing values, from a CSV or TSV file.
// Read next: nn/train/table/table_task.h, which learns to predict one of the columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A column.
struct TableColumn {
    std::string name;                     ///< as the first line has it
    bool is_number = true;                ///< else categories
    std::vector<double> numbers = {};     ///< of a column of numbers, by row; NaN where missing
    std::vector<std::string> texts = {};  ///< of a column of categories, by row; "" where missing
};

/// A table.
struct Table {
    std::string file;                  ///< its name, printable
    std::vector<TableColumn> columns;  ///< those that were read, in the order of the file
    std::vector<std::int64_t> lines;   ///< of each row, counted from 1
    std::string hash;                  ///< of names, kinds and values

    std::int64_t rows() const { return std::ssize(lines); }  ///< rows, without the first line
    /// The column of this name, or null.
    const TableColumn* find(std::string_view name) const;
    /// "data.csv:12", of a row.
    std::string place(std::size_t row) const;
};

/// A column that is known.
struct KnownColumn {
    std::string name;            ///< as the first line has it
    bool is_number = true;       ///< else categories
    bool may_be_absent = false;  ///< whether a file without it is accepted
};

/// How to read a table.
struct TableOptions {
    /// Columns of categories that may look like numbers: 1, 2, 3 for three kinds.
    std::vector<std::string> categories = {};
    std::vector<std::string> ignore = {};  ///< columns that are not read
    /// If any, only these are read, as what they are; others are ignored.
    std::vector<KnownColumn> known = {};
};

/// Reads a table. Fields are separated by tabs in a .tsv, and in other files by commas, or, if the
/// first line has none, by semicolons or tabs; they may be in double quotes, except in a .tsv (RFC
/// 4180). The first line names
/// the columns. A value is missing if it is empty, ?, NA, N/A, NaN or null, in capital or small
/// letters. A column is one of numbers if more than half of the values that are there are.
///
/// Throws IoError as read_text does; with file and line for a row of another length, names that are
/// empty or occur twice, a first line without names, text in a column of numbers and numbers above
/// 1e150 in size; and for names in `options` that no column has, and a table without rows.
Table read_table(const std::filesystem::path& file, const TableOptions& options = {});

/// Whether a field stands for a missing value.
bool is_missing_value(std::string_view field);

}  // namespace tapestry
