#include <tapestry/nn/train/classify/classify_task.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/split_by_label.h>
#include <tapestry/nn/io/classifier_directory.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/softmax.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

// The configuration's, which begin_task() has checked to be this.
BagConfig bag_of(const TrainingConfig& config) {
    return std::get<BagConfig>(config.model_config());
}

// The model and labels to begin with; both empty without any.
LoadedClassifier classifier_to_begin_with(const TrainingConfig& config, const TaskStart& start) {
    if (!start.directory.empty()) return {nullptr, load_labels(start.directory)};
    if (config.start.empty()) return {};
    LoadedClassifier loaded = load_classifier(config.start);
    if (start.is_continued) loaded.model.reset();
    return loaded;
}

void check_files(const TrainingConfig& config) {
    require(config.data.empty(),
            "classify: --data is text without labels; --text names a file with labels");
    require(!config.text.empty(), "classify: needs --text, a file with labels");
    require(config.test_fraction == 0,
            "classify: --test-fraction is for a text; keep texts for testing in a file of their "
            "own");
    require(config.sequence == 0, "classify: --sequence and --context are for a text, got {}",
            config.sequence);
}

constexpr std::int64_t kAtOnce = 64;  // texts

}  // namespace

// ---- made ---------------------------------------------------------------------------------------

ClassifyTask::Examples ClassifyTask::split(const TrainingConfig& config, LabelledTexts texts) {
    const SplitByLabel parts = split_by_label(texts.targets, std::ssize(texts.labels));
    Examples all{.config = config,
                 .hash = std::move(texts.hash),
                 .texts = {},
                 .train = {},
                 .held_out = {},
                 .single = parts.single};
    const BagConfig bag = bag_of(config);
    for (auto [from, to] :
         {std::pair{&parts.train, &all.train}, {&parts.held_out, &all.held_out}}) {
        for (const std::size_t i : *from) {
            to->push_back({text_features(texts.texts[i], bag), texts.targets[i], i});
        }
    }
    all.texts = std::move(texts.texts);
    require(!all.held_out.empty(),
            "{}: every label occurs once, so no text can be held out for validation",
            shown(config.text));
    return all;
}

std::unique_ptr<Task> ClassifyTask::begin(TrainingConfig& config, TaskStart start,
                                          Generator& weights) {
    check_files(config);
    const LoadedClassifier from = classifier_to_begin_with(config, start);
    LabelledTexts texts = read_labelled_texts(config.text, from.labels);
    BagConfig bag = bag_of(config);
    if (from.model) {
        const BagConfig wanted = bag;
        bag = from.model->config();
        keep_run_settings(bag, wanted, config);
    } else if (!start.is_continued) {
        bag.classes = std::ssize(texts.labels);
    }
    require(bag.classes == std::ssize(texts.labels), "{}: {} labels, but the model has {}",
            shown(config.text), texts.labels.size(), bag.classes);
    config.set_model(bag);
    check_memory(config);
    auto model = std::make_unique<BagClassifier>(bag, weights);
    if (from.model) copy_parameters(*from.model, *model);
    auto task = std::make_unique<ClassifyTask>(std::move(model), texts.labels);
    task->examples_ = split(config, std::move(texts));
    return task;
}

std::unique_ptr<ClassifyTask> load_classify_task(const std::filesystem::path& directory) {
    LoadedClassifier loaded = load_classifier(directory);
    return std::make_unique<ClassifyTask>(std::move(loaded.model), std::move(loaded.labels));
}

std::unique_ptr<Task> ClassifyTask::load(const std::filesystem::path& directory) {
    return load_classify_task(directory);
}

ClassifyTask::ClassifyTask(std::unique_ptr<BagClassifier> model, std::vector<std::string> labels)
    : model_(std::move(model)), labels_(std::move(labels)) {}

const ClassifyTask::Examples& ClassifyTask::examples() const {
    require(examples_.has_value(), "the task has no texts: it was loaded from a directory");
    return *examples_;
}

// ---- batches ------------------------------------------------------------------------------------

