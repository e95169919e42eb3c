#include <tapestry/nn/train/chat/chat_task.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/train/step_on_text.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tapestry {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kNotLearned = -100;  // cross_entropy's ignore_index

void check_chat_settings(const TrainingConfig& config) {
    require(!config.start.empty(),
            "train: --data {} has conversations, for which a trained model is needed (--model)",
            utf8::printable(config.data));
    require(config.test_fraction == 0,
            "train: --test-fraction is for a text; keep conversations for testing in a file of "
            "their own");
}

// The end that was learned comes first of the ids that end texts, so other programs stop there,
// too; unless the template writes the id that was the first.
void keep_end(const ChatEncoder& encoder, const Tokenizer& tokenizer,
              TextConventions& conventions) {
    const std::int64_t end = encoder.end();
    Ids& eos = conventions.eos;
    if (!conventions.bos && eos.empty()) {  // those that an export writes for unknown ones
        conventions.bos = tokenizer.end_of_text();
        if (conventions.bos) eos.push_back(*conventions.bos);
    }
    const bool stays = !encoder.chat().eos_token.empty() && !eos.empty();
    const std::int64_t first = stays ? eos.front() : end;
    std::erase(eos, end);
    std::erase(eos, first);
    eos.insert(eos.begin(), end);
    if (first != end) eos.insert(eos.begin(), first);
}

// Held out or not, by question.
std::vector<bool> held_out_of(const ChatExamples& from) {
    constexpr std::int64_t kOneOf = 10;
    std::unordered_map<std::string, std::int64_t> numbers;  // of the questions, from 1
    Ids number_of;
    for (const ChatExample& example : from.examples) {
        const auto next = std::ssize(numbers) + 1;
        number_of.push_back(numbers.emplace(question_of(example), next).first->second);
    }
    const std::int64_t last = std::ssize(numbers);
    require(last > 1,
            "{}: one question only, in {}, so none can be held out for validation; add an example "
            "of another question",
            from.file, pluralize(std::ssize(from.examples), "example"));
    std::vector<bool> held_out;
    for (const std::int64_t number : number_of) {
        held_out.push_back(last < kOneOf ? number == last : number % kOneOf == 0);
    }
    return held_out;
}

std::string hash_of(const ChatExamples& from, const ChatTemplate& chat,
                    const Tokenizer& tokenizer) {
    const auto first = tokenizer.begin_of_text();
    Checksum sum;
    for (const std::string& part : {from.hash, chat.program, chat.bos_token, chat.eos_token,
                                    first ? std::to_string(*first) : "", tokenizer.hash()}) {
        sum.add(part);
        sum.add(std::string_view("\n", 1));
    }
    return sum.hex();
}

std::optional<std::string> system_of(const TrainingConfig& config) {
    if (config.chat_system.empty() && !config.chat_system_empty) return std::nullopt;
    return config.chat_system;
}

// The style's name, if a resumed run gets the same program from it; otherwise the program.
std::string name_in_config(const ChatTemplate& chat, const TrainingConfig& config,
                           const LoadedModel& from) {
    std::string name(name_of_program(chat.program));
    if (name.empty()) return chat.program;
    const ChatTemplate same =
        chosen_template(from.conventions, *from.tokenizer, name, system_of(config));
    return same.program == chat.program ? name : chat.program;
}

std::string_view template_name(const ChatTemplate& chat) {
    const std::string_view name = name_of_program(chat.program);
    return name.empty() ? "of the model" : name;
}

ChatData read_chat(const TrainingConfig& config, const ChatTemplate& chat,
                   const Tokenizer& tokenizer) {
    const ChatEncoder encoder(chat, tokenizer);
    const ChatExamples from = read_chat_examples(config.data);
    const std::vector<bool> held_out = held_out_of(from);
    ChatData all{.chat = chat, .train = {}, .held_out = {}};
    for (std::size_t i = 0; i < from.examples.size(); ++i) {
        ChatTokens tokens = encoded(from, from.examples[i], encoder);
        all.cut += cut_to(tokens, config.context() + 1) ? 1 : 0;
        all.tokens += std::ssize(tokens.ids);
        all.longest = std::max<std::int64_t>(all.longest, std::ssize(tokens.ids));
        all.targets += std::count(tokens.is_target.begin(), tokens.is_target.end(), 1);
        (held_out[i] ? all.held_out : all.train).push_back(std::move(tokens));
    }
    all.hash = hash_of(from, chat, tokenizer);
    return all;
}

// All ids, those to learn from first.
TextData data_of(const ChatData& chat, const std::string& name) {
    Ids ids;
    const auto add = [&ids](const std::vector<ChatTokens>& all) {
        for (const ChatTokens& one : all) ids.insert(ids.end(), one.ids.begin(), one.ids.end());
    };
    add(chat.train);
    const double train = static_cast<double>(ids.size()) + 0.5;  // rounded down to the same
    add(chat.held_out);
    return TextData(TokenIds(ids),
                    {.train_fraction = train / static_cast<double>(ids.size()), .name = name});
}

