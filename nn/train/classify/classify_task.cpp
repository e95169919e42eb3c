#include <tapestry/nn/train/classify/classify_task.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/splits.h>
#include <tapestry/nn/io/classifier_directory.h>
#include <tapestry/nn/io/manifest.h>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
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

std::string listed(const std::vector<std::string>& names) {
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

// Of each text its rarest label, the first of equally rare ones; of a text without labels their
// number.
std::vector<std::int64_t> rarest_labels(const LabelledTexts& texts) {
    const std::vector<std::int64_t> counts = texts.counts();
    std::vector<std::int64_t> all;
    for (const std::vector<std::int64_t>& ids : texts.sets) {
        const auto rarest =
            std::min_element(ids.begin(), ids.end(), [&](std::int64_t a, std::int64_t b) {
                return counts[static_cast<std::size_t>(a)] < counts[static_cast<std::size_t>(b)];
            });
        all.push_back(rarest == ids.end() ? std::ssize(texts.labels) : *rarest);
    }
    return all;
}

// A text held out by its rarest label may have the last of another, without which nothing could
// learn that.
template <class Examples>
void learn_every_label(Examples& all) {
    std::set<std::int64_t> learned;
    const auto learn = [&](const auto& one) {
        learned.insert(one.labels.begin(), one.labels.end());
    };
    for (const auto& one : all.train) learn(one);
    const auto is_new = [&](std::int64_t label) { return !learned.contains(label); };
    for (auto one = all.held_out.begin(); one != all.held_out.end();) {
        if (std::none_of(one->labels.begin(), one->labels.end(), is_new)) {
            ++one;
            continue;
        }
        learn(*one);
        all.train.push_back(std::move(*one));
        one = all.held_out.erase(one);
    }
}

}  // namespace

// ---- made ---------------------------------------------------------------------------------------

