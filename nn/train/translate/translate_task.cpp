#include <tapestry/nn/train/translate/translate_task.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/bpe_training.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/view.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace tapestry {
namespace {

// The configuration's, which begin_task() has checked to be this.
TransformerConfig transformer_of(const TrainingConfig& config) {
    return std::get<TransformerConfig>(config.model_config());
}

void check_pair_files(const TrainingConfig& config) {
    require(config.data.empty(), "translate: --data is one text; --pairs names a file of pairs");
    require(!config.text.empty(), "translate: needs --pairs, a file of pairs");
    require(config.test_fraction == 0,
            "translate: --test-fraction is for a text; keep pairs for testing in a file of their "
            "own");
    require(config.sequence == 0, "translate: --sequence and --context are for a text, got {}",
            config.sequence);
}

// Whether each pair is held out. All pairs with one source are in the same part: a source that was
// learned is not held out.
std::vector<bool> held_out_pairs(const TextPairs& pairs) {
    constexpr std::int64_t kOneOf = 10;
    std::unordered_map<std::string_view, std::int64_t> numbers;  // of the sources, from 1
    for (const TextPair& pair : pairs.pairs) {
        numbers.emplace(pair.source, std::ssize(numbers) + 1);
    }
    const std::int64_t last = std::ssize(numbers);
    require(last > 1, "{}: one source only, so none can be held out for validation", pairs.file);
    std::vector<bool> held_out;
    for (const TextPair& pair : pairs.pairs) {
        const std::int64_t number = numbers.at(pair.source);
        held_out.push_back(last < kOneOf ? number == last : number % kOneOf == 0);
    }
    return held_out;
}

// Every character of either side.
MarkedVocabulary characters_of(const TextPairs& pairs) {
    std::string all;
    for (const TextPair& pair : pairs.pairs) all += pair.source + pair.target;
    return CharTokenizer::from_text(all);
}

// Byte pairs of both sides of the training part, as MarkedVocabulary::encode reads them.
MarkedVocabulary pieces_of(const TextPairs& pairs, const std::vector<bool>& held_out,
                           std::int64_t most) {
    WordCounts words;
    for (std::size_t i = 0; i < pairs.pairs.size(); ++i) {
        if (held_out[i]) continue;
        words.add(" " + pairs.pairs[i].source);
        words.add(" " + pairs.pairs[i].target);
    }
    return MarkedVocabulary(std::make_unique<BytePairTokenizer>(train_byte_pairs(words, most)));
}

struct TransformerStart {
    std::unique_ptr<Transformer> model;  // null: new weights
    MarkedVocabulary vocabulary;
};

TransformerStart start_of(const TrainingConfig& config, const TaskStart& start,
                          const TextPairs& pairs, const std::vector<bool>& held_out) {
    if (!start.directory.empty()) return {nullptr, load_marked_vocabulary(start.directory)};
    if (config.start.empty()) {
        const std::int64_t pieces = transformer_of(config).pieces;
        return {nullptr, pieces > 0 ? pieces_of(pairs, held_out, pieces) : characters_of(pairs)};
    }
    LoadedTransformer loaded = load_transformer(config.start);
    require(loaded.model->config().padding_id >= 0, "{}: the model has no padding",
            shown(config.start));
    if (start.is_continued) loaded.model.reset();
    return {std::move(loaded.model), std::move(loaded.vocabulary)};
}

// The sizes that follow from the pairs or from the model to begin with.
TransformerConfig completed(const TrainingConfig& config, const TransformerStart& from,
                            bool is_continued) {
    TransformerConfig model = transformer_of(config);
    if (from.model) {
        const TransformerConfig wanted = model;
        model = from.model->config();
        keep_run_settings(model, wanted, config);
    } else if (!is_continued) {
        model.source_vocab = model.target_vocab = from.vocabulary.size();
        model.padding_id = 0;
    }
    return model;
}

}  // namespace

// ---- made ---------------------------------------------------------------------------------------

std::unique_ptr<Task> TranslateTask::begin(TrainingConfig& config, TaskStart start,
                                           Generator& weights) {
    check_pair_files(config);
    TextPairs pairs = read_text_pairs(config.text);
    const std::vector<bool> held_out = held_out_pairs(pairs);
    TransformerStart from = start_of(config, start, pairs, held_out);
    const TransformerConfig completed_config = completed(config, from, start.is_continued);
    config.set_model(completed_config);
    check_memory(config);
    auto model = std::make_unique<Transformer>(completed_config, weights);
    if (from.model) copy_parameters(*from.model, *model);
    auto task = std::make_unique<TranslateTask>(std::move(model), std::move(from.vocabulary));
    task->take_examples(config, std::move(pairs), held_out);
    return task;
}

