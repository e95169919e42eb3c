#include <tapestry/nn/train/image/image_task.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/labelled_texts.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/models/diverged_error.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/softmax.h>
#include <tapestry/ops/view.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tapestry {
namespace {

constexpr std::int64_t kImagesAtOnce = 64;

void check_image_files(const TrainingConfig& config) {
    require(config.data.empty(), "image: --data is a text; --images names images");
    require(!config.text.empty(), "image: needs --images, a directory or file of images");
    require(config.test_fraction == 0,
            "image: --test-fraction is for a text; keep images for testing in a file of their own");
    require(config.sequence == 0, "image: --sequence and --context are for a text, got {}",
            config.sequence);
}

// Sums of whole numbers, so the order of the images does not matter.
void measure_channels(const ImageSet& images, const std::vector<std::size_t>& rows,
                      ImageClasses& to) {
    const auto area = static_cast<std::size_t>(images.size.height * images.size.width);
    const double count = static_cast<double>(rows.size()) * static_cast<double>(area);
    for (std::size_t c = 0; c < static_cast<std::size_t>(images.size.channels); ++c) {
        std::uint64_t sum = 0, squares = 0;
        for (const std::size_t row : rows) {
            for (const std::uint8_t x : images.image(row).subspan(c * area, area)) {
                sum += x;
                squares += static_cast<std::uint64_t>(x) * x;
            }
        }
        const double mean = static_cast<double>(sum) / count;
        const double variance = static_cast<double>(squares) / count - mean * mean;
        to.mean.push_back(mean);
        to.deviation.push_back(variance > 1e-6 ? std::sqrt(variance) : 1);  // all pixels alike
    }
}

// The model and classes to begin with; both empty without any.
LoadedImageClassifier image_classifier_to_begin_with(const TrainingConfig& config,
                                                     const TaskStart& start) {
    if (!start.directory.empty()) return {nullptr, load_image_classes(start.directory)};
    if (config.start.empty()) return {};
    LoadedImageClassifier loaded = load_image_classifier(config.start);
    if (start.is_continued) loaded.model.reset();
    return loaded;
}

// The sizes that follow from the images or from the model to begin with.
VisionTransformerConfig completed(const TrainingConfig& config, const LoadedImageClassifier& from,
                                  const ImagesByClass& data, bool is_continued) {
    auto vit = std::get<VisionTransformerConfig>(config.model_config());
    if (from.model) {
        const VisionTransformerConfig wanted = vit;
        vit = from.model->config();
        keep_run_settings(vit, wanted, config);
    } else if (!is_continued) {
        vit.classes = std::ssize(data.labels);
        vit.height = data.images.size.height;
        vit.width = data.images.size.width;
        vit.channels = data.images.size.channels;
        if (vit.patch == 0) vit.patch = default_patch(vit.height, vit.width);
        require(vit.height % vit.patch == 0 && vit.width % vit.patch == 0,
                "{}: patches of {} do not divide images of {}; give another --patch, or 0",
                shown(config.text), vit.patch, to_text(data.images.size));
    }
    const ImageSize size{vit.height, vit.width, vit.channels};
    require(vit.classes == std::ssize(data.labels) && size == data.images.size,
            "{}: {} classes of {}, but the model has {} of {}", shown(config.text),
            data.labels.size(), to_text(data.images.size), vit.classes, to_text(size));
    return vit;
}

}  // namespace

// ---- made ---------------------------------------------------------------------------------------