CountedLoss ClassifyTask::loss(const Batch& batch) const {
    return {model_->loss(batch.inputs, batch.targets), static_cast<double>(batch.targets.size(0))};
}

void ClassifyTask::check_batch(const Batch& batch) const {
    const BagConfig& config = model_->config();
    require(batch.inputs.rank() == 2 && batch.targets.rank() == 2 && batch.targets.size(1) == 1 &&
                batch.inputs.size(0) == batch.targets.size(0),
            "features {} and labels {}, which are not [B, F] and [B, 1]", batch.inputs.shape(),
            batch.targets.shape());
    for (const std::int64_t id : batch.inputs.to_vector<std::int64_t>()) {
        require(id >= 0 && id < config.buckets, "feature {}; the table has {}", id, config.buckets);
    }
    for (const std::int64_t id : batch.targets.to_vector<std::int64_t>()) {
        require(id >= 0 && id < config.classes, "label {}; the model has {}", id, config.classes);
    }
}

// Features as long as the longest row's.
Batch ClassifyTask::batch_from(const std::vector<const Example*>& examples) const {
    std::size_t longest = 1;
    for (const Example* one : examples) longest = std::max(longest, one->features.size());
    const auto rows = std::ssize(examples);
    Batch batch{zeros({rows, static_cast<std::int64_t>(longest)}, DType::i64),
                Tensor({rows, 1}, DType::i64)};
    auto* features = batch.inputs.mutable_data<std::int64_t>();
    auto* labels = batch.targets.mutable_data<std::int64_t>();
    for (const Example* one : examples) {
        std::copy(one->features.begin(), one->features.end(), features);
        features += longest;
        *labels++ = one->label;
    }
    return batch;
}

Batch ClassifyTask::next_batch(Generator& generator) const {
    const TrainingConfig& config = examples().config;
    const auto& train = examples().train;
    std::vector<const Example*> rows;
    for (const std::int64_t i :
         next_rows(config.order, std::ssize(train), config.batch, generator)) {
        rows.push_back(&train[static_cast<std::size_t>(i)]);
    }
    return batch_from(rows);
}

std::int64_t ClassifyTask::validation_batches() const {
    return (std::ssize(examples().held_out) + kAtOnce - 1) / kAtOnce;
}

Batch ClassifyTask::validation_batch(std::int64_t i, Generator&) const {
    const auto& all = examples().held_out;
    std::vector<const Example*> rows;
    const auto first = static_cast<std::size_t>(i * kAtOnce);
    for (std::size_t k = first; k < std::min<std::size_t>(first + kAtOnce, all.size()); ++k) {
        rows.push_back(&all[k]);
    }
    return batch_from(rows);
}

Batch ClassifyTask::batch_of(std::string_view text, const std::string& label) const {
    const auto found = std::find(labels_.begin(), labels_.end(), label);
    require(found != labels_.end(), "label {} is not one of the model's {}", utf8::quoted(label),
            labels_.size());
    const Example one{text_features(text, model_->config()), found - labels_.begin(), 0};
    return batch_from({&one});
}

// ---- the directory ------------------------------------------------------------------------------

void ClassifyTask::write_description(Commit& commit, const std::string& folder) const {
    tapestry::write_description(commit, folder, model_->config(), labels_);
}

std::vector<std::string> ClassifyTask::description_files() const { return {kConfigName}; }

// ---- predictions --------------------------------------------------------------------------------

// [B, C]
Tensor ClassifyTask::probabilities(const std::vector<const Example*>& examples) const {
    const NoGradGuard no_grad;
    return softmax(tapestry::to((*model_)(batch_from(examples).inputs), DType::f32));
}

std::vector<std::vector<LabelProbability>> ClassifyTask::classify(
    const std::vector<std::string>& texts, std::int64_t most) const {
    std::vector<std::vector<LabelProbability>> all;
    for (const std::string& text : texts) {
        const Example one{text_features(text, model_->config()), 0, 0};
        all.push_back(likeliest(labels_, probabilities({&one}).to_vector<double>(), most));
    }
    return all;
}