std::vector<std::pair<std::int64_t, std::int64_t>> lengths_of(const std::vector<ChatTokens>& all) {
    std::vector<std::pair<std::int64_t, std::int64_t>> lengths;
    for (const ChatTokens& one : all) lengths.emplace_back(std::ssize(one.ids), 0);
    return lengths;
}

// As many held-out examples as the evaluations take, spread over all of them, the shortest first.
Ids validation_of(const ChatData& chat, const TrainingConfig& config) {
    const std::int64_t there = std::ssize(chat.held_out);
    const std::int64_t kept =
        config.eval_batches > there / config.batch ? there : config.eval_batches * config.batch;
    const Ids by_length = LengthBuckets(lengths_of(chat.held_out)).by_length();
    Ids chosen;
    for (std::int64_t i = 0; i < kept; ++i) {
        chosen.push_back(by_length[static_cast<std::size_t>(i * there / kept)]);
    }
    return chosen;
}

}  // namespace

ChatTemplate chosen_template(const TrainingConfig& config, const TextConventions& conventions,
                             const Tokenizer& tokenizer) {
    return chosen_template(conventions, tokenizer, config.chat_template, system_of(config));
}

Batch batch_of(const std::vector<const ChatTokens*>& rows) {
    std::size_t length = 1;
    for (const ChatTokens* one : rows) length = std::max(length, one->ids.size() - 1);
    Ids inputs(rows.size() * length, 0), targets(rows.size() * length, kNotLearned);
    for (std::size_t b = 0; b < rows.size(); ++b) {
        const ChatTokens& row = *rows[b];
        for (std::size_t t = 0; t + 1 < row.ids.size(); ++t) {
            inputs[b * length + t] = row.ids[t];
            if (row.is_target[t + 1] != 0) targets[b * length + t] = row.ids[t + 1];
        }
    }
    const Shape shape{std::ssize(rows), static_cast<std::int64_t>(length)};
    return {tensor(inputs, shape), tensor(targets, shape)};
}

std::unique_ptr<Task> ChatTask::begin(TrainingConfig& config, TaskStart start, Generator& weights) {
    check_chat_settings(config);
    LoadedModel from = given_start(config, start);
    if (from.model && !start.is_continued) {
        complete(config, from.model.get(), from.tokenizer->vocab_size());
    }
    const std::int64_t most = common_settings(config.model_config()).context;
    require(config.sequence <= most, "train: --context {} is more than the model's context of {}",
            config.sequence, most);
    const ChatTemplate chat = chosen_template(config, from.conventions, *from.tokenizer);
    from.conventions.chat_template = chat.program;
    config.chat_template = name_in_config(chat, config, from);
    keep_end(ChatEncoder(chat, *from.tokenizer), *from.tokenizer, from.conventions);
    ChatData data = read_chat(config, chat, *from.tokenizer);
    TrainingConfig longest = config;
    longest.sequence = std::max<std::int64_t>(1, data.longest - 1);
    check_memory(longest);
    auto model = made_model(config.model_config(), std::move(from.model), weights);
    TextData ids = data_of(data, config.data);
    Corpus corpus{std::move(from.tokenizer), ids.ids(Split::all), data.hash};
    return std::unique_ptr<Task>(new ChatTask(
        Examples{config, std::move(corpus), std::move(ids), std::move(from.conventions)},
        std::move(model), std::move(data)));
}

ChatTask::ChatTask(Examples examples, std::unique_ptr<LanguageModel> model, ChatData chat)
    : TextTask(std::move(examples), std::move(model)),
      chat_(std::move(chat)),
      buckets_(lengths_of(chat_.train)),
      validation_(validation_of(chat_, TextTask::examples().config)) {}

// ---- batches ------------------------------------------------------------------------------------

// Of rows of the mean length.
double ChatTask::step_flops(std::int64_t rows) const {
    TrainingConfig config = examples().config;
    const auto count = std::ssize(chat_.train) + std::ssize(chat_.held_out);
    config.sequence = std::max<std::int64_t>(1, chat_.tokens / count - 1);
    const double all = tapestry::step_flops(config.step_config(), rows);
    return config.lora > 0 ? 2 * all / 3 : all;
}

CountedLoss ChatTask::loss(const Batch& batch) const {
    return {language_model().loss(batch.inputs, batch.targets), count_targets(batch.targets)};
}

