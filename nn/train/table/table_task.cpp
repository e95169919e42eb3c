#include <tapestry/nn/train/table/table_task.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/data/labelled_texts.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/train/table/table_columns.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/indexing.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/view.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {
namespace {

constexpr std::int64_t kRowsAtOnce = 256;

TableConfig table_config(const TrainingConfig& config) {
    return std::get<TableConfig>(config.model_config());
}

void check_table_files(const TrainingConfig& config) {
    require(config.data.empty(), "table: --data is a text; --table names a table");
    require(!config.text.empty(), "table: needs --table, a .csv or .tsv");
    require(config.sequence == 0, "table: --sequence and --context are for a text, got {}",
            config.sequence);
}

// The model and columns to begin with; both empty without any.
LoadedTableModel model_to_begin_with(const TrainingConfig& config, const TaskStart& start) {
    if (!start.directory.empty()) return {nullptr, load_table_columns(start.directory)};
    if (config.start.empty()) return {};
    LoadedTableModel loaded = load_table_model(config.start);
    if (start.is_continued) loaded.model.reset();
    return loaded;
}

const TableColumn& target_of(const Table& table, const std::string& name) {
    const TableColumn* const target = table.find(name);
    if (target != nullptr) return *target;
    std::vector<std::string> names;
    for (const TableColumn& column : table.columns) names.push_back(column.name);
    const std::string all = fmt::format("{}", fmt::join(names, ", "));
    if (name.empty()) {
        fail("table: needs --target, the column to predict; the columns of {} are {}", table.file,
             utf8::printable(all.substr(0, 300)));
    }
    fail<IoError>("{}: has no column {} to predict (--target); its columns are {}", table.file,
                  utf8::quoted(name, 40), utf8::printable(all.substr(0, 300)));
}

// Every tenth row, or of fewer than ten the last.
SplitByLabel split_rows(std::int64_t rows) {
    constexpr std::int64_t kOneOf = 10;
    SplitByLabel parts;
    for (std::int64_t i = 0; i < rows; ++i) {
        const bool is_held_out = rows < kOneOf ? i + 1 == rows : i % kOneOf == kOneOf - 1;
        (is_held_out ? parts.held_out : parts.train).push_back(static_cast<std::size_t>(i));
    }
    return parts;
}

// The label that is most frequent in the training part; the first by id of equal ones.
std::string majority_of(const std::vector<std::string>& labels,
                        const std::vector<std::int64_t>& classes,
                        const std::vector<std::size_t>& train) {
    std::vector<std::int64_t> counts(labels.size(), 0);
    for (const std::size_t row : train) ++counts[static_cast<std::size_t>(classes[row])];
    return labels[static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) -
                                           counts.begin())];
}

void describe_target_number(const Table& table, const TableColumn& target,
                            const std::vector<std::size_t>& train, TableColumns& to) {
    double sum = 0, squares = 0;
    for (const std::size_t row : train) sum += target.numbers[row];
    to.mean = sum / static_cast<double>(train.size());
    for (const std::size_t row : train) {
        squares += (target.numbers[row] - to.mean) * (target.numbers[row] - to.mean);
    }
    to.deviation = std::sqrt(squares / static_cast<double>(train.size()));
    require<IoError>(to.deviation > 1e-12 * std::abs(to.mean) && std::isfinite(to.deviation),
                     "{}: the target {} is {} in every row to learn from, so there is nothing to "
                     "learn",
                     table.file, utf8::quoted(target.name, 40), to.mean);
}