std::unique_ptr<TranslateTask> load_translate_task(const std::filesystem::path& directory) {
    LoadedTransformer loaded = load_transformer(directory);
    return std::make_unique<TranslateTask>(std::move(loaded.model), std::move(loaded.vocabulary));
}

std::unique_ptr<Task> TranslateTask::load(const std::filesystem::path& directory) {
    return load_translate_task(directory);
}

TranslateTask::TranslateTask(std::unique_ptr<Transformer> model, MarkedVocabulary vocabulary)
    : model_(std::move(model)), vocabulary_(std::move(vocabulary)) {
    require(config().padding_id >= 0,
            "translate: the model has no padding, so it cannot read texts of different lengths");
}

const TranslateTask::Examples& TranslateTask::examples() const {
    require(examples_.has_value(), "the task has no pairs: it was loaded from a directory");
    return *examples_;
}

// ---- examples -----------------------------------------------------------------------------------

TranslateTask::Ids TranslateTask::ids_of(std::string_view text, const char* what,
                                         std::int64_t marks) const {
    Ids ids = vocabulary_.encode(text, what);
    require(!ids.empty(), "the {} is empty", what);
    const std::int64_t most = config().max_length - marks;
    require(config().max_length == 0 || std::ssize(ids) <= most,
            "the {} has {} {}s; the model takes at most {} (--max-length {}); shorten the {}, or "
            "train with a larger --max-length",
            what, ids.size(), vocabulary_.unit(), most, config().max_length, what);
    return ids;
}

TranslateTask::Example TranslateTask::example_of(const TextPair& pair, std::size_t index) const {
    return {ids_of(pair.source, "source", 0), ids_of(pair.target, "target", 1), index};
}

std::vector<TranslateTask::Example> TranslateTask::examples_of(const TextPairs& pairs) const {
    std::vector<Example> all;
    for (std::size_t i = 0; i < pairs.pairs.size(); ++i) {
        try {
            all.push_back(example_of(pairs.pairs[i], i));
        } catch (const ValueError& error) {
            fail<IoError>("{}:{}: {}", pairs.file, pairs.pairs[i].line, error.what());
        }
    }
    return all;
}

