// The task "image": a classifier predicts the class of an image. Read next: nn/data/images.h, the
// files; nn/models/vision_transformer.h, the model; nn/train/classify/scores.h.
#pragma once

#include <tapestry/nn/data/images.h>
#include <tapestry/nn/data/splits.h>
#include <tapestry/nn/io/image_classifier_directory.h>
#include <tapestry/nn/models/vision_transformer.h>
#include <tapestry/nn/train/classify/scores.h>
#include <tapestry/nn/train/task.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tapestry {

/// An image classifier, its classes, and, unless it was loaded from a directory, images.
///
/// One in ten of the images of a class is held out, in the order of the files, and of a class with
/// 2 to 9 images the last. A batch is pixels [B, channels H W], 0 to 255, and classes [B, 1]. The
/// model sees (pixel - mean) / deviation, where mean and deviation are those of the channel in all
/// images of the training part.
class ImageTask final : public Task {
public:
    /// TaskRow::begin. Throws as read_images_by_class and VisionTransformer do, and ValueError if
    /// no image can be held out.
    static std::unique_ptr<Task> begin(TrainingConfig& config, TaskStart start, Generator& weights);
    /// TaskRow::load.
    static std::unique_ptr<Task> load(const std::filesystem::path& directory);

    /// A classifier and its classes, without images.
    ImageTask(std::unique_ptr<VisionTransformer> model, ImageClasses classes);

    const std::vector<std::string>& labels() const { return classes_.labels; }  ///< by id
    /// The size of the images that the model sees.
    ImageSize size() const {
        return {model_->config().height, model_->config().width, model_->config().channels};
    }

    using Task::model;
    Module& model() override { return *model_; }
    ModelConfig model_config() const override { return model_->config(); }
    void compute_in(ComputeType type) override { model_->compute_in(type); }
    CountedLoss loss(const Batch& batch) const override;
    void check_batch(const Batch& batch) const override;

    const std::string& data_hash() const override { return examples().data.hash; }
    Batch next_batch(Generator& generator) const override;
    std::int64_t validation_batches() const override;
    Batch validation_batch(std::int64_t i, Generator& generator) const override;

    void write_description(Commit& commit, const std::string& folder) const override;
    std::vector<std::string> description_files() const override;

    std::vector<std::string> texts(const Batch& batch, std::int64_t row) const override;
    std::vector<PageText> page_texts(const Batch& batch, std::int64_t row) const override;
    std::optional<PageImage> page_image(const Batch& batch, std::int64_t row) const override;
    std::string name_of(std::int64_t id) const override;
    std::string data_text() const override;
    std::string amounts() const override;
    std::string shape_text() const override;
    std::string unit() const override { return "images"; }
    std::string_view symbol() const override { return "class"; }
    std::string_view use() const override { return "classify"; }
    std::vector<ExpectedLoss> expected_losses() const override;
    std::string sample(std::int64_t length, Generator& generator) const override;

    /// Reads images for classify(), of the model's size or, as it was trained, scaled to it. Throws
    /// as tapestry::read_images does.
    ImageSet read(const std::filesystem::path& path) const;
    /// Reads images for score(). Throws as read_images_by_class does.
    ImagesByClass read_by_class(const std::filesystem::path& path) const;
    /// One image, the first, and its class as a batch. Throws ValueError for a class that there is
    /// not.
    Batch batch_of(const ImageSet& images, const std::string& label) const;
    /// The `most` likeliest classes of each image, the likeliest first; of equal ones the first by
    /// id. The images have the model's size, and the model must be in evaluation mode.
    std::vector<std::vector<LabelProbability>> classify(const ImageSet& images,
                                                        std::int64_t most) const;
    /// How well it predicts the classes of these images, which are of its size and classes.
    ClassificationScores score(const ImagesByClass& images) const;

private:
    struct Examples {
        TrainingConfig config;
        ImagesByClass data;
        SplitByLabel parts;
    };

    const Examples& examples() const;
    Batch batch_from(const ImageSet& images, const std::vector<std::int64_t>& targets,
                     std::span<const std::size_t> rows) const;
    Tensor normalised(const Tensor& pixels) const;
    std::vector<double> probabilities(const ImageSet& images,
                                      std::span<const std::size_t> rows) const;

    std::unique_ptr<VisionTransformer> model_;
    ImageClasses classes_;
    std::optional<Examples> examples_;
};

/// load_task(directory) as what it is.
std::unique_ptr<ImageTask> load_image_task(const std::filesystem::path& directory);

}  // namespace tapestry