// The description of a table by its training part, and which rows are held out.
std::pair<TableColumns, SplitByLabel> described(const Table& table, const TableColumn& target,
                                                TableColumns from) {
    const bool is_new = from.numbers.empty() && from.categories.empty();
    std::vector<std::int64_t> classes;
    require<IoError>(!target.is_date,
                     "{}: the target {} has dates; predict a number made of them, such as days "
                     "between two dates",
                     table.file, utf8::quoted(target.name, 40));
    if (target.is_number) {
        check_target_numbers(table, target);
    } else {
        classes = classes_of(table, target, from.labels);
        require<IoError>(from.labels.size() >= 2,
                         "{}: the target {} has one class, so there is nothing to learn",
                         table.file, utf8::quoted(target.name, 40));
        require<IoError>(!is_new || table.rows() < 20 || 2 * std::ssize(from.labels) < table.rows(),
                         "{}: the target {} has {} different values in {} rows, so it names rows",
                         table.file, utf8::quoted(target.name, 40), from.labels.size(),
                         table.rows());
    }
    SplitByLabel parts = target.is_number ? split_rows(table.rows())
                                          : split_by_label(classes, std::ssize(from.labels));
    require(!parts.held_out.empty() && !parts.train.empty(),
            "{}: too few rows to hold some out for validation: a class needs 2, a number 2",
            table.file);
    if (!is_new) return {std::move(from), std::move(parts)};
    TableColumns known = known_columns(table, target.name, parts.train);
    require<IoError>(!known.numbers.empty() || !known.categories.empty(),
                     "{}: has no column apart from the target {}", table.file,
                     utf8::quoted(target.name, 40));
    if (target.is_number) {
        describe_target_number(table, target, parts.train, known);
    } else {
        known.majority = majority_of(from.labels, classes, parts.train);
        known.labels = std::move(from.labels);
    }
    return {std::move(known), std::move(parts)};
}

// The sizes that follow from the table or from the model to begin with.
TableConfig completed(const TrainingConfig& config, const LoadedTableModel& from,
                      const TableColumns& columns, bool is_continued) {
    TableConfig model = table_config(config);
    if (from.model) {
        const TableConfig wanted = model;
        model = from.model->config();
        keep_run_settings(model, wanted, config);
    } else if (!is_continued) {
        const InputSizes sizes = input_sizes(columns);
        model.numbers = sizes.numbers;
        model.columns = sizes.categories;
        model.values = sizes.values;
        model.classes = std::ssize(columns.labels);
    }
    return model;
}

}  // namespace

// ---- made ---------------------------------------------------------------------------------------

std::unique_ptr<Task> TableTask::begin(TrainingConfig& config, TaskStart start,
                                       Generator& weights) {
    check_table_files(config);
    LoadedTableModel from = model_to_begin_with(config, start);
    const TableConfig wanted = from.model ? from.model->config() : table_config(config);
    const bool is_known = !from.columns.numbers.empty() || !from.columns.categories.empty();
    Table table = read_table(config.text, is_known ? options_for(from.columns, wanted.target, true)
                                                   : TableOptions{.categories = wanted.categories,
                                                                  .ignore = wanted.ignore});
    auto [columns, parts] =
        described(table, target_of(table, wanted.target), std::move(from.columns));
    const TableConfig made = completed(config, from, columns, start.is_continued);
    config.set_model(made);
    check_memory(config);
    auto model = std::make_unique<TableNetwork>(made, weights);
    if (from.model) copy_parameters(*from.model, *model);
    auto task = std::make_unique<TableTask>(LoadedTableModel{std::move(model), std::move(columns)});
    task->take_examples(config, std::move(table), std::move(parts));
    return task;
}

std::unique_ptr<TableTask> load_table_task(const std::filesystem::path& directory) {
    return std::make_unique<TableTask>(load_table_model(directory));
}

std::unique_ptr<Task> TableTask::load(const std::filesystem::path& directory) {
    return load_table_task(directory);
}

TableTask::TableTask(LoadedTableModel loaded)
    : model_(std::move(loaded.model)), columns_(std::move(loaded.columns)) {}

const TableTask::Examples& TableTask::examples() const {
    require(examples_.has_value(), "the task has no table: it was loaded from a directory");
    return *examples_;
}

void TableTask::take_examples(const TrainingConfig& config, Table table, SplitByLabel parts) {
    const Tensor inputs = inputs_of(table), targets = targets_of(table);
    examples_ = Examples{.config = config,
                         .table = std::move(table),
                         .inputs = inputs,
                         .targets = targets,
                         .parts = std::move(parts)};
}

Table TableTask::read(const std::filesystem::path& file, bool has_target) const {
    Table table = read_table(file, options_for(columns_, config().target, has_target));
    if (has_target && labels().empty()) {
        check_target_numbers(table, target_of(table, config().target));
    } else if (has_target) {
        std::vector<std::string> known = labels();
        classes_of(table, target_of(table, config().target), known);
    }
    return table;
}

std::string TableTask::unknown_values(const Table& table) const {
    return tapestry::unknown_values(table, columns_);
}

// ---- batches ------------------------------------------------------------------------------------

Tensor TableTask::inputs_of(const Table& table) const { return row_inputs(table, columns_); }