std::unique_ptr<Task> ImageTask::begin(TrainingConfig& config, TaskStart start,
                                       Generator& weights) {
    check_image_files(config);
    LoadedImageClassifier from = image_classifier_to_begin_with(config, start);
    WantedImages wanted{
        .size = {},
        .labels = from.classes.labels,
        .side = std::get<VisionTransformerConfig>(config.model_config()).image_size};
    if (from.model) {
        const VisionTransformerConfig& known = from.model->config();
        wanted.size = ImageSize{known.height, known.width, known.channels};
        wanted.side = known.image_size;
    }
    ImagesByClass data = read_images_by_class(config.text, wanted);
    SplitByLabel parts = split_by_label(data.targets, std::ssize(data.labels));
    require(!parts.held_out.empty(),
            "{}: every class has one image, so none can be held out for validation",
            shown(config.text));
    const VisionTransformerConfig vit = completed(config, from, data, start.is_continued);
    if (from.classes.labels.empty()) {
        from.classes.labels = data.labels;
        measure_channels(data.images, parts.train, from.classes);
    }
    config.set_model(vit);
    check_memory(config);
    auto model = std::make_unique<VisionTransformer>(vit, weights);
    if (from.model) copy_parameters(*from.model, *model);
    auto task = std::make_unique<ImageTask>(std::move(model), std::move(from.classes));
    task->examples_ =
        Examples{.config = config, .data = std::move(data), .parts = std::move(parts)};
    return task;
}

std::unique_ptr<ImageTask> load_image_task(const std::filesystem::path& directory) {
    LoadedImageClassifier loaded = load_image_classifier(directory);
    return std::make_unique<ImageTask>(std::move(loaded.model), std::move(loaded.classes));
}

std::unique_ptr<Task> ImageTask::load(const std::filesystem::path& directory) {
    return load_image_task(directory);
}

ImageTask::ImageTask(std::unique_ptr<VisionTransformer> model, ImageClasses classes)
    : model_(std::move(model)), classes_(std::move(classes)) {}

const ImageTask::Examples& ImageTask::examples() const {
    require(examples_.has_value(), "the task has no images: it was loaded from a directory");
    return *examples_;
}

// ---- batches ------------------------------------------------------------------------------------

// [B, channels H W] -> [B, channels, H, W]
Tensor ImageTask::normalised(const Tensor& pixels) const {
    const ImageSize one = size();
    const std::int64_t area = one.height * one.width, rows = pixels.size(0);
    const std::vector<std::int64_t> from = pixels.to_vector<std::int64_t>();
    Tensor images({rows, one.channels, one.height, one.width}, DType::f32);
    auto* to = images.mutable_data<float>();
    for (std::size_t i = 0; i < from.size(); ++i) {
        const auto c = i / static_cast<std::size_t>(area) % classes_.mean.size();
        to[i] = static_cast<float>((static_cast<double>(from[i]) - classes_.mean[c]) /
                                   classes_.deviation[c]);
    }
    return tapestry::to(images, model_->patch_embedding.weight.dtype());
}

CountedLoss ImageTask::loss(const Batch& batch) const {
    const std::int64_t rows = batch.targets.size(0);
    return {model_->loss(normalised(batch.inputs), reshape(batch.targets, {rows})),
            static_cast<double>(rows)};
}

void ImageTask::check_batch(const Batch& batch) const {
    const std::int64_t length = size().numbers(), classes = std::ssize(classes_.labels);
    require(batch.inputs.rank() == 2 && batch.inputs.size(1) == length &&
                batch.targets.rank() == 2 && batch.targets.size(1) == 1 &&
                batch.inputs.size(0) == batch.targets.size(0),
            "pixels {} and classes {}, which are not [B, {}] and [B, 1]", batch.inputs.shape(),
            batch.targets.shape(), length);
    for (const std::int64_t x : batch.inputs.to_vector<std::int64_t>()) {
        require(x >= 0 && x <= 255, "a pixel of {}; it must be in [0, 255]", x);
    }
    for (const std::int64_t id : batch.targets.to_vector<std::int64_t>()) {
        require(id >= 0 && id < classes, "class {}; the model has {}", id, classes);
    }
}

Batch ImageTask::batch_from(const ImageSet& images, const std::vector<std::int64_t>& targets,
                            std::span<const std::size_t> rows) const {
    const std::int64_t count = std::ssize(rows);
    Batch batch{Tensor({count, images.size.numbers()}, DType::i64), Tensor({count, 1}, DType::i64)};
    auto* pixels = batch.inputs.mutable_data<std::int64_t>();
    auto* classes = batch.targets.mutable_data<std::int64_t>();
    for (const std::size_t row : rows) {
        const auto from = images.image(row);
        pixels = std::copy(from.begin(), from.end(), pixels);
        *classes++ = targets[row];
    }
    return batch;
}