ClassifyTask::Examples ClassifyTask::split(const TrainingConfig& config, LabelledTexts texts) {
    const auto labels = std::ssize(texts.labels);
    const SplitByLabel parts = texts.several ? split_by_label(rarest_labels(texts), labels + 1)
                                             : split_by_label(texts.targets, labels);
    Examples all{.config = config,
                 .hash = std::move(texts.hash),
                 .texts = {},
                 .train = {},
                 .held_out = {},
                 .single = parts.single,
                 .first_several = texts.first_with_several};
    const BagConfig bag = bag_of(config);
    for (auto [from, to] :
         {std::pair{&parts.train, &all.train}, {&parts.held_out, &all.held_out}}) {
        for (const std::size_t i : *from) {
            to->push_back(example_of(texts.texts[i], texts.labels_of(i), i, bag));
        }
    }
    if (texts.several) {
        learn_every_label(all);
        std::set<std::int64_t> held_out;
        for (const Example& one : all.held_out) {
            held_out.insert(one.labels.begin(), one.labels.end());
        }
        all.single = labels - std::ssize(held_out);
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
    BagConfig bag = bag_of(config);
    const bool is_new = from.model == nullptr && !start.is_continued;
    const bool several = from.model ? from.model->config().several_labels : bag.several_labels;
    LabelledTexts texts = read_labelled_texts(config.text, from.labels,
                                              is_new    ? LabelsPerText::as_in_file
                                              : several ? LabelsPerText::any
                                                        : LabelsPerText::one);
    if (from.model) {
        const BagConfig wanted = bag;
        bag = from.model->config();
        keep_run_settings(bag, wanted, config);
    } else if (!start.is_continued) {
        bag.classes = std::ssize(texts.labels);
        bag.several_labels = texts.several;
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

// ---- the directory ------------------------------------------------------------------------------

void ClassifyTask::write_description(Commit& commit, const std::string& folder) const {
    tapestry::write_description(commit, folder, model_->config(), labels_);
}

std::vector<std::string> ClassifyTask::description_files() const { return {kConfigName}; }

// ---- what people see ----------------------------------------------------------------------------

// The features of a text do not say what it was, but the texts are at hand.
std::optional<std::size_t> ClassifyTask::text_of(const Batch& batch, std::int64_t row) const {
    if (!examples_) return std::nullopt;
    const auto each = batch.inputs.numel() / batch.inputs.size(0);
    const std::vector<std::int64_t> all = batch.inputs.to_vector<std::int64_t>();
    std::vector<std::int64_t> wanted(all.begin() + row * each, all.begin() + (row + 1) * each);
    std::erase(wanted, 0);
    for (const auto* part : {&examples_->train, &examples_->held_out}) {
        for (const Example& one : *part) {
            std::vector<std::int64_t> features = one.features;
            for (const auto& word : one.words) {
                features.insert(features.end(), word.begin(), word.end());
            }
            if (features == wanted) return one.text;
        }
    }
    return std::nullopt;
}

// A model with layers reads words: each is a token.
std::vector<std::string> ClassifyTask::texts(const Batch& batch, std::int64_t row) const {
    const std::optional<std::size_t> text = text_of(batch, row);
    if (model_->config().layers == 0) {
        if (text) return {examples_->texts[*text]};
        const auto length = batch.inputs.size(1);
        const std::vector<std::int64_t> all = batch.inputs.to_vector<std::int64_t>();
        const auto begin = all.begin() + row * length;
        return {pluralize(std::find(begin, begin + length, 0) - begin, "feature")};
    }
    std::vector<std::string> words;
    if (text) {
        for (const std::string_view word :
             feature_words(examples_->texts[*text], model_->config())) {
            words.emplace_back(word);
        }
    }
    for (std::int64_t i = std::ssize(words); i < batch.inputs.size(1); ++i) {
        words.push_back(text ? "" : fmt::format("word {}", i + 1));
    }
    return words;
}

std::string ClassifyTask::name_of(std::int64_t id) const {
    return labels_.at(static_cast<std::size_t>(id));
}

std::string ClassifyTask::data_text() const {
    const Examples& e = examples();
    if (has_several_labels()) return text_of_sets();
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

std::string ClassifyTask::text_of_sets() const {
    const Examples& e = examples();
    std::size_t labels = 0;
    for (const auto* part : {&e.train, &e.held_out}) {
        for (const Example& one : *part) labels += one.labels.size();
    }
    const std::string first =
        e.first_several == 0 ? ""
                             : fmt::format(", the first text with two in line {}", e.first_several);
    const std::string single =
        e.single == 0 ? ""
                      : fmt::format("; of {} no text is held out", pluralize(e.single, "label"));
    return fmt::format(
        "{}: {}, {}, {:.2f} per text{}, so each label has a separate probability (sigmoid, "
        "binary "
        "cross-entropy); training on {}, validating on {}, by the rarest label of each text{}",
        utf8::printable(e.config.text), pluralize(std::ssize(e.texts), "text"),
        pluralize(std::ssize(labels_), "label"),
        static_cast<double>(labels) / static_cast<double>(e.texts.size()), first, e.train.size(),
        e.held_out.size(), single);
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
    const std::string layers =
        c.layers == 0
            ? ""
            : fmt::format(", {} of {}", pluralize(c.layers, "layer"), pluralize(c.heads, "head"));
    return fmt::format("{}{}, {} buckets, dim {}{}", words, characters, c.buckets, c.dim, layers);
}

std::vector<ExpectedLoss> ClassifyTask::expected_losses() const {
    std::vector<std::vector<std::int64_t>> train, held_out;
    for (const Example& one : examples().train) train.push_back(one.labels);
    for (const Example& one : examples().held_out) held_out.push_back(one.labels);
    if (has_several_labels()) return losses_without_looking(labels_.size(), train, held_out);
    const auto counts = [this](const std::vector<std::vector<std::int64_t>>& texts) {
        std::vector<std::int64_t> all(labels_.size(), 0);
        for (const auto& ids : texts) ++all[static_cast<std::size_t>(ids[0])];
        return all;
    };
    return losses_without_looking(counts(train), counts(held_out), "text");
}

std::string ClassifyTask::sample(std::int64_t, Generator&) const {
    constexpr std::size_t kMost = 8;
    const auto& held_out = examples().held_out;
    const std::size_t count = std::min(kMost, held_out.size());
    std::string lines;
    for (std::size_t i = 0; i < count; ++i) {
        const Example& one = held_out[i * held_out.size() / count];
        const std::string& text = examples().texts[one.text];
        const std::int64_t most = has_several_labels() ? std::ssize(labels_) : 1;
        const double least = has_several_labels() ? threshold() : 0;
        std::vector<std::string> found, right;
        const auto predicted = classify({text}, most, least);
        for (const LabelProbability& label : predicted[0]) {
            found.push_back(
                fmt::format("{} ({:.2f})", utf8::printable(label.label), label.probability));
        }
        for (const std::int64_t id : one.labels) right.push_back(utf8::printable(name_of(id)));
        lines += fmt::format("{}, labelled {}: {}\n", listed(found), listed(right),
                             utf8::quoted(text, 60));
    }
    return lines;
}

}  // namespace tapestry
