// A table with typed columns, numbers, dates or categories, and missing values, from a CSV or TSV
// file. The reader is ours and not libcsv, because it must name the line of every error, guess
// separators, and refuse what libcsv repairs silently (text behind a closing quote, a quote that is
// not closed).
// Read next: nn/train/table/table_task.h, which learns to predict one of the columns.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A column.
struct TableColumn {
    std::string name;                     ///< as the first line has it
    bool is_number = true;                ///< else categories
    bool is_date = false;                 ///< a number that was a date: days since 1970-01-01
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
    bool is_date = false;        ///< of a number: whether the file has dates
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
/// letters. A column is one of numbers if more than half of the values that are there are, and of
/// dates likewise: 2026-11-27, or with a time of day, 2026-11-27 13:45 or 2026-11-27T13:45:30.25Z,
/// which becomes a fraction of a day.
///
/// Throws IoError as read_text does; with file and line for a row of another length, names that are
/// empty or occur twice, a first line without names, text in a column of numbers and numbers above
/// 1e150 in size; and for names in `options` that no column has, and a table without rows.
Table read_table(const std::filesystem::path& file, const TableOptions& options = {});

/// Writes a table for read_table and others: commas, names in the first line, quotes where a field
/// needs them, missing values empty, dates as dates, and the shortest numbers that are read back
/// equal. Throws ValueError unless all columns have the table's rows and distinct names, and
/// for what read_table would not give back: a file named .tsv, numbers above 1e150 in size, and
/// texts that begin or end with a blank or mean a missing value (but ""); IoError as
/// write_file_atomically does.
void write_table(const std::filesystem::path& file, const Table& table);

/// These rows of a table, ids i64 [N], such as those of split_by_time(). Throws IndexError.
Table select_rows(const Table& table, const Tensor& ids);

/// Whether a field stands for a missing value.
bool is_missing_value(std::string_view field);

/// Days since 1970-01-01 of "2026-11-27", "2026-11-27 13:45" or "2026-11-27T13:45:30.25Z", with or
/// without the fraction and the Z, which changes nothing; no value for anything else, another time
/// zone, and dates that do not exist.
std::optional<double> days_of_date(std::string_view date);

/// "2026-11-27", "2026-11-27 13:45:30" or "2026-11-27 13:45:30.250", as the days need it, rounded
/// to milliseconds.
std::string date_of_days(double days);

}  // namespace tapestry
