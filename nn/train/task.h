// A task: what a run learns. It has a model, the examples that the model learns from, the loss, and
// the texts in which people see them. Session, checkpoints, resuming, rewinding, several processes
// and the report work on this class; they know neither the model nor the data.
//
// To add a task, write a class of this kind and register it: register_task(), below, in your
// program, or a row in task.cpp (docs/tutorials/6-your-own-task.md). Read next: text_task.h, a
// language model on a text; session.h, which trains a task.
#pragma once

#include <tapestry/nn/data/text.h>
#include <tapestry/nn/data/tokenizer.h>
#include <tapestry/nn/inspect/sentence_probe.h>
#include <tapestry/nn/io/commit.h>
#include <tapestry/nn/models/model_registry.h>
#include <tapestry/nn/module/module.h>
#include <tapestry/nn/pages/page.h>
#include <tapestry/nn/pages/report.h>
#include <tapestry/nn/train/counted_loss.h>
#include <tapestry/nn/train/training_config.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

struct TextCache;

/// The task of a run, see above. A task loaded from a model's directory has no examples: only
/// those functions may be called that do not need any.
class Task {
public:
    Task() = default;
    virtual ~Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    // ---- the model and its loss

    /// The model that is trained.
    virtual Module& model() = 0;
    /// The model that is trained.
    const Module& model() const { return const_cast<Task*>(this)->model(); }
    /// Its configuration, with the sizes that follow from the examples.
    virtual ModelConfig model_config() const = 0;
    /// Sets the type that the model computes in from now on; its parameters stay as they are.
    virtual void compute_in(ComputeType type) = 0;
    /// Floating-point operations of the matrix products of a step on this many rows.
    virtual double step_flops(std::int64_t rows) const {
        return tapestry::step_flops(model_config(), rows);
    }
    /// The loss of a batch, with the number of its targets if that differs between batches.
    virtual CountedLoss loss(const Batch& batch) const = 0;
    /// Whether batches hold f64 numbers instead of i64 ids.
    virtual bool has_real_batches() const { return false; }
    /// Throws ValueError for a batch, read from a file, that does not fit the model.
    virtual void check_batch(const Batch& batch) const = 0;

    // ---- the examples

    /// Hash of the examples and of what turns them into ids: a resumed run needs the same.
    virtual const std::string& data_hash() const = 0;
    /// The next batch to learn from; rows of inputs and targets belong together. Only the
    /// generator's state decides which.
    virtual Batch next_batch(Generator& generator) const = 0;
    /// Number of batches of held-out examples in an evaluation.
    virtual std::int64_t validation_batches() const = 0;
    /// Batch i of them, counted from 0. Called in order; it may draw from the generator.
    virtual Batch validation_batch(std::int64_t i, Generator& generator) const = 0;
    /// After an evaluation in a run and after its last step, in evaluation mode: fits on held-out
    /// examples what is in the model's buffers and no step reads, such as a temperature.
    virtual void calibrate() {}

    // ---- the directory

    /// Writes everything but the weights into a folder of the directory ("" for none).
    virtual void write_description(Commit& commit, const std::string& folder) const = 0;
    /// Names of the files that it writes.
    virtual std::vector<std::string> description_files() const = 0;

    // ---- what people see

    /// The tokens of a batch's input, in one of its rows.
    virtual std::vector<std::string> texts(const Batch& batch, std::int64_t row) const = 0;
    /// The same for a page, by the attention modules that read them.
    virtual std::vector<PageText> page_texts(const Batch& batch, std::int64_t row) const {
        return {{.queries = texts(batch, row)}};
    }
    /// For a page: the image that the model sees in one of its rows, if it sees images.
    virtual std::optional<PageImage> page_image(const Batch& /*batch*/,
                                                std::int64_t /*row*/) const {
        return std::nullopt;
    }
    /// A batch of one row from a text and, if the task needs one, a target: step_on_text() takes a
    /// registered task's step on it. Throws ValueError for what the model cannot read, and unless
    /// overridden.
    virtual Batch batch_of_prompt(const std::string& prompt,
                                  const std::optional<std::string>& target) const;
    /// The name of a predicted class.
    virtual std::string name_of(std::int64_t id) const = 0;
    /// One line about the examples: "input.txt: 1000 characters, ...".
    virtual std::string data_text() const = 0;
    /// "900 characters to learn from, 100 held out"
    virtual std::string amounts() const = 0;
    /// For people, before the first step: an example with what is learned of it; empty for a task
    /// whose examples need no such check.
    virtual std::string example_text() const { return {}; }
    /// The model's size: "4 layers, 4 heads, dim 128, context 64".
    virtual std::string shape_text() const = 0;
    /// Unit of the run's speed, "tokens": config.tokens_per_step() of them in a step.
    virtual std::string unit() const { return "tokens"; }
    /// One prediction: "token", "character", "label".
    virtual std::string_view symbol() const { return "token"; }
    /// The subcommand that uses a trained model: "sample".
    virtual std::string_view use() const { return "sample"; }
    /// Losses to compare the model's with: of guessing, of counting.
    virtual std::vector<ExpectedLoss> expected_losses() const = 0;
    /// For people, after the last step: a line about the trained model; empty for none.
    virtual std::string closing_text() const { return {}; }
    /// The model's work now as a text of about `length` tokens. The model is in
    /// evaluation mode.
    virtual std::string sample(std::int64_t length, Generator& generator) const = 0;
    /// The tokens of the sequence that a report watches; empty if there is none.
    virtual std::vector<std::string> sentence() const { return {}; }
    /// The model's view of it, in evaluation mode.
    virtual SentenceProbe look() const { return {}; }
};

