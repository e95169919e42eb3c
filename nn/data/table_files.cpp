// Writing tables to files: dates, and whole tables.
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/table.h>

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

constexpr double kSecondsOfDay = 86400;

// `length` digits at the beginning, which are removed; no value if there are others.
std::optional<int> take_digits(std::string_view& from, std::size_t length) {
    if (from.size() < length) return std::nullopt;
    int value = 0;
    for (const char c : from.substr(0, length)) {
        if (c < '0' || c > '9') return std::nullopt;
        value = 10 * value + (c - '0');
    }
    from.remove_prefix(length);
    return value;
}

// A separator and two digits below `limit`.
std::optional<int> take_part(std::string_view& from, std::string_view separators, int limit) {
    if (from.empty() || separators.find(from[0]) == separators.npos) return std::nullopt;
    from.remove_prefix(1);
    const auto value = take_digits(from, 2);
    return value && *value < limit ? value : std::nullopt;
}

// A point, or ISO 8601's comma, and digits; 0 if there is neither.
std::optional<double> take_fraction(std::string_view& from) {
    if (!from.starts_with('.') && !from.starts_with(',')) return 0;
    from.remove_prefix(1);
    double fraction = 0, unit = 1;
    std::size_t digits = 0;
    for (; digits < from.size() && from[digits] >= '0' && from[digits] <= '9'; ++digits) {
        unit /= 10;
        fraction += unit * (from[digits] - '0');
    }
    from.remove_prefix(digits);
    return digits == 0 ? std::nullopt : std::optional(fraction);
}

bool has_blank_end(const std::string& field) {
    constexpr std::string_view kBlanks = " \t\r\n";
    return kBlanks.find(field.front()) != kBlanks.npos ||
           kBlanks.find(field.back()) != kBlanks.npos;
}

std::string quoted_if_needed(const std::string& field) {
    if (field.find_first_of(",;\t\"\r\n") == field.npos) return field;
    std::string quoted = "\"";
    for (const char c : field) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string field_of(const TableColumn& column, std::size_t row) {
    if (!column.is_number) {
        const std::string& field = column.texts[row];
        require(field.empty() || (!has_blank_end(field) && !is_missing_value(field)),
                "write_table: read_table would read {} in column {} as another value",
                utf8::quoted(field, 40), utf8::quoted(column.name, 40));
        return quoted_if_needed(field);
    }
    const double x = column.numbers[row];
    if (std::isnan(x)) return "";
    require(std::abs(x) <= 1e150,
            "write_table: {} in column {} is above 1e150 in size, which "
            "read_table refuses",
            x, utf8::quoted(column.name, 40));
    return column.is_date ? date_of_days(x) : fmt::format("{}", x);
}

}  // namespace

std::optional<double> days_of_date(std::string_view date) {
    const auto year = take_digits(date, 4);
    const auto month = take_part(date, "-", 13), day = month ? take_part(date, "-", 32) : month;
    if (!year || !day) return std::nullopt;
    const std::chrono::year_month_day calendar{std::chrono::year(*year),
                                               std::chrono::month(static_cast<unsigned>(*month)),
                                               std::chrono::day(static_cast<unsigned>(*day))};
    if (!calendar.ok()) return std::nullopt;
    const auto days =
        static_cast<double>(std::chrono::sys_days(calendar).time_since_epoch().count());
    if (date.empty()) return days;
    const auto hour = take_part(date, " T", 24), minute = hour ? take_part(date, ":", 60) : hour;
    if (!minute) return std::nullopt;
    double seconds = 60 * (60.0 * *hour + *minute);
    if (date.starts_with(':')) {
        const auto second = take_part(date, ":", 60);
        const auto fraction = second ? take_fraction(date) : std::nullopt;
        if (!fraction) return std::nullopt;
        seconds += *second + *fraction;
    }
    if (!date.empty() && date != "Z") return std::nullopt;
    return days + seconds / kSecondsOfDay;
}

std::string date_of_days(double days) {
    constexpr double kLast = 2932896;   // 9999-12-31
    constexpr double kFirst = -719528;  // 0000-01-01
    constexpr double kMilliseconds = 1000 * kSecondsOfDay;
    require(days >= kFirst && days < kLast + 1 - 0.5 / kMilliseconds,
            "date_of_days: {} is outside the years 0 to 9999", days);
    const auto all = static_cast<std::int64_t>(std::round(days * kMilliseconds));
    const auto whole =
        static_cast<std::int64_t>(std::floor(static_cast<double>(all) / kMilliseconds));
    const std::int64_t milliseconds = all - whole * static_cast<std::int64_t>(kMilliseconds);
    const std::int64_t rest = milliseconds / 1000;
    const std::chrono::year_month_day date{
        std::chrono::sys_days(std::chrono::days(static_cast<int>(whole)))};
    std::string text =
        fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    if (milliseconds == 0) return text;
    text += fmt::format(" {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    if (milliseconds % 1000 != 0) text += fmt::format(".{:03}", milliseconds % 1000);
    return text;
}

void write_table(const std::filesystem::path& file, const Table& table) {
    require(file.extension() != ".tsv", "write_table: {} would hold commas; name it .csv",
            file.native());
    require(!table.columns.empty(), "write_table: the table has no columns");
    std::set<std::string> names;
    std::string text;
    for (const TableColumn& column : table.columns) {
        require(
            !column.name.empty() && !has_blank_end(column.name) && names.insert(column.name).second,
            "write_table: the name {} is empty, given twice, or begins or ends with a blank",
            utf8::quoted(column.name, 40));
        const std::int64_t rows =
            column.is_number ? std::ssize(column.numbers) : std::ssize(column.texts);
        require(rows == table.rows(), "write_table: column {} has {} rows, and the table {}",
                utf8::quoted(column.name, 40), rows, table.rows());
        text += (names.size() == 1 ? "" : ",") + quoted_if_needed(column.name);
    }
    text += '\n';
    for (std::size_t row = 0; row < static_cast<std::size_t>(table.rows()); ++row) {
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
            text += (c == 0 ? "" : ",") + field_of(table.columns[c], row);
        }
        text += '\n';
    }
    write_file_atomically(file, text);
}

Table select_rows(const Table& table, const Tensor& ids) {
    require<DTypeError>(ids.defined() && ids.dtype() == DType::i64, "select_rows: ids must be i64");
    Table some{.file = table.file, .columns = {}, .lines = {}, .hash = ""};
    for (const TableColumn& column : table.columns) {
        some.columns.push_back({column.name, column.is_number, column.is_date, {}, {}});
    }
    for (const std::int64_t id : ids.to_vector<std::int64_t>()) {
        require<IndexError>(id >= 0 && id < table.rows(), "select_rows: row {} of {}", id,
                            table.rows());
        const auto row = static_cast<std::size_t>(id);
        some.lines.push_back(table.lines[row]);
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
            const TableColumn& from = table.columns[c];
            if (from.is_number) {
                some.columns[c].numbers.push_back(from.numbers[row]);
            } else {
                some.columns[c].texts.push_back(from.texts[row]);
            }
        }
    }
    return some;
}

}  // namespace tapestry
