// Predictions of a TableTask, their scores, and what people see of it.
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/nn/train/table/table_columns.h>
#include <tapestry/nn/train/table/table_task.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/softmax.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tapestry {
namespace {

constexpr std::int64_t kPredictedAtOnce = 1024;  // rows

// The least mean square on the held-out rows of a line through one column, fitted to the rows to
// learn from, and that column; infinity if no column is of numbers that differ.
struct BestColumn {
    double loss = std::numeric_limits<double>::infinity();
    std::size_t column = 0;
};

BestColumn best_column(const std::vector<double>& inputs, const std::vector<double>& targets,
                       const SplitByLabel& parts, std::size_t width, std::size_t numbers) {
    BestColumn best;
    for (std::size_t c = 0; c < numbers; ++c) {
        double products = 0, squares = 0, loss = 0;  // both sides have mean 0
        for (const std::size_t row : parts.train) {
            const double x = inputs[row * width + c];
            products += x * targets[row];
            squares += x * x;
        }
        if (squares == 0) continue;
        const double slope = products / squares;
        for (const std::size_t row : parts.held_out) {
            const double error = slope * inputs[row * width + c] - targets[row];
            loss += error * error;
        }
        loss /= static_cast<double>(parts.held_out.size());
        if (loss < best.loss) best = {loss, c};
    }
    return best;
}

}  // namespace

std::vector<RowPrediction> TableTask::predictions(const Tensor& inputs, std::int64_t most) const {
    const NoGradGuard no_grad;
    std::vector<RowPrediction> all;
    for (std::int64_t begin = 0; begin < inputs.size(0); begin += kPredictedAtOnce) {
        const std::int64_t end = std::min(begin + kPredictedAtOnce, inputs.size(0));
        const Tensor found = tapestry::to(outputs(views::slice(inputs, 0, begin, end)), DType::f32);
        if (labels().empty()) {
            for (const double y : finite_outputs(found.to_vector<double>())) {
                all.push_back({.number = columns_.mean + columns_.deviation * y});
            }
            continue;
        }
        const std::vector<double> p = finite_outputs(softmax(found).to_vector<double>());
        for (std::int64_t row = 0; row < end - begin; ++row) {
            const std::span<const double> of_row(p.data() + row * std::ssize(labels()),
                                                 labels().size());
            all.push_back({.labels = likeliest(labels(), of_row, most)});
        }
    }
    return all;
}

std::vector<RowPrediction> TableTask::predict(const Table& table, std::int64_t most) const {
    return predictions(inputs_of(table), most);
}

ClassificationScores TableTask::classification_scores(const Table& table) const {
    ClassificationScores scores(labels());
    scores.what = "row";
    scores.baseline = columns_.majority;
    const NoGradGuard no_grad;
    const Tensor inputs = inputs_of(table);
    const std::vector<double> targets = targets_of(table).to_vector<double>();
    for (std::int64_t begin = 0; begin < inputs.size(0); begin += kPredictedAtOnce) {
        const std::int64_t end = std::min(begin + kPredictedAtOnce, inputs.size(0));
        const Tensor found = outputs(views::slice(inputs, 0, begin, end));
        std::vector<std::int64_t> classes;
        for (std::int64_t row = begin; row < end; ++row) {
            classes.push_back(static_cast<std::int64_t>(targets[static_cast<std::size_t>(row)]));
        }
        scores.add(classes,
                   finite_outputs(softmax(tapestry::to(found, DType::f32)).to_vector<double>()));
    }
    return scores;
}

RegressionScores TableTask::regression_scores(const Table& table) const {
    RegressionScores scores{.baseline = columns_.mean};
    const std::vector<double>& right = table.find(config().target)->numbers;
    const std::vector<RowPrediction> found = predict(table, 1);
    for (std::size_t row = 0; row < found.size(); ++row) scores.add(found[row].number, right[row]);
    return scores;
}

// ---- what people see ----------------------------------------------------------------------------

