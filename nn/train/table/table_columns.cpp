#include <tapestry/nn/train/table/table_columns.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace tapestry {

TableOptions options_for(const TableColumns& columns, const std::string& target, bool has_target) {
    TableOptions options;
    for (const NumberColumn& column : columns.numbers) {
        options.known.push_back({.name = column.name, .is_date = column.is_date});
    }
    for (const CategoryColumn& column : columns.categories) {
        options.known.push_back({column.name, false});
    }
    if (has_target) options.known.push_back({target, columns.labels.empty()});
    return options;
}

std::vector<std::int64_t> classes_of(const Table& table, const TableColumn& target,
                                     std::vector<std::string>& labels) {
    std::map<std::string, std::int64_t> ids;
    const bool are_known = !labels.empty();
    for (const std::string& label : are_known ? labels : target.texts) ids[label];
    if (!are_known) {
        ids.erase("");  // missing, which is an error below
        for (const auto& [label, id] : ids) labels.push_back(label);
    }
    for (std::size_t i = 0; i < labels.size(); ++i) ids[labels[i]] = static_cast<std::int64_t>(i);
    std::vector<std::int64_t> classes;
    for (std::size_t row = 0; row < target.texts.size(); ++row) {
        const std::string& text = target.texts[row];
        require<IoError>(!text.empty(), "{}: the target {} is missing; remove the row",
                         table.place(row), utf8::quoted(target.name, 40));
        const auto found = ids.find(text);
        require<IoError>(found != ids.end(), "{}: {} is not one of the model's {} classes",
                         table.place(row), utf8::quoted(text, 40), labels.size());
        classes.push_back(found->second);
    }
    return classes;
}

void check_target_numbers(const Table& table, const TableColumn& target) {
    for (std::size_t row = 0; row < target.numbers.size(); ++row) {
        require<IoError>(!std::isnan(target.numbers[row]),
                         "{}: the target {} is missing; remove the row", table.place(row),
                         utf8::quoted(target.name, 40));
    }
}

namespace {

NumberColumn known_numbers(const TableColumn& column, const std::vector<std::size_t>& rows) {
    NumberColumn known{.name = column.name, .is_date = column.is_date};
    double count = 0, sum = 0, squares = 0;
    for (const std::size_t row : rows) {
        const double x = column.numbers[row];
        if (std::isnan(x)) continue;
        ++count;
        sum += x;
    }
    known.has_missing = count < static_cast<double>(rows.size());
    if (count == 0) return known;
    known.mean = sum / count;
    for (const std::size_t row : rows) {
        const double distance = column.numbers[row] - known.mean;
        if (!std::isnan(distance)) squares += distance * distance;
    }
    const double deviation = std::sqrt(squares / count);
    const bool varies = deviation > 1e-12 * std::abs(known.mean) && std::isfinite(deviation);
    if (varies) known.deviation = deviation;
    return known;
}

// Categories that occur once teach the vector of unknown ones.
CategoryColumn known_categories(const Table& table, const TableColumn& column,
                                const std::vector<std::size_t>& rows) {
    constexpr std::int64_t kFewest = 2, kSmallTable = 20;
    std::map<std::string, std::int64_t> counts;
    for (const std::size_t row : rows) ++counts[column.texts[row]];
    const bool has_missing = counts.erase("") > 0;
    require<IoError>(std::ssize(rows) < kSmallTable || 2 * std::ssize(counts) < std::ssize(rows),
                     "{}: column {} has {} different values in {} rows, so it names rows; leave it "
                     "out by --ignore {}",
                     table.file, utf8::quoted(column.name, 40), counts.size(), rows.size(),
                     utf8::printable(column.name));
    CategoryColumn known{.name = column.name, .values = {}, .has_missing = has_missing};
    for (const auto& [value, count] : counts) {
        if (count >= kFewest) known.values.push_back(value);
    }
    return known;
}

}  // namespace

TableColumns known_columns(const Table& table, const std::string& target,
                           const std::vector<std::size_t>& train) {
    TableColumns known;
    for (const TableColumn& column : table.columns) {
        if (column.name == target) continue;
        if (column.is_number) {
            known.numbers.push_back(known_numbers(column, train));
        } else {
            known.categories.push_back(known_categories(table, column, train));
        }
    }
    return known;
}

InputSizes input_sizes(const TableColumns& columns) {
    InputSizes sizes{.numbers = std::ssize(columns.numbers),
                     .categories = std::ssize(columns.categories)};
    for (const NumberColumn& column : columns.numbers) sizes.numbers += column.has_missing;
    for (const CategoryColumn& column : columns.categories) {
        sizes.values += 1 + std::ssize(column.values);
    }
    return sizes;
}