Batch ImageTask::next_batch(Generator& generator) const {
    const Examples& e = examples();
    std::vector<std::size_t> rows;
    for (const std::int64_t i :
         next_rows(e.config.order, std::ssize(e.parts.train), e.config.batch, generator)) {
        rows.push_back(e.parts.train[static_cast<std::size_t>(i)]);
    }
    return batch_from(e.data.images, e.data.targets, rows);
}

std::int64_t ImageTask::validation_batches() const {
    return (std::ssize(examples().parts.held_out) + kImagesAtOnce - 1) / kImagesAtOnce;
}

Batch ImageTask::validation_batch(std::int64_t i, Generator&) const {
    const std::span<const std::size_t> all = examples().parts.held_out;
    const auto first = static_cast<std::size_t>(i * kImagesAtOnce);
    return batch_from(examples().data.images, examples().data.targets,
                      all.subspan(first, std::min<std::size_t>(kImagesAtOnce, all.size() - first)));
}

Batch ImageTask::batch_of(const ImageSet& images, const std::string& label) const {
    const auto found = std::find(labels().begin(), labels().end(), label);
    require(found != labels().end(), "class {} is not one of the model's {}", utf8::quoted(label),
            labels().size());
    const std::size_t first = 0;
    return batch_from(images, {found - labels().begin()}, {&first, 1});
}

// ---- the directory ------------------------------------------------------------------------------

void ImageTask::write_description(Commit& commit, const std::string& folder) const {
    tapestry::write_description(commit, folder, model_->config(), classes_);
}

std::vector<std::string> ImageTask::description_files() const { return {kConfigName}; }

// ---- predictions --------------------------------------------------------------------------------

ImageSet ImageTask::read(const std::filesystem::path& path) const {
    return read_images(path, size(), model_->config().image_size > 0);
}

ImagesByClass ImageTask::read_by_class(const std::filesystem::path& path) const {
    return read_images_by_class(
        path, {.size = size(), .labels = labels(), .side = model_->config().image_size});
}

// [B, classes], row by row
std::vector<double> ImageTask::probabilities(const ImageSet& images,
                                             std::span<const std::size_t> rows) const {
    const NoGradGuard no_grad;
    const std::vector<std::int64_t> none(static_cast<std::size_t>(images.count()), 0);
    const Tensor logits = (*model_)(normalised(batch_from(images, none, rows).inputs));
    return finite_outputs(softmax(tapestry::to(logits, DType::f32)).to_vector<double>());
}

namespace {

// f(rows) for all images, some at once.
template <class F>
void for_some_at_once(std::int64_t count, const F& f) {
    std::vector<std::size_t> rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), 0);
    for (std::size_t begin = 0; begin < rows.size(); begin += kImagesAtOnce) {
        const std::size_t some = std::min<std::size_t>(kImagesAtOnce, rows.size() - begin);
        f(std::span<const std::size_t>(rows).subspan(begin, some));
    }
}

}  // namespace

std::vector<std::vector<LabelProbability>> ImageTask::classify(const ImageSet& images,
                                                               std::int64_t most) const {
    std::vector<std::vector<LabelProbability>> all;
    for_some_at_once(images.count(), [&](std::span<const std::size_t> rows) {
        const std::vector<double> p = probabilities(images, rows);
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const std::span<const double> row(p.data() + r * labels().size(), labels().size());
            all.push_back(likeliest(labels(), row, most));
        }
    });
    return all;
}

ClassificationScores ImageTask::score(const ImagesByClass& images) const {
    ClassificationScores scores(labels());
    scores.what = "image";
    for_some_at_once(images.images.count(), [&](std::span<const std::size_t> rows) {
        std::vector<std::int64_t> targets;
        for (const std::size_t row : rows) targets.push_back(images.targets[row]);
        scores.add(targets, probabilities(images.images, rows));
    });
    return scores;
}

// ---- what people see ----------------------------------------------------------------------------

