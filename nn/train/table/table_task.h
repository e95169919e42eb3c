// The task "table": a network predicts a column of a table, a class or a number, from the others.
// Read next: nn/data/table.h, the files; nn/models/table/table_network.h, the model.
#pragma once

#include <tapestry/nn/data/splits.h>
#include <tapestry/nn/data/table.h>
#include <tapestry/nn/io/table_directory.h>
#include <tapestry/nn/train/classify/scores.h>
#include <tapestry/nn/train/table/regression_scores.h>
#include <tapestry/nn/train/task.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapestry {

/// The prediction for a row: classes with probabilities, the likeliest first, or a number.
struct RowPrediction {
    std::vector<LabelProbability> labels = {};  ///< empty for a number
    double number = 0;                          ///< if the target is a number
};

/// A network, what it knows of the columns, and, unless it was loaded from a directory, a table.
///
/// Of classes one row in ten is held out, each class with its share; of numbers every tenth row. A
/// batch is f64: (x - mean) / deviation of the numbers, at most 1e6 in size and 0 where missing,
/// where mean and deviation are those of the training part; 1 for each that is missing, in columns
/// where some are; and rows of the table of categories [B, N + K]; and classes, or (y - mean) /
/// deviation, [B, 1]. A category that the training part has less than twice, or that is missing, is
/// the column's first row. The loss is the cross-entropy, or the mean square of differences in
/// units of the target's variance.
class TableTask final : public Task {
public:
    /// TaskRow::begin. Throws as read_table and TableNetwork do; IoError for a target that is no
    /// column, with file and line for one that is missing, and for a column of categories that is
    /// different in nearly every row; ValueError if no row can be held out.
    static std::unique_ptr<Task> begin(TrainingConfig& config, TaskStart start, Generator& weights);
    /// TaskRow::load.
    static std::unique_ptr<Task> load(const std::filesystem::path& directory);

    /// A network and its columns, without a table.
    explicit TableTask(LoadedTableModel loaded);

    const TableColumns& columns() const { return columns_; }                    ///< what it knows
    const std::vector<std::string>& labels() const { return columns_.labels; }  ///< by id
    const TableConfig& config() const { return model_->config(); }              ///< the model's

    using Task::model;
    Module& model() override { return *model_; }
    ModelConfig model_config() const override { return model_->config(); }
    void compute_in(ComputeType type) override { model_->compute_in(type); }
    CountedLoss loss(const Batch& batch) const override;
    bool has_real_batches() const override { return true; }
    void check_batch(const Batch& batch) const override;

    const std::string& data_hash() const override { return examples().table.hash; }
    Batch next_batch(Generator& generator) const override;
    std::int64_t validation_batches() const override;
    Batch validation_batch(std::int64_t i, Generator& generator) const override;

    void write_description(Commit& commit, const std::string& folder) const override;
    std::vector<std::string> description_files() const override;

    std::vector<std::string> texts(const Batch& batch, std::int64_t row) const override;
    std::string name_of(std::int64_t id) const override;
    std::string data_text() const override;
    std::string amounts() const override;
    std::string shape_text() const override;
    std::string unit() const override { return "rows"; }
    std::string_view symbol() const override { return labels().empty() ? "number" : "class"; }
    std::string_view use() const override { return "predict"; }
    std::vector<ExpectedLoss> expected_losses() const override;
    std::string sample(std::int64_t length, Generator& generator) const override;

    /// Reads a table that has the columns of the model, and, with `has_target`, its target. Throws
    /// as read_table does; IoError, with file and line, if a target is missing, or is a label
    /// that the model does not have.
    Table read(const std::filesystem::path& file, bool has_target) const;
    /// One line on values of a table that the model has not learned, with counts: categories that
    /// it does not know, and missing values in columns where none were missing in training. Empty
    /// if there are none.
    std::string unknown_values(const Table& table) const;
    /// The first row of a table with its target, as a batch.
    Batch batch_of(const Table& table) const;
    /// Its predictions for the rows of a table, with the `most` likeliest classes. The model must
    /// be in evaluation mode.
    std::vector<RowPrediction> predict(const Table& table, std::int64_t most) const;
    /// How well it predicts the classes of a table.
    ClassificationScores classification_scores(const Table& table) const;
    /// How well it predicts the numbers of a table.
    RegressionScores regression_scores(const Table& table) const;

private:
    struct Examples {
        TrainingConfig config;
        Table table;
        Tensor inputs, targets;  // f64, all rows
        SplitByLabel parts;
    };

    const Examples& examples() const;
    void take_examples(const TrainingConfig& config, Table table, SplitByLabel parts);
    Tensor inputs_of(const Table& table) const;
    Tensor targets_of(const Table& table) const;
    Tensor outputs(const Tensor& inputs) const;
    Batch batch_from(std::span<const std::size_t> rows) const;
    std::vector<RowPrediction> predictions(const Tensor& inputs, std::int64_t most) const;
    std::string shown_target(std::size_t row) const;

    std::unique_ptr<TableNetwork> model_;
    TableColumns columns_;
    std::optional<Examples> examples_;
};

/// load_task(directory) as what it is.
std::unique_ptr<TableTask> load_table_task(const std::filesystem::path& directory);

}  // namespace tapestry