namespace {

// Values of a column that the model has not learned: how many, and one of them.
struct UnknownValues {
    std::int64_t unknown = 0, missing = 0;
    std::string example = {};

    void count(const std::string& text, bool is_unknown, bool is_missing) {
        missing += is_missing;
        if (is_unknown && unknown++ == 0) example = text;
    }
    std::string text(const std::string& column) const {
        std::string what;
        if (unknown > 0) {
            what = fmt::format("{} unknown, such as {}", unknown, utf8::quoted(example, 40));
        }
        if (missing > 0) what += fmt::format("{}{} missing", what.empty() ? "" : ", ", missing);
        return fmt::format("{} {}", utf8::quoted(column, 40), what);
    }
};

}  // namespace

std::string unknown_values(const Table& table, const TableColumns& columns) {
    const auto rows = static_cast<std::size_t>(table.rows());
    std::vector<bool> is_touched(rows, false);
    std::string all;
    const auto tell = [&](const std::string& column, const auto& count_row) {
        UnknownValues found;
        for (std::size_t row = 0; row < rows; ++row) {
            const std::int64_t before = found.unknown + found.missing;
            count_row(row, found);
            if (found.unknown + found.missing > before) is_touched[row] = true;
        }
        if (found.unknown + found.missing == 0) return;
        all += (all.empty() ? "" : "; ") + found.text(column);
    };
    for (const NumberColumn& column : columns.numbers) {
        if (column.has_missing) continue;
        const std::vector<double>& numbers = table.find(column.name)->numbers;
        tell(column.name, [&](std::size_t row, UnknownValues& found) {
            found.count("", false, std::isnan(numbers[row]));
        });
    }
    for (const CategoryColumn& column : columns.categories) {
        const std::set<std::string_view> known(column.values.begin(), column.values.end());
        const std::vector<std::string>& texts = table.find(column.name)->texts;
        tell(column.name, [&](std::size_t row, UnknownValues& found) {
            const bool is_missing = texts[row].empty();
            found.count(texts[row], !is_missing && known.count(texts[row]) == 0,
                        is_missing && !column.has_missing);
        });
    }
    if (all.empty()) return "";
    return fmt::format(
        "{}: {} of {} have values that the model has not learned: {}; an unknown category counts "
        "as a rare one, a missing number as the mean",
        table.file, std::count(is_touched.begin(), is_touched.end(), true),
        pluralize(table.rows(), "row"), all);
}

Tensor row_inputs(const Table& table, const TableColumns& columns) {
    constexpr double kFarthest = 1e6;  // deviations: outputs stay finite
    const InputSizes sizes = input_sizes(columns);
    const std::int64_t width = sizes.numbers + sizes.categories;
    Tensor inputs({table.rows(), width}, DType::f64);
    auto* const to = inputs.mutable_data<double>();
    const auto rows = static_cast<std::size_t>(table.rows());
    std::int64_t at = 0;
    const auto fill = [&](const auto& value) {
        for (std::size_t row = 0; row < rows; ++row) {
            to[static_cast<std::int64_t>(row) * width + at] = value(row);
        }
        ++at;
    };
    for (const NumberColumn& column : columns.numbers) {
        const std::vector<double>& numbers = table.find(column.name)->numbers;
        fill([&](std::size_t row) {
            const double x = numbers[row];
            const double scaled = (x - column.mean) / column.deviation;
            return std::isnan(x) ? 0 : std::clamp(scaled, -kFarthest, kFarthest);
        });
    }
    for (const NumberColumn& column : columns.numbers) {
        if (!column.has_missing) continue;
        const std::vector<double>& numbers = table.find(column.name)->numbers;
        fill([&](std::size_t row) { return std::isnan(numbers[row]) ? 1.0 : 0.0; });
    }
    std::int64_t first = 0;  // row of the table of categories
    for (const CategoryColumn& column : columns.categories) {
        const std::vector<std::string>& texts = table.find(column.name)->texts;
        std::map<std::string, std::int64_t> ids;
        for (std::size_t i = 0; i < column.values.size(); ++i) {
            ids[column.values[i]] = 1 + static_cast<std::int64_t>(i);
        }
        fill([&](std::size_t row) {
            const auto found = ids.find(texts[row]);
            return static_cast<double>(first + (found == ids.end() ? 0 : found->second));
        });
        first += 1 + std::ssize(column.values);
    }
    return inputs;
}

}  // namespace tapestry
