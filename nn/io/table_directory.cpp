#include <tapestry/nn/io/table_directory.h>

#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/model_files.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace tapestry {
namespace {

using Names = std::vector<std::string>;

void check_distinct(const ConfigFile& file, const Names& names, const char* what) {
    const std::set<std::string> distinct(names.begin(), names.end());
    require<IoError>(distinct.size() == names.size(), "{}: a {} occurs twice", file.path(), what);
}

bool is_listed(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

void check_scale(const ConfigFile& file, double mean, double deviation) {
    require<IoError>(std::isfinite(mean) && std::isfinite(deviation) && deviation > 0,
                     "{}: numbers of mean {} and deviation {}", file.path(), mean, deviation);
}

std::vector<NumberColumn> read_numbers(const ConfigFile& file) {
    const auto names = file.get<Names>("number_columns");
    const auto means = file.get<std::vector<double>>("means");
    const auto deviations = file.get<std::vector<double>>("deviations");
    const auto with_missing = file.get<Names>("columns_with_missing");
    const auto dates = file.get<Names>("date_columns", {});
    require<IoError>(means.size() == names.size() && deviations.size() == names.size(),
                     "{}: {} means and {} deviations for {} columns of numbers", file.path(),
                     means.size(), deviations.size(), names.size());
    std::vector<NumberColumn> columns;
    for (std::size_t i = 0; i < names.size(); ++i) {
        check_scale(file, means[i], deviations[i]);
        columns.push_back({names[i], means[i], deviations[i], is_listed(with_missing, names[i]),
                           is_listed(dates, names[i])});
    }
    return columns;
}

std::vector<CategoryColumn> read_categories(const ConfigFile& file) {
    const auto names = file.get<Names>("category_columns");
    const auto counts = file.get<std::vector<std::int64_t>>("category_counts");
    const auto values = file.get<Names>("category_values");
    // Without this list it is not known; nothing is then said of missing ones (unknown_values).
    const auto with_missing = file.get<Names>("categories_with_missing", names);
    require<IoError>(counts.size() == names.size(), "{}: {} counts for {} columns of categories",
                     file.path(), counts.size(), names.size());
    std::vector<CategoryColumn> columns;
    std::size_t at = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto left = static_cast<std::int64_t>(values.size() - at);
        require<IoError>(counts[i] >= 0 && counts[i] <= left,
                         "{}: {} categories of column {} of {} that are left", file.path(),
                         counts[i], utf8::quoted(names[i]), left);
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(at);
        columns.push_back(
            {names[i], Names(begin, begin + counts[i]), is_listed(with_missing, names[i])});
        check_distinct(file, columns.back().values, "category");
        at += static_cast<std::size_t>(counts[i]);
    }
    require<IoError>(at == values.size(), "{}: {} categories more than the columns have",
                     file.path(), values.size() - at);
    return columns;
}

// The settings and what belongs to them, which the file holds together.
std::pair<TableConfig, TableColumns> read_table_columns(const ConfigFile& file) {
    check_kind(file, ModelKind::table);
    const auto config = read_fields<TableConfig>(file);
    TableColumns columns{.numbers = read_numbers(file),
                         .categories = read_categories(file),
                         .labels = file.get<Names>("labels"),
                         .majority = file.get<std::string>("majority"),
                         .mean = file.get<double>("target_mean"),
                         .deviation = file.get<double>("target_deviation")};
    check_scale(file, columns.mean, columns.deviation);
    check_distinct(file, columns.labels, "label");
    Names names{config.target};  // the table is read as if each column had one kind
    for (const NumberColumn& column : columns.numbers) names.push_back(column.name);
    for (const CategoryColumn& column : columns.categories) names.push_back(column.name);
    check_distinct(file, names, "column");
    std::int64_t numbers = std::ssize(columns.numbers), values = 0;
    for (const NumberColumn& column : columns.numbers) numbers += column.has_missing;
    for (const CategoryColumn& column : columns.categories) values += 1 + std::ssize(column.values);
    require<IoError>(config.numbers == numbers && config.values == values &&
                         config.columns == std::ssize(columns.categories) &&
                         config.classes == std::ssize(columns.labels),
                     "{}: its columns are not those of the model's {} numbers, {} categories and "
                     "{} classes",
                     file.path(), config.numbers, config.values, config.classes);
    return {config, std::move(columns)};
}

}  // namespace

void write_description(Commit& commit, const std::string& folder, const TableConfig& config,
                       const TableColumns& columns) {
    Names numbers, dates, with_missing, categories, categories_with_missing, values;
    std::vector<double> means, deviations;
    std::vector<std::int64_t> counts;
    for (const NumberColumn& column : columns.numbers) {
        numbers.push_back(column.name);
        means.push_back(column.mean);
        deviations.push_back(column.deviation);
        if (column.has_missing) with_missing.push_back(column.name);
        if (column.is_date) dates.push_back(column.name);
    }
    for (const CategoryColumn& column : columns.categories) {
        categories.push_back(column.name);
        if (column.has_missing) categories_with_missing.push_back(column.name);
        counts.push_back(std::ssize(column.values));
        values.insert(values.end(), column.values.begin(), column.values.end());
    }
    ConfigWriter file;
    file.set("format", std::int64_t{1});
    file.set("model", row_of(config).name);
    file.set("number_columns", numbers);
    file.set("means", means);
    file.set("deviations", deviations);
    if (!dates.empty()) file.set("date_columns", dates);
    file.set("columns_with_missing", with_missing);
    file.set("category_columns", categories);
    file.set("categories_with_missing", categories_with_missing);
    file.set("category_counts", counts);
    file.set("category_values", values);
    file.set("labels", columns.labels);
    file.set("majority", columns.majority);
    file.set("target_mean", columns.mean);
    file.set("target_deviation", columns.deviation);
    write_fields(file, config);
    write_config(commit, folder, file.text());
}

LoadedTableModel load_table_model(const std::filesystem::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) {
        auto [config, columns] = read_table_columns(ConfigFile(files.path(kConfigName)));
        check_weights_exist(files);
        LoadedTableModel loaded{make_model(config, files), std::move(columns)};
        load_weights(files, *loaded.model);
        loaded.model->eval();
        check_model_files(files);
        return loaded;
    });
}

TableColumns load_table_columns(const std::filesystem::path& directory) {
    return read_saved(directory, [](const SavedFiles& files) {
        return read_table_columns(ConfigFile(files.path(kConfigName))).second;
    });
}

}  // namespace tapestry