// ---- the table of tasks -------------------------------------------------------------------------

/// Where a task begins.
struct TaskStart {
    /// A run's directory, whose vocabulary is used; empty: that of config.start, or the data's own.
    std::filesystem::path directory = {};
    std::unique_ptr<Tokenizer> tokenizer = {};  ///< for a text: instead of the directory's
    const TextCache* cache = nullptr;           ///< of tokenized texts
    bool is_continued = false;  ///< the configuration is a run's, complete; its weights follow
};

/// A kind of task.
struct TaskRow {
    const char* name;     ///< in configurations and on the command line: "text"
    const char* summary;  ///< for help
    /// Reads the examples, completes `config` by what they decide, and makes the model, with
    /// weights from the generator or those of config.start. A custom model's configuration has
    /// passed check_bounds().
    std::unique_ptr<Task> (*begin)(TrainingConfig& config, TaskStart start, Generator& weights);
    /// From a model's directory, without examples, in evaluation mode.
    std::unique_ptr<Task> (*load)(const std::filesystem::path& directory);
    const char* files = "--text";     ///< the option of `train` and `eval` that names its examples
    const char* examples = "a text";  ///< what that names
    /// Fields of TrainingConfig that it does not read: giving one is an error.
    std::vector<std::string_view> unread = {};
};

/// All kinds. The first is the default; registered ones are the last.
const std::vector<TaskRow>& task_rows();

/// Adds a custom task and the kind of its model, whose configuration is a CustomConfig of the
/// same name (nn/models/custom_config.h); the strings are not copied. Call it before any run begins
/// or is resumed, in every program that opens the task's directories. References to other rows are
/// invalid afterwards. Throws ValueError for a name that is empty, taken or not of printable
/// characters in UTF-8, and for a row without `begin` or `load`.
void register_task(const TaskRow& row);

/// The row of this name. Throws ValueError, with the names that there are, if there is none.
const TaskRow& task_row(std::string_view name);

/// Throws ValueError, naming the option, for a field of TrainingConfig among `given` that the task
/// does not read.
void check_task_options_given(std::string_view task, const std::vector<std::string>& given);

/// The same, and for a field among `given` that has no effect in this configuration: LoRA's,
/// conversations' or a schedule's without these, and a lowest rate above the highest.
void check_settings_given(const TrainingConfig& config, const std::vector<std::string>& given);

/// For help: each task in a line.
std::string tasks_text();

/// Gives a model the parameters of another of the same configuration.
void copy_parameters(const Module& from, Module& to);

/// Throws ValueError for frozen_weights of a type that they cannot have, without LoRA, or with
/// activations in bf16.
void check_frozen_weights(const TrainingConfig& config);

/// Throws ValueError for a configuration whose steps need more memory than there is
/// (nn/models/model_registry.h). A row's `begin` calls it before it makes the model.
void check_memory(const TrainingConfig& config);

/// The task of a configuration, begun. Throws ValueError for a model of another task, and as its
/// row does.
std::unique_ptr<Task> begin_task(TrainingConfig& config, TaskStart start, Generator& weights);

/// The task of the model in a directory. Throws IoError.
std::unique_ptr<Task> load_task(const std::filesystem::path& directory);

/// The task of a trained model on a file of examples, in training mode: batches are drawn from it
/// as in a run, `batch` rows each. Throws as load_task and the row's `begin` do.
std::unique_ptr<Task> task_on_examples(const std::filesystem::path& directory,
                                       const std::string& file, std::int64_t batch);

/// Writes the model's directory in one Commit. Throws IoError; BusyError if a run is using it.
void save_task(const std::filesystem::path& directory, const Task& task);

/// Of the configuration of a model to begin with, a run sets the types of numbers, which are not
/// the saved model's, and the dropout, if one was given.
template <class Config, class Wanted>
void keep_run_settings(Config& model, const Wanted& wanted, const TrainingConfig& run) {
    model.compute = wanted.compute;
    model.weights = wanted.weights;
    model.dropout = run.start_dropout.value_or(model.dropout);
}

}  // namespace tapestry