// Pixels do not say which file they were, but the images are at hand.
std::vector<std::string> ImageTask::texts(const Batch& batch, std::int64_t row) const {
    const std::vector<std::int64_t> all = batch.inputs.to_vector<std::int64_t>();
    const std::int64_t length = batch.inputs.size(1);
    const auto begin = all.begin() + row * length;
    if (examples_) {
        const ImageSet& images = examples_->data.images;
        for (std::size_t i = 0; i < images.names.size(); ++i) {
            const auto pixels = images.image(i);
            if (std::equal(pixels.begin(), pixels.end(), begin, begin + length)) {
                return {images.names[i]};
            }
        }
    }
    return {fmt::format("an image of {}", to_text(size()))};
}

// The class token, then the patches by row and column.
std::vector<PageText> ImageTask::page_texts(const Batch&, std::int64_t) const {
    const VisionTransformerConfig& c = model_->config();
    std::vector<std::string> names{"[class]"};
    for (std::int64_t row = 0; row < c.height / c.patch; ++row) {
        for (std::int64_t column = 0; column < c.width / c.patch; ++column) {
            names.push_back(fmt::format("r{}c{}", row, column));
        }
    }
    return {{.queries = std::move(names)}};
}

std::optional<PageImage> ImageTask::page_image(const Batch& batch, std::int64_t row) const {
    const ImageSize one = size();
    if (one.channels != 1 && one.channels != 3) return std::nullopt;
    const Tensor pixels = slice(batch.inputs, 0, row, row + 1);
    return PageImage{.pixels = tapestry::to(squeeze(normalised(pixels), 0), DType::f32),
                     .patch = model_->config().patch};
}

std::string ImageTask::name_of(std::int64_t id) const {
    return labels().at(static_cast<std::size_t>(id));
}

std::string ImageTask::data_text() const {
    const Examples& e = examples();
    const std::string single =
        e.parts.single == 0
            ? ""
            : fmt::format("; {} only one image, so none of it is held out",
                          e.parts.single == 1 ? "1 class has"
                                              : fmt::format("{} classes have", e.parts.single));
    return fmt::format(
        "{}: {} of {}, {} classes; training on {}, validating on {}, of each class its share{}",
        utf8::printable(e.config.text), pluralize(e.data.images.count(), "image"), to_text(size()),
        labels().size(), e.parts.train.size(), e.parts.held_out.size(), single);
}

std::string ImageTask::amounts() const {
    return fmt::format("{} images to learn from, {} held out", examples().parts.train.size(),
                       examples().parts.held_out.size());
}

std::string ImageTask::shape_text() const {
    const VisionTransformerConfig& c = model_->config();
    const std::int64_t patches = (c.height / c.patch) * (c.width / c.patch);
    return fmt::format("{}, {}, dim {}, {} of {} x {} pixels", pluralize(c.layers, "layer"),
                       pluralize(c.heads, "head"), c.dim,
                       patches == 1 ? "1 patch" : fmt::format("{} patches", patches), c.patch,
                       c.patch);
}

std::vector<ExpectedLoss> ImageTask::expected_losses() const {
    const Examples& e = examples();
    const auto counts = [&](const std::vector<std::size_t>& rows) {
        std::vector<std::int64_t> all(labels().size(), 0);
        for (const std::size_t row : rows) ++all[static_cast<std::size_t>(e.data.targets[row])];
        return all;
    };
    return losses_without_looking(counts(e.parts.train), counts(e.parts.held_out), "image");
}

std::string ImageTask::sample(std::int64_t, Generator&) const {
    constexpr std::size_t kMost = 8;
    const Examples& e = examples();
    const std::size_t count = std::min(kMost, e.parts.held_out.size());
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < count; ++i) {
        rows.push_back(e.parts.held_out[i * e.parts.held_out.size() / count]);
    }
    const std::vector<double> p = probabilities(e.data.images, rows);
    std::string lines;
    for (std::size_t i = 0; i < count; ++i) {
        const std::span<const double> row(p.data() + i * labels().size(), labels().size());
        const LabelProbability found = likeliest(labels(), row, 1)[0];
        lines += fmt::format("{} ({:.2f}), labelled {}: {}\n", utf8::printable(found.label),
                             found.probability, utf8::printable(name_of(e.data.targets[rows[i]])),
                             e.data.images.names[rows[i]]);
    }
    return lines;
}

}  // namespace tapestry
