// Cells and tables as text and as Markdown. Implements table.h.
#include <tapestry/core/error.h>
#include <tapestry/examples/school/experiments/table.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapestry::experiments {
namespace {

// Columns on a terminal: every byte that does not continue a UTF-8 character.
std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

std::string padded(const std::string& text, std::size_t to, bool right) {
    const std::string spaces(to - std::min(to, width(text)), ' ');
    return right ? spaces + text : text + spaces;
}

// A column is right-aligned if any of its cells is a number.
bool is_numeric(const Table& table, std::size_t column) {
    return std::any_of(table.rows.begin(), table.rows.end(), [column](const auto& row) {
        return column < row.size() && !std::isnan(row[column].value);
    });
}

std::size_t column_width(const Table& table, std::size_t column) {
    std::size_t widest = width(table.columns[column]);
    for (const auto& row : table.rows) {
        if (column < row.size()) widest = std::max(widest, width(row[column].text));
    }
    return widest;
}

std::string trimmed(std::string line) {
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
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
    std::string result = table.title.empty() ? "" : table.title + "\n";
    std::string head, rule;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const std::size_t w = column_width(table, c);
        head += "  " + padded(table.columns[c], w, is_numeric(table, c));
        rule += "  " + std::string(w, '-');
    }
    result += trimmed(head) + "\n" + rule + "\n";
    for (const auto& row : table.rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size() && c < table.columns.size(); ++c) {
            line += "  " + padded(row[c].text, column_width(table, c), is_numeric(table, c));
        }
        result += trimmed(line) + "\n";
    }
    return result;
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
