#include <tapestry/nn/train/answer/answer_task.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/bpe_training.h>
#include <tapestry/nn/data/delimited.h>
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_directory.h>

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace tapestry {
namespace {

constexpr std::int64_t kQuestionsAtOnce = 32;
constexpr std::int64_t kOneOf = 10;  // passages: every tenth is held out

void check_question_files(const TrainingConfig& config) {
    require(config.data.empty(), "answer: --data is one text; --questions names a file");
    require(!config.text.empty(), "answer: needs --questions, a file of questions with passages");
    require(config.sequence == 0, "answer: --sequence and --context are for a text, got {}",
            config.sequence);
}

// Whether the passage of each question is held out.
std::vector<bool> held_out_questions(const Questions& questions, std::int64_t& passages) {
    std::unordered_map<std::string_view, std::int64_t> numbers;  // of the passages, from 1
    for (const PassageQuestion& q : questions.all) {
        numbers.emplace(q.passage, std::ssize(numbers) + 1);
    }
    passages = std::ssize(numbers);
    require(passages > 1, "{}: one passage only, so none can be held out for validation",
            questions.file);
    std::vector<bool> held_out;
    for (const PassageQuestion& q : questions.all) {
        const std::int64_t number = numbers.at(q.passage);
        held_out.push_back(passages < kOneOf ? number == passages : number % kOneOf == 0);
    }
    return held_out;
}

// Byte pairs of what is learned: each passage once, and the questions.
std::unique_ptr<Tokenizer> learned_pieces(const Questions& questions,
                                          const std::vector<bool>& held_out, std::int64_t most) {
    WordCounts words;
    std::string_view before;
    for (std::size_t i = 0; i < questions.all.size(); ++i) {
        if (held_out[i]) continue;
        const PassageQuestion& q = questions.all[i];
        if (q.passage != before) words.add(" " + q.passage);
        words.add(" " + q.question);
        before = q.passage;
    }
    return std::make_unique<BytePairTokenizer>(train_byte_pairs(words, most));
}

// The model to begin with and a tokenizer; both empty without any.
LoadedSpanReader reader_to_begin_with(const TrainingConfig& config, const TaskStart& start) {
    if (!start.directory.empty()) return {nullptr, load_tokenizer(start.directory)};
    if (config.start.empty()) return {};
    LoadedSpanReader loaded = load_span_reader(config.start);
    if (start.is_continued) loaded.model.reset();
    return loaded;
}

SpanConfig completed(const TrainingConfig& config, const LoadedSpanReader& from,
                     bool is_continued) {
    auto model = std::get<SpanConfig>(config.model_config());
    if (from.model) {
        const SpanConfig wanted = model;
        model = from.model->config();
        keep_run_settings(model, wanted, config);
    } else if (!is_continued) {
        model.vocab = from.tokenizer->vocab_size() + kSpanMarks;
    }
    return model;
}

}  // namespace

// ---- made ---------------------------------------------------------------------------------------

std::unique_ptr<Task> AnswerTask::begin(TrainingConfig& config, TaskStart start,
                                        Generator& weights) {
    check_question_files(config);
    Questions questions = read_questions(config.text, AnswersRead::places);
    std::int64_t passages = 0;
    const std::vector<bool> held_out = held_out_questions(questions, passages);
    LoadedSpanReader from = reader_to_begin_with(config, start);
    if (!from.tokenizer) {
        const std::int64_t most = std::get<SpanConfig>(config.model_config()).pieces;
        from.tokenizer = learned_pieces(questions, held_out, most);
    }
    const SpanConfig made = completed(config, from, start.is_continued);
    config.set_model(made);
    check_memory(config);
    auto model = std::make_unique<SpanReader>(made, weights);
    if (from.model) copy_parameters(*from.model, *model);
    from.model = std::move(model);
    auto task = std::make_unique<AnswerTask>(std::move(from));
    task->take_examples(config, std::move(questions), held_out);
    task->examples_->passages = passages;
    return task;
}

std::unique_ptr<AnswerTask> load_answer_task(const std::filesystem::path& directory) {
    return std::make_unique<AnswerTask>(load_span_reader(directory));
}

std::unique_ptr<Task> AnswerTask::load(const std::filesystem::path& directory) {
    return load_answer_task(directory);
}

AnswerTask::AnswerTask(LoadedSpanReader loaded)
    : model_(std::move(loaded.model)), tokenizer_(std::move(loaded.tokenizer)) {}

const AnswerTask::Examples& AnswerTask::examples() const {
    require(examples_.has_value(), "the task has no questions: it was loaded from a directory");
    return *examples_;
}

double AnswerTask::step_flops(std::int64_t rows) const {
    double tokens = 0;
    for (const Example& e : examples().train) tokens += static_cast<double>(e.ids.size());
    SpanConfig mean = config();
    mean.max_length = static_cast<std::int64_t>(tokens) / std::ssize(examples().train);
    return tapestry::step_flops(ModelConfig(mean), rows);
}

// ---- examples -----------------------------------------------------------------------------------

// Both texts get a space in front: their first words then have the tokens of all others. A file's
// questions have no blanks around them.
AnswerTask::Example AnswerTask::example_of(std::string_view passage,
                                           std::string_view question) const {
    constexpr std::string_view kBlanks = " \t\r\n\v\f";
    const auto is_empty = [&](std::string_view text) {
        return text.find_first_not_of(kBlanks) == text.npos;
    };
    require(!is_empty(passage), "the passage is empty");
    require(!is_empty(question), "the question is empty");
    const Ids asked = tokenizer_->encode(fmt::format(" {}", without_blanks(question)), "question");
    const Ids read = tokenizer_->encode(fmt::format(" {}", passage), "passage");
    const std::int64_t length = std::ssize(asked) + std::ssize(read) + kSpanMarks;
    require(length <= config().max_length,
            "passage and question have {} tokens with three marks; the model reads {} "
            "(--max-length); shorten the passage, or train with a larger --max-length",
            length, config().max_length);
    Example one;
    one.ids.push_back(model_->begin_id());
    one.ids.insert(one.ids.end(), asked.begin(), asked.end());
    one.ids.push_back(model_->separator_id());
    one.passage = std::ssize(one.ids);
    one.ids.insert(one.ids.end(), read.begin(), read.end());
    one.ids.push_back(model_->separator_id());
    std::int64_t bytes = -1;  // of the space
    for (const std::int64_t id : read) {
        bytes += std::ssize(tokenizer_->decode({&id, 1}));
        one.ends.push_back(bytes);
    }
    return one;
}

void AnswerTask::point_at(Example& example, std::string_view passage, std::size_t begin,
                          std::size_t bytes) {
    const auto& ends = example.ends;
    const auto from = static_cast<std::int64_t>(begin);
    const auto first = std::upper_bound(ends.begin(), ends.end(), from);
    const auto last = std::lower_bound(first, ends.end(), from + static_cast<std::int64_t>(bytes));
    example.first = example.passage + (first - ends.begin());
    example.last = example.passage + (last - ends.begin());
    const auto starts = static_cast<std::size_t>(
        first == ends.begin() ? 0 : std::max<std::int64_t>(0, *(first - 1)));
    const std::string_view found = passage.substr(starts, static_cast<std::size_t>(*last) - starts);
    example.is_whole = without_blanks(found) == passage.substr(begin, bytes);
}

AnswerTask::Example AnswerTask::learned_example(const Questions& questions,
                                                std::size_t index) const {
    const PassageQuestion& q = questions.all[index];
    try {
        Example one = example_of(q.passage, q.question);
        point_at(one, q.passage, static_cast<std::size_t>(q.begin), q.answers.front().size());
        one.question = index;
        const std::int64_t tokens = one.last - one.first + 1;
        require(tokens <= config().max_answer,
                "the answer has {} tokens; the model gives at most {} (--max-answer); shorten it, "
                "or train with a larger --max-answer",
                tokens, config().max_answer);
        return one;
    } catch (const ValueError& error) {
        fail<IoError>("{}:{}: {}", questions.file, q.line, error.what());
    }
}

void AnswerTask::take_examples(const TrainingConfig& config, Questions questions,
                               const std::vector<bool>& is_held_out) {
    std::vector<Example> train, held_out;
    for (std::size_t i = 0; i < questions.all.size(); ++i) {
        (is_held_out[i] ? held_out : train).push_back(learned_example(questions, i));
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> lengths, of_held_out;
    for (const Example& e : train) lengths.emplace_back(std::ssize(e.ids), 0);
    const std::int64_t there = std::ssize(held_out);
    const std::int64_t kept = config.eval_batches > there / kQuestionsAtOnce
                                  ? there
                                  : config.eval_batches * kQuestionsAtOnce;
    for (std::int64_t i = 0; i < kept; ++i) {  // spread over all of them
        std::swap(held_out[static_cast<std::size_t>(i)],
                  held_out[static_cast<std::size_t>(i * there / kept)]);
        of_held_out.emplace_back(std::ssize(held_out[static_cast<std::size_t>(i)].ids), 0);
    }
    examples_.emplace(Examples{.config = config,
                               .file = std::move(questions.file),
                               .hash = std::move(questions.hash),
                               .questions = std::move(questions.all),
                               .train = std::move(train),
                               .held_out = std::move(held_out),
                               .buckets = LengthBuckets(std::move(lengths)),
                               .validation = LengthBuckets(std::move(of_held_out)).by_length()});
}

// ---- batches ------------------------------------------------------------------------------------

CountedLoss AnswerTask::loss(const Batch& batch) const {
    return {model_->loss(batch.inputs, batch.targets), static_cast<double>(batch.targets.size(0))};
}

void AnswerTask::check_batch(const Batch& batch) const {
    require(batch.inputs.rank() == 2 && batch.targets.rank() == 2 && batch.targets.size(1) == 2 &&
                batch.inputs.size(0) == batch.targets.size(0),
            "texts {} and answers {}, which are not [B, T] and [B, 2]", batch.inputs.shape(),
            batch.targets.shape());
    require(batch.inputs.size(1) <= config().max_length,
            "{} tokens in a sequence; the model reads {}", batch.inputs.size(1),
            config().max_length);
    for (const std::int64_t id : batch.inputs.to_vector<std::int64_t>()) {
        require(id >= 0 && id < config().vocab, "token {}; the vocabulary has {}", id,
                config().vocab);
    }
    const std::vector<std::int64_t> ends = batch.targets.to_vector<std::int64_t>();
    const std::vector<PassagePlace> places = passage_places(batch.inputs, model_->separator_id());
    for (std::size_t i = 0; i < places.size(); ++i) {
        const PassagePlace& place = places[i];
        const std::int64_t first = ends[2 * i], last = ends[2 * i + 1];
        require(first >= place.first && first <= last && last < place.end,
                "an answer from {} to {} in a passage from {} to {}", first, last, place.first,
                place.end - 1);
    }
}

Batch AnswerTask::batch_from(const std::vector<const Example*>& rows) const {
    std::size_t longest = 1;
    for (const Example* one : rows) longest = std::max(longest, one->ids.size());
    const auto count = std::ssize(rows);
    Ids inputs(rows.size() * longest, model_->padding_id()), targets;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy(rows[i]->ids.begin(), rows[i]->ids.end(),
                  inputs.begin() + static_cast<std::ptrdiff_t>(i * longest));
        targets.push_back(rows[i]->first);
        targets.push_back(rows[i]->last);
    }
    return {tensor(inputs, {count, static_cast<std::int64_t>(longest)}),
            tensor(targets, {count, 2})};
}

Batch AnswerTask::next_batch(Generator& generator) const {
    const TrainingConfig& run = examples().config;
    std::vector<const Example*> rows;
    for (const std::int64_t i : examples().buckets.next(run.order, run.batch, generator)) {
        rows.push_back(&examples().train[static_cast<std::size_t>(i)]);
    }
    return batch_from(rows);
}

std::int64_t AnswerTask::validation_batches() const {
    return (std::ssize(examples().validation) + kQuestionsAtOnce - 1) / kQuestionsAtOnce;
}

Batch AnswerTask::validation_batch(std::int64_t i, Generator&) const {
    const Ids& all = examples().validation;
    std::vector<const Example*> rows;
    const std::int64_t end = std::min<std::int64_t>((i + 1) * kQuestionsAtOnce, std::ssize(all));
    for (std::int64_t k = i * kQuestionsAtOnce; k < end; ++k) {
        const auto place = static_cast<std::size_t>(all[static_cast<std::size_t>(k)]);
        rows.push_back(&examples().held_out[place]);
    }
    return batch_from(rows);
}

Batch AnswerTask::batch_of(std::string_view passage, std::string_view question,
                           std::string_view answer) const {
    Example one = example_of(passage, question);
    const std::size_t at = passage.find(answer);
    require(!answer.empty() && at != passage.npos, "the answer {} is not in the passage",
            utf8::quoted(answer, 40));
    require(passage.find(answer, at + 1) == passage.npos,
            "the answer {} occurs more than once in the passage", utf8::quoted(answer, 40));
    point_at(one, passage, at, answer.size());
    return batch_from({&one});
}

// ---- the directory ------------------------------------------------------------------------------

void AnswerTask::write_description(Commit& commit, const std::string& folder) const {
    tapestry::write_description(commit, folder, model_config(), *tokenizer_);
}

std::vector<std::string> AnswerTask::description_files() const {
    if (tokenizer_->kind() == "bpe") return {kConfigName, "vocab.json", "merges.txt"};
    return {kConfigName, kTokenizerName};
}

}  // namespace tapestry
