// The task "classify": a classifier predicts the label of a text, or its labels. Read next:
// nn/data/labelled_texts.h, the files; nn/models/bag/bag.h, the model; scores.h and
// label_set_scores.h; calibration.h.
#pragma once

#include <tapestry/nn/data/labelled_texts.h>
#include <tapestry/nn/models/bag/bag.h>
#include <tapestry/nn/train/classify/label_set_scores.h>
#include <tapestry/nn/train/classify/scores.h>
#include <tapestry/nn/train/task.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A classifier, its labels, and, unless it was loaded from a directory, labelled texts.
///
/// One in ten of the texts with a label is held out, in the order of the file, and of a label with
/// 2 to 9 texts the last; a text with several labels counts as one of its rarest. A batch is
/// features [B, F], padded with 0, and labels [B, 1], or, if a text may have several, [B, C] of
/// ones and zeros. Features of a model with layers are [B, W, F], by word.
class ClassifyTask final : public Task {
public:
    /// TaskRow::begin. Throws as read_labelled_texts and BagClassifier do, and ValueError if no
    /// text can be held out.
    static std::unique_ptr<Task> begin(TrainingConfig& config, TaskStart start, Generator& weights);
    /// TaskRow::load.
    static std::unique_ptr<Task> load(const std::filesystem::path& directory);

    /// A classifier and the names of its classes, without texts.
    ClassifyTask(std::unique_ptr<BagClassifier> model, std::vector<std::string> labels);

    const std::vector<std::string>& labels() const { return labels_; }  ///< by id
    /// Whether a text may have several labels.
    bool has_several_labels() const { return model_->config().several_labels; }
    /// What read_labelled_texts needs for this model.
    LabelsPerText labels_per_text() const {
        return has_several_labels() ? LabelsPerText::any : LabelsPerText::one;
    }

    using Task::model;
    Module& model() override { return *model_; }
    ModelConfig model_config() const override { return model_->config(); }
    void compute_in(ComputeType type) override { model_->compute_in(type); }
    double step_flops(std::int64_t rows) const override;
    CountedLoss loss(const Batch& batch) const override;
    void check_batch(const Batch& batch) const override;

    const std::string& data_hash() const override { return examples().hash; }
    Batch next_batch(Generator& generator) const override;
    std::int64_t validation_batches() const override;
    Batch validation_batch(std::int64_t i, Generator& generator) const override;
    /// Fits the temperature, and the threshold of several labels, on the held-out texts.
    void calibrate() override;

    void write_description(Commit& commit, const std::string& folder) const override;
    std::vector<std::string> description_files() const override;

    std::vector<std::string> texts(const Batch& batch, std::int64_t row) const override;
    std::string name_of(std::int64_t id) const override;
    std::string data_text() const override;
    std::string amounts() const override;
    std::string shape_text() const override;
    std::string unit() const override { return "texts"; }
    std::string_view symbol() const override { return "label"; }
    std::string_view use() const override { return "classify"; }
    std::string closing_text() const override;
    std::vector<ExpectedLoss> expected_losses() const override;
    std::string sample(std::int64_t length, Generator& generator) const override;

    /// A text and its label as a batch, or, if it may have several, its labels, as label_names
    /// reads them. Throws ValueError for a label that there is not, and as text_features does.
    Batch batch_of(std::string_view text, const std::string& label) const;
    /// The `most` likeliest labels of each text whose probability is at least `threshold`, the
    /// likeliest first; of equal ones the first by id. The model must be in evaluation mode.
    std::vector<std::vector<LabelProbability>> classify(const std::vector<std::string>& texts,
                                                        std::int64_t most,
                                                        double threshold = 0) const;
    /// Of several labels: the least probability of one that is predicted, unless another is given.
    double threshold() const;
    /// How well it predicts the labels of these texts, which have one each.
    ClassificationScores score(const LabelledTexts& texts) const;
    /// The same for texts with any number of labels, each predicted from this probability on.
    LabelSetScores score_sets(const LabelledTexts& texts, double threshold) const;

private:
    struct Example {
        std::vector<std::int64_t> features;            // of a model without layers
        std::vector<std::vector<std::int64_t>> words;  // of one with layers: features by word
        std::vector<std::int64_t> labels;              // by id, ascending
        std::size_t text = 0;                          // index into Examples::texts
    };
    struct Examples {
        TrainingConfig config;
        std::string hash;
        std::vector<std::string> texts;
        std::vector<Example> train, held_out;
        std::int64_t single = 0;         // labels without a text that is held out
        std::int64_t first_several = 0;  // line of the first text with several labels
    };

    static Examples split(const TrainingConfig& config, LabelledTexts texts);
    static Example example_of(const std::string& text, std::vector<std::int64_t> labels,
                              std::size_t place, const BagConfig& config);
    Tensor features_of(const std::vector<const Example*>& examples) const;
    Tensor words_of(const std::vector<const Example*>& examples) const;
    std::optional<std::size_t> text_of(const Batch& batch, std::int64_t row) const;
    const Examples& examples() const;
    std::string text_of_sets() const;
    Batch batch_from(const std::vector<const Example*>& examples) const;
    LabelledLogits logits_of(const std::vector<Example>& examples) const;
    LabelledLogits logits_of(const LabelledTexts& texts) const;
    double temperature() const;

    std::unique_ptr<BagClassifier> model_;
    std::vector<std::string> labels_;
    std::optional<Examples> examples_;
};

/// load_task(directory) as what it is.
std::unique_ptr<ClassifyTask> load_classify_task(const std::filesystem::path& directory);

}  // namespace tapestry