// f64 [rows, 1]
Tensor TableTask::targets_of(const Table& table) const {
    const TableColumn& target = target_of(table, config().target);
    Tensor targets({table.rows(), 1}, DType::f64);
    auto* to = targets.mutable_data<double>();
    if (labels().empty()) {
        for (const double y : target.numbers) *to++ = (y - columns_.mean) / columns_.deviation;
        return targets;
    }
    std::vector<std::string> known = labels();
    for (const std::int64_t id : classes_of(table, target, known)) *to++ = static_cast<double>(id);
    return targets;
}

// [B, classes or 1]
Tensor TableTask::outputs(const Tensor& inputs) const {
    const std::int64_t numbers = config().numbers;
    const Tensor categories = views::slice(inputs, 1, numbers, inputs.size(1));
    return (*model_)(views::slice(inputs, 1, 0, numbers), tapestry::to(categories, DType::i64));
}

CountedLoss TableTask::loss(const Batch& batch) const {
    const std::int64_t rows = batch.targets.size(0);
    const Tensor found = outputs(batch.inputs);
    const auto count = static_cast<double>(rows);
    if (!labels().empty()) {
        return {cross_entropy(found, reshape(tapestry::to(batch.targets, DType::i64), {rows})),
                count};
    }
    const Tensor wide = is_narrow(found.dtype()) ? tapestry::to(found, DType::f32) : found;
    return {mse_loss(wide, tapestry::to(batch.targets, wide.dtype())), count};
}

void TableTask::check_batch(const Batch& batch) const {
    const TableConfig& c = config();
    const std::int64_t width = c.numbers + c.columns;
    require(batch.inputs.rank() == 2 && batch.inputs.size(1) == width &&
                batch.targets.rank() == 2 && batch.targets.size(1) == 1 &&
                batch.inputs.size(0) == batch.targets.size(0),
            "rows {} and targets {}, which are not [B, {}] and [B, 1]", batch.inputs.shape(),
            batch.targets.shape(), width);
    const auto check_id = [](const char* what, double id, std::int64_t count) {
        require(id >= 0 && id < static_cast<double>(count) && id == std::floor(id),
                "{} {}; the model has {}", what, id, count);
    };
    const std::vector<double> inputs = batch.inputs.to_vector<double>();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        require(std::isfinite(inputs[i]), "a number of {}", inputs[i]);
        const bool is_category = static_cast<std::int64_t>(i) % width >= c.numbers;
        if (is_category) check_id("category", inputs[i], c.values);
    }
    for (const double target : batch.targets.to_vector<double>()) {
        require(std::isfinite(target), "a target of {}", target);
        if (c.classes > 0) check_id("class", target, c.classes);
    }
}

Batch TableTask::batch_from(std::span<const std::size_t> rows) const {
    std::vector<std::int64_t> ids;
    for (const std::size_t row : rows) ids.push_back(static_cast<std::int64_t>(row));
    const Tensor which = tensor(ids, {std::ssize(ids)});
    const NoGradGuard no_grad;
    return {index_select(examples().inputs, 0, which), index_select(examples().targets, 0, which)};
}

Batch TableTask::next_batch(Generator& generator) const {
    const Examples& e = examples();
    std::vector<std::size_t> rows;
    for (const std::int64_t i :
         next_rows(e.config.order, std::ssize(e.parts.train), e.config.batch, generator)) {
        rows.push_back(e.parts.train[static_cast<std::size_t>(i)]);
    }
    return batch_from(rows);
}

std::int64_t TableTask::validation_batches() const {
    return (std::ssize(examples().parts.held_out) + kRowsAtOnce - 1) / kRowsAtOnce;
}

Batch TableTask::validation_batch(std::int64_t i, Generator&) const {
    const std::span<const std::size_t> all = examples().parts.held_out;
    const auto first = static_cast<std::size_t>(i * kRowsAtOnce);
    return batch_from(all.subspan(first, std::min<std::size_t>(kRowsAtOnce, all.size() - first)));
}

Batch TableTask::batch_of(const Table& table) const {
    return {views::slice(inputs_of(table), 0, 0, 1), views::slice(targets_of(table), 0, 0, 1)};
}

// ---- the directory ------------------------------------------------------------------------------

void TableTask::write_description(Commit& commit, const std::string& folder) const {
    tapestry::write_description(commit, folder, config(), columns_);
}

std::vector<std::string> TableTask::description_files() const { return {kConfigName}; }

}  // namespace tapestry
