// Batches of a ClassifyTask: features of texts, padded to the same length, and labels.
#include <tapestry/core/create.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/train/classify/classify_task.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

constexpr std::int64_t kAtOnce = 64;  // texts

}  // namespace

// With texts to learn from, theirs: they may be much shorter than step_flops() of the
// configuration assumes. A block has 12 dim^2 weights.
double ClassifyTask::step_flops(std::int64_t rows) const {
    const BagConfig& c = model_->config();
    if (!examples_) return tapestry::step_flops(c, rows);
    const auto dim = static_cast<double>(c.dim), layers = static_cast<double>(c.layers);
    double sum = 0;
    for (const Example& one : examples().train) {
        const auto words = static_cast<double>(one.words.size());
        auto features = static_cast<double>(one.features.size());
        for (const auto& word : one.words) features += static_cast<double>(word.size());
        sum += dim * (features + static_cast<double>(c.classes)) +
               layers * words * (12 * dim * dim + 2 * words * dim);
    }
    return 6 * sum * static_cast<double>(rows) / static_cast<double>(examples().train.size());
}

CountedLoss ClassifyTask::loss(const Batch& batch) const {
    return {model_->loss(batch.inputs, batch.targets), static_cast<double>(batch.targets.size(0))};
}

void ClassifyTask::check_batch(const Batch& batch) const {
    const BagConfig& config = model_->config();
    const std::int64_t columns = config.several_labels ? config.classes : 1;
    const int rank = config.layers > 0 ? 3 : 2;
    require(batch.inputs.rank() == rank && batch.targets.rank() == 2 &&
                batch.targets.size(1) == columns && batch.inputs.size(0) == batch.targets.size(0),
            "features {} and labels {}, which are not {} and [B, {}]", batch.inputs.shape(),
            batch.targets.shape(), rank == 3 ? "[B, W, F]" : "[B, F]", columns);
    for (const std::int64_t id : batch.inputs.to_vector<std::int64_t>()) {
        require(id >= 0 && id < config.buckets, "feature {}; the table has {}", id, config.buckets);
    }
    for (const std::int64_t id : batch.targets.to_vector<std::int64_t>()) {
        const std::int64_t count = config.several_labels ? 2 : config.classes;
        require(id >= 0 && id < count, "label {}; the model has {}", id, count);
    }
}

ClassifyTask::Example ClassifyTask::example_of(const std::string& text,
                                               std::vector<std::int64_t> labels, std::size_t place,
                                               const BagConfig& config) {
    Example one{.features = {}, .words = {}, .labels = std::move(labels), .text = place};
    if (config.layers > 0) {
        one.words = word_features(text, config);
    } else {
        one.features = text_features(text, config);
    }
    return one;
}

// [B, F], as long as the longest row's.
Tensor ClassifyTask::features_of(const std::vector<const Example*>& examples) const {
    std::size_t longest = 1;
    for (const Example* one : examples) longest = std::max(longest, one->features.size());
    Tensor all = zeros({std::ssize(examples), static_cast<std::int64_t>(longest)}, DType::i64);
    auto* to = all.mutable_data<std::int64_t>();
    for (const Example* one : examples) {
        std::copy(one->features.begin(), one->features.end(), to);
        to += longest;
    }
    return all;
}

// [B, W, F], as many words as the longest row has, and features as the longest word.
Tensor ClassifyTask::words_of(const std::vector<const Example*>& examples) const {
    std::size_t words = 1, longest = 1;
    for (const Example* one : examples) {
        words = std::max(words, one->words.size());
        for (const auto& word : one->words) longest = std::max(longest, word.size());
    }
    Tensor all = zeros({std::ssize(examples), static_cast<std::int64_t>(words),
                        static_cast<std::int64_t>(longest)},
                       DType::i64);
    auto* row = all.mutable_data<std::int64_t>();
    for (const Example* one : examples) {
        auto* to = row;
        for (const auto& word : one->words) {
            std::copy(word.begin(), word.end(), to);
            to += longest;
        }
        row += words * longest;
    }
    return all;
}

Batch ClassifyTask::batch_from(const std::vector<const Example*>& examples) const {
    const auto rows = std::ssize(examples);
    Batch batch{model_->config().layers > 0 ? words_of(examples) : features_of(examples),
                zeros({rows, has_several_labels() ? std::ssize(labels_) : 1}, DType::i64)};
    auto* labels = batch.targets.mutable_data<std::int64_t>();
    for (const Example* one : examples) {
        if (has_several_labels()) {
            for (const std::int64_t id : one->labels) labels[id] = 1;
        } else {
            *labels = one->labels[0];
        }
        labels += batch.targets.size(1);
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
    Example one = example_of(std::string(text), {}, 0, model_->config());
    const bool is_one =
        !has_several_labels() || std::find(labels_.begin(), labels_.end(), label) != labels_.end();
    for (const std::string& name : is_one ? std::vector<std::string>{label} : label_names(label)) {
        const auto found = std::find(labels_.begin(), labels_.end(), name);
        require(found != labels_.end(), "label {} is not one of the model's {}", utf8::quoted(name),
                labels_.size());
        one.labels.push_back(found - labels_.begin());
    }
    return batch_from({&one});
}

}  // namespace tapestry
