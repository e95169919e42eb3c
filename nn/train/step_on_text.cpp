#include <tapestry/nn/train/step_on_text.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/fixed_text.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/nn/train/answer/answer_task.h>
#include <tapestry/nn/train/classify/classify_task.h>
#include <tapestry/nn/train/image/image_task.h>
#include <tapestry/nn/train/mask/mask_task.h>
#include <tapestry/nn/train/recipe.h>
#include <tapestry/nn/train/table/table_task.h>

#include <fmt/core.h>

#include <algorithm>

namespace tapestry {
namespace {

using Ids = std::vector<std::int64_t>;

Tensor row_of(const Ids& ids) { return tensor(ids, {1, std::ssize(ids)}); }

// ---- a language model continues the prompt ------------------------------------------------------

Ids prompt_ids(const std::string& prompt, const Tokenizer& tokenizer, std::int64_t context) {
    Ids ids = tokenizer.encode(prompt, "prompt");
    tokenizer.begin_text(ids);
    require(ids.size() >= 2,
            "inspect: the prompt has {}; it needs at least 2, to predict each from those before it",
            pluralize(std::ssize(ids), tokenizer.unit()));
    require(std::ssize(ids) <= context + 1,
            "inspect: the prompt has {} {}s; the model looks at {} and predicts one more, so at "
            "most {} are allowed",
            ids.size(), tokenizer.unit(), context, context + 1);
    return ids;
}

StepOnText step_of_language_model(const std::string& directory, const std::string& prompt,
                                  bool has_target) {
    LoadedModel loaded = load_model(directory);
    const ModelConfig config = loaded.model->model_config();
    require(!has_target,
            "inspect: {} is {}, which continues the prompt; --target is for an encoder-decoder",
            shown(directory), row_of(config).phrase);
    const Tokenizer& tokenizer = require_tokenizer(loaded, directory);
    const Ids ids = prompt_ids(prompt, tokenizer, common_settings(config).context);
    const auto count = std::ssize(ids) - 1;
    const Tensor all = row_of(ids);
    const Tensor inputs = views::slice(all, 1, 0, count);
    const Tensor targets = views::slice(all, 1, 1, count + 1);
    const std::span<const std::int64_t> read(ids.data(), ids.size() - 1);
    std::vector<std::string> texts = token_texts(tokenizer, read);
    const std::shared_ptr<LanguageModel> model = std::move(loaded.model);
    const std::shared_ptr<const Tokenizer> names = std::move(loaded.tokenizer);
    return {.directory = directory,
            .prompt = prompt,
            .model = model,
            .loss = [model, inputs, targets] { return model->loss(inputs, targets); },
            .products = product_dtype(config),
            .predicted =
                fmt::format("{} {}s predicted, each from those before it", count, names->unit()),
            .texts = {{.queries = std::move(texts)}},
            .name_of =
                [names](std::int64_t id) {
                    return token_texts(*names, {&id, 1}).front();
                }};
}

// ---- an encoder-decoder reads the prompt and writes the target ----------------------------------

Ids ids_of(const LoadedTransformer& loaded, const std::string& text, const char* what,
           std::int64_t marks) {
    const Ids ids = loaded.vocabulary.encode(text, what);
    require(!ids.empty(), "inspect: the {} has no {}s", what, loaded.vocabulary.unit());
    const TransformerConfig& config = loaded.model->config();
    const std::int64_t most = config.max_length - marks;
    require(config.positions != Positions::learned || std::ssize(ids) <= most,
            "inspect: the {} has {} {}s; the model has positions for {}", what, ids.size(),
            loaded.vocabulary.unit(), most);
    return ids;
}

StepOnText step_of_transformer(const std::string& directory, const std::string& prompt,
                               const std::string& text) {
    LoadedTransformer loaded = load_transformer(directory);
    const MarkedVocabulary& vocabulary = loaded.vocabulary;
    const Ids source = ids_of(loaded, prompt, "prompt", 0);
    Ids target = ids_of(loaded, text, "target", 1), next = target;
    std::vector<std::string> read, written{"[begin]"};
    for (const std::int64_t id : source) read.push_back(vocabulary.text_of(id));
    for (const std::int64_t id : target) written.push_back(vocabulary.text_of(id));
    target.insert(target.begin(), vocabulary.begin);
    next.push_back(vocabulary.end);
    const Tensor from = row_of(source), to = row_of(target), after = row_of(next);
    const std::shared_ptr<Transformer> model = std::move(loaded.model);
    return {
        .directory = directory,
        .prompt = {},
        .model = model,
        .loss = [model, from, to, after] { return model->loss(from, to, after); },
        .predicted = fmt::format("{} {}s read, {} and the end predicted, each from those before it",
                                 source.size(), vocabulary.unit(), target.size() - 1),
        .texts = texts_of_both(read, written),
        .name_of = [marked = vocabulary](std::int64_t id) { return marked.name_of(id); }};
}

// ---- a classifier reads the prompt and answers with a label -------------------------------------

StepOnText step_of_classifier(const std::string& directory, const std::string& prompt,
                              const std::string& label) {
    const std::shared_ptr<ClassifyTask> task = load_classify_task(directory);
    const Batch batch = task->batch_of(prompt, label);
    const auto config = std::get<BagConfig>(task->model_config());
    std::vector<std::string> read = task->texts(batch, 0);
    if (config.layers > 0) {  // the task has no texts to find these words in
        const auto words = feature_words(prompt, config);
        std::copy(words.begin(), words.end(), read.begin());
    }
    return {.directory = directory,
            .prompt = {},
            .model = {task, &task->model()},
            .loss = [task, batch] { return task->loss(batch).mean; },
            .products = product_dtype(config),
            .predicted = fmt::format(
                "{} predicted, from {} {}", config.several_labels ? "labels" : "one label",
                batch.inputs.size(1), config.layers > 0 ? "words" : "features"),
            .texts = {{.queries = read}},
            .name_of = [task](std::int64_t id) { return task->name_of(id); }};
}

// ---- a model of masked tokens reads the prompt and predicts what the target has there -----------

StepOnText step_of_masked(const std::string& directory, const std::string& prompt,
                          const std::string& target) {
    const std::shared_ptr<MaskTask> task = load_mask_task(directory);
    const Batch batch = task->batch_of(prompt, target);
    return {.directory = directory,
            .prompt = {},
            .model = {task, &task->model()},
            .loss = [task, batch] { return task->loss(batch).mean; },
            .products = product_dtype(task->model_config()),
            .predicted = fmt::format("{} masked {}s predicted, from all others",
                                     count_targets(batch.targets), task->symbol()),
            .texts = {{.queries = task->texts(batch, 0)}},
            .name_of = [task](std::int64_t id) { return task->name_of(id); }};
}

// ---- an image classifier sees the file that the prompt names ------------------------------------

StepOnText step_of_image_classifier(const std::string& directory, const std::string& file,
                                    const std::string& label) {
    const std::shared_ptr<ImageTask> task = load_image_task(directory);
    const ImageSet images = task->read(file);
    require(images.count() == 1, "inspect: {} has {} images; --prompt names a file with one",
            shown(file), images.count());
    const Batch batch = task->batch_of(images, label);
    const std::vector<PageText> texts = task->page_texts(batch, 0);
    return {.directory = directory,
            .prompt = {},
            .model = {task, &task->model()},
            .loss = [task, batch] { return task->loss(batch).mean; },
            .products = product_dtype(task->model_config()),
            .predicted = fmt::format("one class predicted, from {} patches",
                                     texts.front().queries.size() - 1),
            .texts = texts,
            .name_of = [task](std::int64_t id) { return task->name_of(id); },
            .image = task->page_image(batch, 0)};
}

// ---- a model that points at answers reads a passage and a question ------------------------------

StepOnText step_of_span_reader(const std::string& directory, const std::string& prompt,
                               const std::string& answer) {
    const std::size_t cut = prompt.find_last_of("\t\n");
    require(cut != prompt.npos,
            "inspect: {} answers questions; --prompt is the passage and, after a tab or in the "
            "last line, the question",
            shown(directory));
    const std::shared_ptr<AnswerTask> task = load_answer_task(directory);
    const Batch batch = task->batch_of(prompt.substr(0, cut), prompt.substr(cut + 1), answer);
    const std::vector<std::string> tokens = task->texts(batch, 0);
    return {
        .directory = directory,
        .prompt = {},
        .model = {task, &task->model()},
        .loss = [task, batch] { return task->loss(batch).mean; },
        .products = product_dtype(task->model_config()),
        .predicted = fmt::format("an answer's two ends predicted, among {} tokens", tokens.size()),
        .texts = {{.queries = tokens}},
        .name_of = [task](std::int64_t id) { return task->name_of(id); }};
}

// ---- a network for tables reads the row that the prompt names -----------------------------------

StepOnText step_of_table(const std::string& directory, const std::string& file) {
    const std::shared_ptr<TableTask> task = load_table_task(directory);
    const Table table = task->read(file, true);
    require(table.rows() == 1,
            "inspect: {} has {} rows; --prompt names a table with one, its target included",
            shown(file), table.rows());
    const Batch batch = task->batch_of(table);
    return {.directory = directory,
            .prompt = {},
            .model = {task, &task->model()},
            .loss = [task, batch] { return task->loss(batch).mean; },
            .products = product_dtype(task->model_config()),
            .predicted = fmt::format("one {} predicted, from {} columns", task->symbol(),
                                     task->texts(batch, 0).size()),
            .texts = {{.queries = task->texts(batch, 0)}},
            .name_of = [task](std::int64_t id) { return task->name_of(id); }};
}

// ---- a task of your own makes a batch of the prompt ---------------------------------------------

StepOnText step_of_task(const std::string& directory, const std::string& prompt,
                        const std::optional<std::string>& target) {
    const std::shared_ptr<Task> task = load_task(directory);
    const Batch batch = task->batch_of_prompt(prompt, target);
    return {.directory = directory,
            .prompt = {},
            .model = {task, &task->model()},
            .loss = [task, batch] { return task->loss(batch).mean; },
            .products = product_dtype(task->model_config()),
            .predicted = fmt::format("predicting each {}", task->symbol()),
            .texts = task->page_texts(batch, 0),
            .name_of = [task](std::int64_t id) { return task->name_of(id); },
            .image = task->page_image(batch, 0)};
}

}  // namespace

std::vector<std::string> token_texts(const Tokenizer& tokenizer,
                                     std::span<const std::int64_t> ids) {
    std::vector<std::string> texts;
    for (const std::int64_t& id : ids) {
        // A model's table may be padded with rows that no token has.
        const bool is_token = id >= 0 && id < tokenizer.vocab_size();
        texts.push_back(is_token ? tokenizer.decode(std::span(&id, 1)) : fmt::format("[{}]", id));
    }
    return texts;
}

PageOptions StepOnText::page(double loss_of_it) const {
    return {.title = fmt::format("One step of {}", last_name(directory)),
            .subtitle = fmt::format("{}, {} parameters; {}; loss {}", model->settings(),
                                    model->parameter_count(), predicted, fixed_text(loss_of_it)),
            .texts = texts,
            .name_of = name_of,
            .image = image,
            .prompt = prompt,
            .model_directory = prompt.empty() ? std::string{} : directory};
}

StepOnText step_on_text(const std::string& directory, const std::string& prompt,
                        const std::optional<std::string>& target) {
    const ModelKind kind = model_kind(directory);
    if (kind == ModelKind::language_model) {
        return step_of_language_model(directory, prompt, target.has_value());
    }
    if (kind == ModelKind::custom) return step_of_task(directory, prompt, target);
    if (kind == ModelKind::classifier) {
        require(target.has_value(), "inspect: {} is a classifier; it needs --target, the label",
                shown(directory));
        return step_of_classifier(directory, prompt, *target);
    }
    if (kind == ModelKind::masked) {
        require(target.has_value(),
                "inspect: {} predicts masked tokens; it needs --target, the text without [MASK]",
                shown(directory));
        return step_of_masked(directory, prompt, *target);
    }
    if (kind == ModelKind::image_classifier) {
        require(target.has_value(),
                "inspect: {} is an image classifier; it needs --target, the class",
                shown(directory));
        return step_of_image_classifier(directory, prompt, *target);
    }
    if (kind == ModelKind::span_reader) {
        require(target.has_value(), "inspect: {} answers questions; it needs --target, the answer",
                shown(directory));
        return step_of_span_reader(directory, prompt, *target);
    }
    if (kind == ModelKind::table) {
        require(!target.has_value(),
                "inspect: {} is a network for tables; the table that --prompt names has the "
                "target; leave out --target",
                shown(directory));
        return step_of_table(directory, prompt);
    }
    require(target.has_value(),
            "inspect: {} is an encoder-decoder; it needs --target, the text to write",
            shown(directory));
    return step_of_transformer(directory, prompt, *target);
}

}  // namespace tapestry