// The columns with their values in the batch.
std::vector<std::string> TableTask::texts(const Batch& batch, std::int64_t row) const {
    const std::vector<double> values =
        views::slice(batch.inputs, 0, row, row + 1).to_vector<double>();
    std::vector<std::string> names;
    std::size_t at = 0, indicator = columns_.numbers.size();
    for (const NumberColumn& column : columns_.numbers) {
        const double x = column.mean + column.deviation * values[at++];
        const bool is_missing = column.has_missing && values[indicator++] == 1;
        names.push_back(fmt::format("{} {}", column.name,
                                    is_missing       ? "missing"
                                    : column.is_date ? date_of_days(std::round(x))
                                                     : fmt::format("{:.6g}", x)));
    }
    at = static_cast<std::size_t>(config().numbers);
    std::int64_t first = 0;
    for (const CategoryColumn& column : columns_.categories) {
        const std::int64_t id = static_cast<std::int64_t>(values[at++]) - first;
        const bool is_known = id >= 1 && id <= std::ssize(column.values);
        names.push_back(fmt::format(
            "{} {}", column.name,
            is_known ? column.values[static_cast<std::size_t>(id - 1)] : "missing or unknown"));
        first += 1 + std::ssize(column.values);
    }
    return names;
}

std::string TableTask::name_of(std::int64_t id) const {
    const bool is_label = id >= 0 && id < std::ssize(labels());
    return is_label ? labels()[static_cast<std::size_t>(id)] : config().target;
}

std::string TableTask::data_text() const {
    const Examples& e = examples();
    const std::string target = labels().empty()
                                   ? fmt::format("a number (--categories {} would make it a class)",
                                                 utf8::printable(config().target))
                                   : fmt::format("one of {} classes", labels().size());
    return fmt::format(
        "{}: {}, {} of numbers and {} of categories; predicting {}, {}; training on {}, validating "
        "on {}",
        utf8::printable(e.config.text), pluralize(e.table.rows(), "row"),
        pluralize(std::ssize(columns_.numbers), "column"), columns_.categories.size(),
        utf8::quoted(config().target, 40), target, e.parts.train.size(), e.parts.held_out.size());
}

std::string TableTask::amounts() const {
    return fmt::format("{} rows to learn from, {} held out", examples().parts.train.size(),
                       examples().parts.held_out.size());
}

std::string TableTask::shape_text() const {
    const TableConfig& c = config();
    return fmt::format("{}, dim {}, {}{}", pluralize(c.hidden_layers, "hidden layer"), c.dim,
                       pluralize(c.numbers, "number"),
                       c.columns == 0 ? ""
                                      : fmt::format(" and {} of categories with {} vectors",
                                                    pluralize(c.columns, "column"), c.values));
}

std::vector<ExpectedLoss> TableTask::expected_losses() const {
    const Examples& e = examples();
    const std::vector<double> targets = e.targets.to_vector<double>();
    if (!labels().empty()) {
        const auto counts = [&](const std::vector<std::size_t>& rows) {
            std::vector<std::int64_t> all(labels().size(), 0);
            for (const std::size_t row : rows) ++all[static_cast<std::size_t>(targets[row])];
            return all;
        };
        return losses_without_looking(counts(e.parts.train), counts(e.parts.held_out), "row");
    }
    double squares = 0;
    for (const std::size_t row : e.parts.held_out) squares += targets[row] * targets[row];
    std::vector<ExpectedLoss> losses{
        {"guessing", squares / static_cast<double>(e.parts.held_out.size()),
         "Always the mean of the training part. Losses are squared errors divided by the target's "
         "variance there. An untrained model's is this."}};
    const auto numbers = columns_.numbers.size();
    const BestColumn best = best_column(e.inputs.to_vector<double>(), targets, e.parts,
                                        static_cast<std::size_t>(e.inputs.size(1)), numbers);
    if (std::isfinite(best.loss)) {
        losses.push_back({"one column", best.loss,
                          fmt::format("A line through the best single column, {}.",
                                      columns_.numbers[best.column].name)});
    }
    return losses;
}

std::string TableTask::shown_target(std::size_t row) const {
    const TableColumn& target = *examples().table.find(config().target);
    return target.is_number ? fmt::format("{:.6g}", target.numbers[row])
                            : utf8::printable(target.texts[row]);
}

std::string TableTask::sample(std::int64_t, Generator&) const {
    constexpr std::size_t kMost = 8;
    const Examples& e = examples();
    const std::size_t count = std::min(kMost, e.parts.held_out.size());
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < count; ++i) {
        rows.push_back(e.parts.held_out[i * e.parts.held_out.size() / count]);
    }
    const std::vector<RowPrediction> found = predictions(batch_from(rows).inputs, 1);
    std::string lines;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string predicted =
            labels().empty() ? fmt::format("{:.6g}", found[i].number)
                             : fmt::format("{} ({:.2f})", utf8::printable(found[i].labels[0].label),
                                           found[i].labels[0].probability);
        lines += fmt::format("{}, is {}: {}\n", predicted, shown_target(rows[i]),
                             e.table.place(rows[i]));
    }
    return lines;
}

}  // namespace tapestry