void ChatTask::check_batch(const Batch& batch) const {
    require(batch.inputs.shape() == batch.targets.shape(), "inputs {}, but targets {}",
            batch.inputs.shape(), batch.targets.shape());
    check_ids_of_batch({batch.inputs, batch.inputs}, model_config());
    const std::int64_t vocab = common_settings(model_config()).vocab;
    for (const std::int64_t id : batch.targets.to_vector<std::int64_t>()) {
        require(id == kNotLearned || (id >= 0 && id < vocab), "target {}; the vocabulary has {}",
                id, vocab);
    }
    require(count_targets(batch.targets) > 0, "a batch without an answer");
}

Batch ChatTask::next_batch(Generator& generator) const {
    const TrainingConfig& config = examples().config;
    std::vector<const ChatTokens*> rows;
    for (const std::int64_t i : buckets_.next(config.order, config.batch, generator)) {
        rows.push_back(&chat_.train[static_cast<std::size_t>(i)]);
    }
    return batch_of(rows);
}

std::int64_t ChatTask::validation_batches() const {
    const std::int64_t batch = examples().config.batch;
    return (std::ssize(validation_) + batch - 1) / batch;
}

Batch ChatTask::validation_batch(std::int64_t i, Generator&) const {
    const std::int64_t batch = examples().config.batch;
    std::vector<const ChatTokens*> rows;
    const std::int64_t end = std::min<std::int64_t>((i + 1) * batch, std::ssize(validation_));
    for (std::int64_t k = i * batch; k < end; ++k) {
        const auto place = static_cast<std::size_t>(validation_[static_cast<std::size_t>(k)]);
        rows.push_back(&chat_.held_out[place]);
    }
    return batch_of(rows);
}

// ---- what people see ----------------------------------------------------------------------------

std::string ChatTask::data_text() const {
    const auto count = std::ssize(chat_.train) + std::ssize(chat_.held_out);
    return fmt::format(
        "{}: {} (template {}), {} {}s, {} of them in answers; training on {}, validating on {}{}",
        utf8::printable(examples().config.data), pluralize(count, "example"),
        template_name(chat_.chat), chat_.tokens, tokenizer().unit(), chat_.targets,
        std::ssize(chat_.train), std::ssize(chat_.held_out),
        chat_.cut == 0 ? ""
                       : fmt::format("; {} cut to the context of {}",
                                     pluralize(chat_.cut, "example"), examples().config.context()));
}

std::string ChatTask::amounts() const {
    return fmt::format("{} to learn from, {} held out",
                       pluralize(std::ssize(chat_.train), "example"), std::ssize(chat_.held_out));
}

std::string ChatTask::example_text() const {
    constexpr std::size_t kMost = 200, kOfAnswer = 50;  // tokens
    const ChatTokens& first = chat_.train.front();
    const std::vector<std::string> texts = token_texts(tokenizer(), first.ids);
    const auto answer = std::find(first.is_target.begin() + 1, first.is_target.end(), 1);
    const auto at = static_cast<std::size_t>(answer - first.is_target.begin());
    const std::size_t begin = at + kOfAnswer <= kMost ? 0 : at + kOfAnswer - kMost;
    std::string line = begin == 0 ? "" : " ...";
    for (std::size_t i = begin; i < std::min(begin + kMost, texts.size()); ++i) {
        const std::string token = utf8::printable(texts[i]);
        line += first.is_target[i] != 0 ? fmt::format(" [{}]", token) : fmt::format(" {}", token);
    }
    if (begin + kMost < texts.size()) line += " ...";
    if (texts.size() > kMost) line += fmt::format(" ({} tokens)", texts.size());
    return fmt::format("first example, what is learned in brackets:{}\n", line);
}

std::vector<ExpectedLoss> ChatTask::expected_losses() const {
    const std::int64_t vocab = tokenizer().vocab_size();
    return {{"guessing", std::log(static_cast<double>(vocab)),
             fmt::format("Every one of the {} {}s is as likely as any other: ln({}).", vocab,
                         tokenizer().unit(), vocab)}};
}

// The prompt of a held-out example, and the model's answer.
std::string ChatTask::sample(std::int64_t length, Generator& generator) const {
    const ChatTokens& one = chat_.held_out.front();
    const auto answer = std::find(one.is_target.begin() + 1, one.is_target.end(), 1);
    const Ids prompt(one.ids.begin(), one.ids.begin() + (answer - one.is_target.begin()));
    const ChatEncoder encoder(chat_.chat, tokenizer());
    const Ids written = tapestry::sample(language_model(), prompt,
                                         {.tokens = length, .end = encoder.end()}, generator);
    StreamDecoder drawn(tokenizer());
    std::string text;
    for (const std::int64_t id : prompt) text += drawn.next(id);
    for (const std::int64_t id : written) text += drawn.next(id);
    return text + drawn.finish();
}

// The end of the first held-out example.
Ids ChatTask::sentence_ids() const {
    constexpr std::ptrdiff_t kMost = 25;
    const Ids& ids = chat_.held_out.front().ids;
    return {ids.end() - std::min(kMost, std::ssize(ids)), ids.end()};
}

}  // namespace tapestry
