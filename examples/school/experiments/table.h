// Tables of a report. A cell keeps its number along with its text, so tests check exactly what a
// reader sees.
#pragma once

#include <tapestry/examples/school/experiments/claim.h>

#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::experiments {

struct Cell {
    std::string text;
    double value = std::numeric_limits<double>::quiet_NaN();  ///< NaN if the cell is not a number
    std::optional<Interval> interval = {};  ///< if the number is a mean over seeds
    bool timed = false;                     ///< measured by a clock, so different in every run

    Cell(std::string words) : text(std::move(words)) {}
    Cell(const char* words) : text(words) {}
    /// `digits` significant digits.
    Cell(double number, int digits = 4);
    template <std::integral I>
    Cell(I number) : text(std::to_string(number)), value(static_cast<double>(number)) {}
};

/// Formats a share as "97.5 %"; the value stays 0.975.
Cell percent(double share, int decimals = 1);
/// A number with a fixed number of decimals.
Cell fixed(double number, int decimals);

/// The same over several seeds: "97.5 +- 1.2 %", "0.83 +- 0.02"; the value is the mean.
Cell percent(const Interval& share, int decimals = 1);
Cell fixed(const Interval& number, int decimals);
Cell significant(const Interval& number, int digits = 3);

/// Marks a cell as measured by a clock or the system.
Cell timed(Cell cell);

struct Table {
    std::string title;
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows;  ///< the first cell of a row is its name

    /// The number in the row whose first cell is `row` and the column named `column`. Throws
    /// ValueError if there is none.
    double number(std::string_view row, std::string_view column) const;
};

/// Aligned columns, numbers to the right.
std::string to_text(const Table& table);
std::string to_markdown(const Table& table);

}  // namespace tapestry::experiments
