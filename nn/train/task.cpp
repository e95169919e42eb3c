#include <tapestry/nn/train/task.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/io/custom_directory.h>
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/nn/train/task_rows.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tapestry {

namespace {

std::vector<TaskRow>& all_rows() {
    static std::vector<TaskRow> rows = own_rows();
    return rows;
}

}  // namespace

const std::vector<TaskRow>& task_rows() { return all_rows(); }

void register_task(const TaskRow& row) {
    require(row.name != nullptr && row.summary != nullptr && row.begin != nullptr &&
                row.load != nullptr,
            "register_task: a task needs a name, a summary, begin and load");
    require(!utf8::find_flaw(row.name) && utf8::printable(row.name) == row.name,
            "register_task: the name {} has characters that cannot be printed",
            utf8::quoted(row.name, 40));
    const std::vector<std::string> names = task_names();
    require(std::find(names.begin(), names.end(), row.name) == names.end(),
            "register_task: the name {} is taken", utf8::quoted(row.name, 40));
    register_custom_model(row.name);
    all_rows().push_back(row);
}

Batch Task::batch_of_prompt(const std::string& /*prompt*/,
                            const std::optional<std::string>& /*target*/) const {
    fail("the task of {} takes no step on a prompt: it has no batch_of_prompt",
         row_of(model_config()).phrase);
}

std::vector<std::string> task_names() {
    std::vector<std::string> names;
    for (const TaskRow& row : task_rows()) names.emplace_back(row.name);
    return names;
}

void check_task_options_given(std::string_view task, const std::vector<std::string>& given) {
    const TaskRow& row = task_row(task);
    for (const FieldInfo& one : kFields<TrainingConfig>) {
        const auto is_in = [&](const auto& names) {
            return std::find(names.begin(), names.end(), one.name) != names.end();
        };
        require(!is_in(given) || !is_in(row.unread),
                "train: --task {} does not read {}; its examples are those of {}, {}", task,
                option_name(one), row.files, row.examples);
    }
}

namespace {

void check_lora_given(const TrainingConfig& config, const std::vector<std::string>& given) {
    if (config.lora > 0) return;
    for (const std::string& name : given) {
        require(!name.starts_with("lora_"), "train: {} is a setting of LoRA, which --lora turns on",
                name);
    }
}

void check_chat_given(const TrainingConfig& config, const std::vector<std::string>& given) {
    if (config.is_chat()) return;
    for (const std::string& name : given) {
        require(!name.starts_with("chat_"),
                "train: {} is a setting of conversations, which --data FILE.jsonl names", name);
    }
}

void check_rate_given(const TrainingConfig& config, const std::vector<std::string>& given) {
    for (const std::string& name : given) {
        require(name != "min_lr" || config.min_lr <= config.lr,
                "train: --min-lr must be at most --lr {}, got {}", config.lr, config.min_lr);
        require(name != "cooldown" || config.schedule == RateCurve::trapezoid,
                "train: --cooldown {} is for --schedule trapezoid", config.cooldown);
    }
}

}  // namespace

void check_settings_given(const TrainingConfig& config, const std::vector<std::string>& given) {
    check_task_options_given(config.task, given);
    check_lora_given(config, given);
    check_chat_given(config, given);
    check_rate_given(config, given);
}

std::string tasks_text() {
    std::string text;
    for (const TaskRow& row : task_rows()) {
        text += fmt::format("  {:<9} {}\n", row.name, row.summary);
    }
    return text;
}

const TaskRow& task_row(std::string_view name) {
    const auto& rows = task_rows();
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const TaskRow& row) { return row.name == name; });
    require(found != rows.end(), "unknown task {}; must be one of {}", name,
            fmt::join(task_names(), ", "));
    return *found;
}

void copy_parameters(const Module& from, Module& to) {
    const NamedTensors values = saved_tensors(from), places = saved_tensors(to);
    for (std::size_t i = 0; i < places.size(); ++i) {
        Tensor(places[i].second).copy_(values[i].second);
    }
}

void check_frozen_weights(const TrainingConfig& config) {
    if (config.frozen_weights == WeightType::f32) return;
    require(config.frozen_weights == WeightType::int8,
            "train: bf16 weights, frozen or not, are the model's (--weights bf16)");
    require(config.lora > 0,
            "train: --weights int8 is for the weights that --lora freezes: a step changes a weight "
            "by less than the distance between two int8 numbers, so rounding would undo it");
    require(common_settings(config.model_config()).compute == ComputeType::f32,
            "train: --weights int8 computes in f32; leave out --compute bf16");
}

void check_memory(const TrainingConfig& config) {
    if (config.lora > 0) {  // its gradients and moments are small
        return check_memory(config.step_config(), config.micro_batch_size(), 0, 0);
    }
    const auto moments = optimizer_row(config.optimizer).moments(optimizer_options(config));
    check_memory(config.step_config(), config.micro_batch_size(),
                 GradientSum::gradient_sets(config.leaves_per_step(), config.micro_batches),
                 std::ssize(moments));
}

std::unique_ptr<Task> begin_task(TrainingConfig& config, TaskStart start, Generator& weights) {
    const TaskRow& row = task_row(config.task);
    const ModelRow& kind = row_of(config.model_config());
    require(kind.task == config.task, "training: the task is {}, but {} is for {}", config.task,
            kind.phrase, kind.task);
    const ModelConfig model = config.model_config();
    if (const auto* const custom = std::get_if<CustomConfig>(&model)) check_bounds(*custom);
    auto task = row.begin(config, std::move(start), weights);
    require(task != nullptr, "training: `begin` of the task {} returned null", row.name);
    return task;
}

std::unique_ptr<Task> load_task(const std::filesystem::path& directory) {
    const TaskRow& row = task_row(task_of_model(directory));
    auto task = row.load(directory);
    require(task != nullptr, "{}: `load` of the task {} returned null", shown(directory), row.name);
    return task;
}

std::unique_ptr<Task> task_on_examples(const std::filesystem::path& directory,
                                       const std::string& file, std::int64_t batch) {
    const ModelConfig model = load_task(directory)->model_config();
    TrainingConfig config;
    config.task = row_of(model).task;
    config.text = file;
    config.start = directory.string();
    config.batch = batch;
    config.set_model(model);
    auto task = begin_task(config, {}, default_generator());  // dropout keeps a reference to it
    task->model().train();
    return task;
}

void save_task(const std::filesystem::path& directory, const Task& task) {
    check_holds_no_data(directory);
    make_directories(directory);
    const DirectoryLock lock(directory);
    Commit commit(directory);
    commit.remove_model();
    task.write_description(commit, "");
    write_weights(commit, "", task.model_config(),
                  merged_weights(task.model(), saved_tensors(task.model())));
    commit.finish();
}

}  // namespace tapestry
