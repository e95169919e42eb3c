#include <tapestry/nn/train/task_rows.h>

#include <tapestry/nn/train/answer/answer_task.h>
#include <tapestry/nn/train/chat/chat_task.h>
#include <tapestry/nn/train/classify/classify_task.h>
#include <tapestry/nn/train/image/image_task.h>
#include <tapestry/nn/train/mask/mask_task.h>
#include <tapestry/nn/train/table/table_task.h>
#include <tapestry/nn/train/text_task.h>
#include <tapestry/nn/train/translate/translate_task.h>

#include <utility>

namespace tapestry {
namespace {

std::unique_ptr<Task> begin_text(TrainingConfig& config, TaskStart start, Generator& weights) {
    const auto begin = config.is_chat() ? ChatTask::begin : TextTask::begin;
    return begin(config, std::move(start), weights);
}

}  // namespace

std::vector<TaskRow> own_rows() {
    return {{.name = "text",
             .summary = "a language model predicts each token of a text from those before it",
             .begin = begin_text,
             .load = TextTask::load},
            {.name = "classify",
             .summary = "a classifier predicts the label of a text",
             .begin = ClassifyTask::begin,
             .load = ClassifyTask::load,
             .examples = "a file of texts with labels",
             .unread = {"data", "test_fraction", "sequence", "eval_batches"}},
            {.name = "translate",
             .summary = "an encoder-decoder reads a text and writes another",
             .begin = TranslateTask::begin,
             .load = TranslateTask::load,
             .files = "--pairs",
             .examples = "a file of pairs",
             .unread = {"data", "test_fraction", "sequence"}},
            {.name = "image",
             .summary = "a classifier predicts the class of an image",
             .begin = ImageTask::begin,
             .load = ImageTask::load,
             .files = "--images",
             .examples = "a directory or file of images by class",
             .unread = {"data", "test_fraction", "sequence", "eval_batches"}},
            {.name = "mask",
             .summary = "a model predicts masked tokens of a text from both sides",
             .begin = MaskTask::begin,
             .load = MaskTask::load},
            {.name = "answer",
             .summary = "a model points at the answer to a question in a passage",
             .begin = AnswerTask::begin,
             .load = AnswerTask::load,
             .files = "--questions",
             .examples = "a file of questions with passages and answers",
             .unread = {"data", "test_fraction", "sequence"}},
            {.name = "table",
             .summary = "a network predicts a column of a table from the others",
             .begin = TableTask::begin,
             .load = TableTask::load,
             .files = "--table",
             .examples = "a .csv or .tsv with the names of its columns",
             .unread = {"data", "test_fraction", "sequence", "eval_batches"}}};
}

}  // namespace tapestry
