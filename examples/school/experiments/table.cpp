// Cells and tables as text and as Markdown. Implements table.h.
#include <tapestry/core/error.h>
#include <tapestry/core/text/text_table.h>
#include <tapestry/examples/school/experiments/table.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments {
namespace {

// A column is set to the right if any of its cells is a number.
bool is_numeric(const Table& table, std::size_t column) {
    return std::any_of(table.rows.begin(), table.rows.end(), [column](const auto& row) {
        return column < row.size() && !std::isnan(row[column].value);
    });
}

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '|') result += '\\';
        result += c;
    }
    return result;
}

}  // namespace

Cell::Cell(double number, int digits)
    : text(fmt::format("{:.{}g}", number, digits)), value(number) {}

Cell percent(double share, int decimals) {
    Cell cell(fmt::format("{:.{}f} %", 100 * share, decimals));
    cell.value = share;
    return cell;
}

Cell fixed(double number, int decimals) {
    Cell cell(fmt::format("{:.{}f}", number, decimals));
    cell.value = number;
    return cell;
}

namespace {

// A single seed has a mean but no interval to show.
Cell with_width(const Interval& interval, const std::string& mean, const std::string& half,
                const std::string& unit) {
    const bool known = interval.count > 0 && std::isfinite(interval.half_width());
    Cell cell(known ? fmt::format("{} ± {}{}", mean, half, unit) : mean + unit);
    cell.value = interval.mean;
    cell.interval = interval;
    return cell;
}

}  // namespace

Cell percent(const Interval& share, int decimals) {
    return with_width(share, fmt::format("{:.{}f}", 100 * share.mean, decimals),
                      fmt::format("{:.{}f}", 100 * share.half_width(), decimals), " %");
}

Cell fixed(const Interval& number, int decimals) {
    return with_width(number, fmt::format("{:.{}f}", number.mean, decimals),
                      fmt::format("{:.{}f}", number.half_width(), decimals), "");
}

Cell significant(const Interval& number, int digits) {
    return with_width(number, fmt::format("{:.{}g}", number.mean, digits),
                      fmt::format("{:.{}g}", number.half_width(), 2), "");
}

Cell timed(Cell cell) {
    cell.timed = true;
    return cell;
}

double Table::number(std::string_view row, std::string_view column) const {
    const auto where = std::find(columns.begin(), columns.end(), column);
    const auto found = std::find_if(rows.begin(), rows.end(), [row](const auto& cells) {
        return !cells.empty() && cells.front().text == row;
    });
    require<ValueError>(where != columns.end() && found != rows.end(),
                        "table '{}' has no row '{}' with a column '{}'", title, row, column);
    const auto at = static_cast<std::size_t>(where - columns.begin());
    require<ValueError>(at < found->size(), "table '{}': row '{}' ends before column '{}'", title,
                        row, column);
    return (*found)[at].value;
}

std::string to_text(const Table& table) {
    const std::size_t columns = table.columns.size();
    std::vector<std::vector<std::string>> rows{table.columns, std::vector<std::string>(columns)};
    for (const auto& row : table.rows) {
        rows.emplace_back();
        for (std::size_t c = 0; c < row.size() && c < columns; ++c) {
            rows.back().push_back(row[c].text);
        }
    }
    std::string sides;
    for (std::size_t c = 0; c < columns; ++c) {  // and a rule as wide as the column
        sides += is_numeric(table, c) ? 'r' : 'l';
        int width = 0;
        for (const auto& row : rows)
            width = std::max(width, c < row.size() ? terminal::columns_of(row[c]) : 0);
        rows[1][c] = std::string(static_cast<std::size_t>(width), '-');
    }
    return (table.title.empty() ? "" : table.title + "\n") +
           terminal::text_table(rows, sides, "  ");
}

std::string to_markdown(const Table& table) {
    std::string result = table.title.empty() ? "" : table.title + "\n\n";
    std::string rule;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        result += fmt::format("| {} ", escaped(table.columns[c]));
        rule += is_numeric(table, c) ? "|---:" : "|---";
    }
    result += fmt::format("|\n{}|\n", rule);
    for (const auto& row : table.rows) {
        for (const Cell& cell : row) result += fmt::format("| {} ", escaped(cell.text));
        result += "|\n";
    }
    return result;
}

}  // namespace tapestry::experiments