void TranslateTask::take_examples(const TrainingConfig& config, TextPairs pairs,
                                  const std::vector<bool>& is_held_out) {
    std::vector<Example> train, held_out;
    for (Example& one : examples_of(pairs)) {
        (is_held_out[one.pair] ? held_out : train).push_back(std::move(one));
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> lengths, of_held_out;
    for (const Example& e : train) lengths.emplace_back(std::ssize(e.target), std::ssize(e.source));
    const std::int64_t there = std::ssize(held_out);
    const std::int64_t kept =
        config.eval_batches > there / kAtOnce ? there : config.eval_batches * kAtOnce;
    for (std::int64_t i = 0; i < kept; ++i) {  // spread over all of them
        std::swap(held_out[static_cast<std::size_t>(i)],
                  held_out[static_cast<std::size_t>(i * std::ssize(held_out) / kept)]);
        const Example& e = held_out[static_cast<std::size_t>(i)];
        of_held_out.emplace_back(std::ssize(e.target), std::ssize(e.source));
    }
    examples_.emplace(Examples{.config = config,
                               .hash = std::move(pairs.hash),
                               .pairs = std::move(pairs.pairs),
                               .train = std::move(train),
                               .held_out = std::move(held_out),
                               .buckets = LengthBuckets(std::move(lengths)),
                               .validation = LengthBuckets(std::move(of_held_out)).by_length()});
}

double TranslateTask::step_flops(std::int64_t rows) const {
    double source = 0, target = 0;
    for (const Example& e : examples().train) {
        source += static_cast<double>(e.source.size());
        target += static_cast<double>(e.target.size() + 1);
    }
    const auto n = static_cast<double>(examples().train.size());
    return tapestry::step_flops(config(), rows, source / n, target / n);
}

// ---- batches ------------------------------------------------------------------------------------

// Both sides as long as the longest row's.
Batch TranslateTask::batch_from(const std::vector<const Example*>& rows) const {
    std::size_t source = 1, target = 0;
    for (const Example* one : rows) {
        source = std::max(source, one->source.size());
        target = std::max(target, one->target.size());
    }
    const auto count = rows.size();
    Ids inputs(count * source, config().padding_id);
    Ids targets(count * (target + 2), config().padding_id);
    for (std::size_t i = 0; i < count; ++i) {
        std::copy(rows[i]->source.begin(), rows[i]->source.end(),
                  inputs.begin() + static_cast<std::ptrdiff_t>(i * source));
        auto to = targets.begin() + static_cast<std::ptrdiff_t>(i * (target + 2));
        *to++ = vocabulary_.begin;
        to = std::copy(rows[i]->target.begin(), rows[i]->target.end(), to);
        *to = vocabulary_.end;
    }
    const auto b = static_cast<std::int64_t>(count);
    return {tensor(inputs, {b, static_cast<std::int64_t>(source)}),
            tensor(targets, {b, static_cast<std::int64_t>(target + 2)})};
}

Batch TranslateTask::batch_of(const std::vector<TextPair>& pairs) const {
    std::vector<Example> all;
    for (const TextPair& pair : pairs) all.push_back(example_of(pair, all.size()));
    std::vector<const Example*> rows;
    for (const Example& one : all) rows.push_back(&one);
    return batch_from(rows);
}

Batch TranslateTask::next_batch(Generator& generator) const {
    const TrainingConfig& run = examples().config;
    std::vector<const Example*> rows;
    for (const std::int64_t i : examples().buckets.next(run.order, run.batch, generator)) {
        rows.push_back(&examples().train[static_cast<std::size_t>(i)]);
    }
    return batch_from(rows);
}

std::int64_t TranslateTask::validation_batches() const {
    return (std::ssize(examples().validation) + kAtOnce - 1) / kAtOnce;
}

Batch TranslateTask::validation_batch(std::int64_t i, Generator&) const {
    const Ids& all = examples().validation;
    std::vector<const Example*> rows;
    for (std::int64_t k = i * kAtOnce;
         k < std::min<std::int64_t>((i + 1) * kAtOnce, std::ssize(all)); ++k) {
        const auto place = static_cast<std::size_t>(all[static_cast<std::size_t>(k)]);
        rows.push_back(&examples().held_out[place]);
    }
    return batch_from(rows);
}

// Smoothing is for learning: an evaluation's loss is the cross-entropy, whose exponential is the
// perplexity.
CountedLoss TranslateTask::loss(const Batch& batch) const {
    const std::int64_t length = batch.targets.size(1);
    const Tensor read = slice(batch.targets, 1, 0, length - 1);
    const Tensor next = slice(batch.targets, 1, 1, length);
    const double count = count_targets(next, config().padding_id);
    const Tensor sum =
        cross_entropy((*model_)(batch.inputs, read), next,
                      {.ignore_index = config().padding_id,
                       .label_smoothing = model_->is_training() ? config().label_smoothing : 0.0,
                       .reduction = Reduction::sum});
    return mean_of_sum(sum, count);
}

void TranslateTask::check_batch(const Batch& batch) const {
    require(batch.inputs.rank() == 2 && batch.targets.rank() == 2 && batch.inputs.size(1) >= 1 &&
                batch.targets.size(1) >= 2 && batch.inputs.size(0) == batch.targets.size(0),
            "sources {} and targets {}, which are not [B, S] and [B, T + 1]", batch.inputs.shape(),
            batch.targets.shape());
    const std::int64_t longest = std::max(batch.inputs.size(1), batch.targets.size(1) - 1);
    require(config().max_length == 0 || longest <= config().max_length,
            "{} {}s in a row; the model takes at most {}", longest, vocabulary_.unit(),
            config().max_length);
    for (const Tensor* side : {&batch.inputs, &batch.targets}) {
        for (const std::int64_t id : side->to_vector<std::int64_t>()) {
            require(id >= 0 && id < vocabulary_.size(), "{} {}; the vocabulary has {}",
                    vocabulary_.unit(), id, vocabulary_.size());
        }
    }
}

// ---- the directory ------------------------------------------------------------------------------

void TranslateTask::write_description(Commit& commit, const std::string& folder) const {
    tapestry::write_description(commit, folder, config(), vocabulary_);
}

std::vector<std::string> TranslateTask::description_files() const {
    if (vocabulary_.tokenizer->kind() == "bpe") return {kConfigName, "vocab.json", "merges.txt"};
    return {kConfigName, kTokenizerName};
}

}  // namespace tapestry