ClassificationScores ClassifyTask::score(const LabelledTexts& texts) const {
    ClassificationScores scores(labels_);
    for (std::size_t begin = 0; begin < texts.texts.size(); begin += kAtOnce) {
        std::vector<Example> some;
        for (std::size_t i = begin; i < std::min<std::size_t>(begin + kAtOnce, texts.texts.size());
             ++i) {
            some.push_back({text_features(texts.texts[i], model_->config()), texts.targets[i], i});
        }
        std::vector<const Example*> rows;
        std::vector<std::int64_t> targets;
        for (const Example& one : some) {
            rows.push_back(&one);
            targets.push_back(one.label);
        }
        scores.add(targets, probabilities(rows).to_vector<double>());
    }
    return scores;
}

// ---- what people see ----------------------------------------------------------------------------

// The features of a text do not say what it was, but the texts are at hand.
std::vector<std::string> ClassifyTask::texts(const Batch& batch, std::int64_t row) const {
    const auto length = batch.inputs.size(1);
    const std::vector<std::int64_t> all = batch.inputs.to_vector<std::int64_t>();
    const auto begin = all.begin() + row * length;
    const std::vector<std::int64_t> features(begin, std::find(begin, begin + length, 0));
    if (examples_) {
        for (const auto* part : {&examples_->train, &examples_->held_out}) {
            for (const Example& one : *part) {
                if (one.features == features) return {examples_->texts[one.text]};
            }
        }
    }
    return {pluralize(std::ssize(features), "feature")};
}

std::string ClassifyTask::name_of(std::int64_t id) const {
    return labels_.at(static_cast<std::size_t>(id));
}

std::string ClassifyTask::data_text() const {
    const Examples& e = examples();
    const std::string single =
        e.single == 0
            ? ""
            : fmt::format("; {} {} only once, so no text with it is held out",
                          pluralize(e.single, "label"), e.single == 1 ? "occurs" : "occur");
    return fmt::format("{}: {}, {}; training on {}, validating on {}, of each label its share{}",
                       utf8::printable(e.config.text), pluralize(std::ssize(e.texts), "text"),
                       pluralize(std::ssize(labels_), "label"), e.train.size(), e.held_out.size(),
                       single);
}

std::string ClassifyTask::amounts() const {
    return fmt::format("{} texts to learn from, {} held out", examples().train.size(),
                       examples().held_out.size());
}

std::string ClassifyTask::shape_text() const {
    const BagConfig& c = model_->config();
    const std::string characters =
        c.longest == 0 ? ""
                       : fmt::format(" and n-grams of {} to {} characters", c.shortest, c.longest);
    const std::string words =
        c.word_ngrams == 1 ? "words" : fmt::format("n-grams of 1 to {} words", c.word_ngrams);
    return fmt::format("{}{}, {} buckets, dim {}", words, characters, c.buckets, c.dim);
}

std::vector<ExpectedLoss> ClassifyTask::expected_losses() const {
    std::vector<std::int64_t> train(labels_.size(), 0), held_out(labels_.size(), 0);
    for (const Example& one : examples().train) ++train[static_cast<std::size_t>(one.label)];
    for (const Example& one : examples().held_out) ++held_out[static_cast<std::size_t>(one.label)];
    return losses_without_looking(train, held_out, "text");
}

std::string ClassifyTask::sample(std::int64_t, Generator&) const {
    constexpr std::size_t kMost = 8;
    const auto& held_out = examples().held_out;
    const std::size_t count = std::min(kMost, held_out.size());
    std::string lines;
    for (std::size_t i = 0; i < count; ++i) {
        const Example& one = held_out[i * held_out.size() / count];
        const std::string& text = examples().texts[one.text];
        const LabelProbability found = classify({text}, 1)[0][0];
        lines += fmt::format("{} ({:.2f}), labelled {}: {}\n", utf8::printable(found.label),
                             found.probability, utf8::printable(name_of(one.label)),
                             utf8::quoted(text, 60));
    }
    return lines;
}

}  // namespace tapestry
