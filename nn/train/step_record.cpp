#include <tapestry/nn/train/step_record.h>

#include <tapestry/core/create.h>
#include <tapestry/core/file.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/train/replay.h>
#include <tapestry/nn/train/text_task.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/ops/optimizer_step.h>

#include <cmath>
#include <span>
#include <system_error>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kStepFormat = 1;
constexpr std::uint64_t kMaxStep = std::uint64_t{1} << 28;  // bytes; its batches are only token ids

template <class T>
void write_rows_of(JsonWriter& json, const Tensor& x) {
    const auto all = x.to_vector<T>();
    const auto length = static_cast<std::size_t>(x.size(x.rank() - 1));
    json.array([&] {
        for (std::size_t at = 0; at < all.size(); at += length) {
            json.value(std::span(all).subspan(at, length));
        }
    });
}

void write_rows(JsonWriter& json, const Tensor& x) {
    x.dtype() == DType::f64 ? write_rows_of<double>(json, x) : write_rows_of<std::int64_t>(json, x);
}

void write(JsonWriter& json, const RecordedBatch& b) {
    json.object([&] {
        const Tensor &inputs = b.batch.inputs, &targets = b.batch.targets;
        require(inputs.rank() == 2 || inputs.rank() == 3,
                "a recorded step has inputs of 2 or 3 axes, got {}", inputs.shape());
        require(targets.rank() == 2, "a recorded step has targets of 2 axes, got {}",
                targets.shape());
        json.member("inputs", [&] { write_rows(json, inputs); });
        if (inputs.rank() == 3) json.member("rows", inputs.size(0));  // [B, W, F], in B W lines
        json.member("targets", [&] { write_rows(json, targets); });
        json.member("seed", b.seed);
        json.member("offset", b.offset);
    });
}

// What a batch in a file must be.
struct CheckBatch {
    std::function<void(const Batch&)> check;
    bool has_real_numbers = false;  // else ids
};

// [B, T]
template <class T>
Tensor rows_from(const JsonNode& json) {
    std::vector<std::vector<T>> rows;
    for (const JsonNode& row : json.elements()) rows.push_back(row.get<std::vector<T>>());
    require(!rows.empty() && !rows[0].empty(), "a batch without tokens");
    std::vector<T> all;
    for (const auto& row : rows) {
        require(row.size() == rows[0].size(), "sequences of {} and {} tokens in a batch",
                rows[0].size(), row.size());
        all.insert(all.end(), row.begin(), row.end());
    }
    const auto length = static_cast<std::int64_t>(rows[0].size());
    return tensor(all, {static_cast<std::int64_t>(rows.size()), length});
}

RecordedBatch batch_from(const JsonNode& json, const CheckBatch& check) {
    const auto rows = check.has_real_numbers ? rows_from<double> : rows_from<std::int64_t>;
    Tensor inputs = rows(json.at("inputs"));
    if (json.find("rows")) {
        const std::int64_t batch = json.count("rows"), lines = inputs.size(0);
        require(batch >= 1 && lines % batch == 0, "{} lines of inputs, which are not {} rows",
                lines, batch);
        inputs = views::reshape(inputs, {batch, lines / batch, inputs.size(1)});
    }
    RecordedBatch b{.batch = {inputs, rows(json.at("targets"))},
                    .seed = json.get<std::uint64_t>("seed"),
                    .offset = json.get<std::uint64_t>("offset")};
    check.check(b.batch);
    return b;
}

void read_type(const JsonNode& json, const char* field, ComputeType& type) {
    if (!json.find(field)) return;
    const auto name = json.get<std::string>(field);
    for (const auto& entry : NamesOf<ComputeType>::list) {
        if (entry.second != name) continue;
        type = entry.first;
        return;
    }
    fail("{} must be f32 or bf16, got {}", field, name);
}

RecordedStep step_from(const JsonNode& json, const CheckBatch& check) {
    RecordedStep step{.step = json.count("step"),
                      .updated = json.get<bool>("updated"),
                      .began_finite = json.get<bool>("began_finite")};
    for (const JsonNode& batch : json.at("batches").elements()) {
        step.batches.push_back(batch_from(batch, check));
    }
    require(!step.batches.empty(), "no batches");
    step.micro_batches = json.find("micro_batches") ? json.count("micro_batches") : 1;
    read_type(json, "compute", step.compute);
    read_type(json, "weights", step.weights);
    const auto count = static_cast<std::int64_t>(step.batches.size());
    require(step.micro_batches >= 1 && count % step.micro_batches == 0,
            "{} micro-batches, which are not {} of each batch", count, step.micro_batches);
    return step;
}

}  // namespace

std::string name_of_batch(const RecordedStep& step, std::size_t i) {
    return fmt::format("{} {} of {}", step.micro_batches > 1 ? "micro-batch" : "batch", i + 1,
                       step.batches.size());
}

void write_step(const fs::path& directory, const RecordedStep& step,
                const RecordedOutcome& outcome) {
    JsonWriter json;
    json.object([&] {
        json.member("format", kStepFormat);
        json.member("step", step.step);
        json.member("updated", step.updated);
        json.member("began_finite", step.began_finite);
        json.member("finding", outcome.finding);
        json.member("loss_bits", outcome.loss_bits);
        json.member("built", outcome.built);
        json.member("micro_batches", step.micro_batches);
        json.member("compute", name_of_value(step.compute));
        json.member("weights", name_of_value(step.weights));
        json.list("batches", step.batches, [&](const RecordedBatch& b) { write(json, b); });
    });
    write_file_atomically(directory / kStepName, json.text() + "\n");
}

namespace {

void check_step_format(const JsonNode& json) {
    if (!json.find("format")) return;
    const auto format = json.get<std::int64_t>("format");
    require(format == kStepFormat, "it is of format {}; this Tapestry reads format {}", format,
            kStepFormat);
}

RecordedStep read_checked(const fs::path& directory, const CheckBatch& check,
                          RecordedOutcome& outcome) {
    const fs::path path = directory / kStepName;
    try {
        const JsonTree tree(read_file(path, kMaxStep));
        const JsonNode json = tree.root();
        check_step_format(json);
        outcome = {json.get<std::string>("finding"), json.get<std::uint64_t>("loss_bits"),
                   json.get<std::string>("built")};
        return step_from(json, check);
    } catch (const JsonError& error) {
        fail<IoError>("{}: not a recorded step: {}", path.string(), error.what());
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", path.string(), error.what());
    }
}

}  // namespace

RecordedStep read_step(const fs::path& directory, const ModelConfig& config,
                       RecordedOutcome& outcome) {
    const CheckBatch check{[&](const Batch& batch) { check_ids_of_batch(batch, config); }};
    return read_checked(directory, check, outcome);
}

RecordedStep read_step(const fs::path& directory, const Task& task, RecordedOutcome& outcome) {
    const CheckBatch check{[&](const Batch& batch) { task.check_batch(batch); },
                           task.has_real_batches()};
    return read_checked(directory, check, outcome);
}

// ---- the trap -----------------------------------------------------------------------------------

Trap::Trap(std::shared_ptr<Task> task, Generator& dropout, fs::path directory,
           std::int64_t micro_batches, std::int64_t steps)
    : task_(std::move(task)), dropout_(dropout), directory_(std::move(directory)) {
    step_.step = steps + 1;
    step_.micro_batches = micro_batches;
    const CommonSettings config = common_settings(task_->model_config());
    step_.compute = config.compute;
    step_.weights = config.weights;
    step_.began_finite = std::isfinite(sum_of_squares(task_->model().parameters()));
}

Trap::Trap(Task& task, Generator& dropout, fs::path directory, std::int64_t micro_batches,
           std::int64_t steps)
    : Trap(std::shared_ptr<Task>(std::shared_ptr<void>(), &task), dropout, std::move(directory),
           micro_batches, steps) {}

Trap::Trap(LanguageModel& model, Generator& dropout, const Tokenizer& tokenizer, fs::path directory,
           std::int64_t micro_batches, std::int64_t steps)
    : Trap(std::make_shared<TextTask>(model, &tokenizer), dropout, std::move(directory),
           micro_batches, steps) {}

void Trap::note(const Batch& batch) {
    if (step_.updated) {
        ++step_.step;
        step_.updated = false;
        step_.batches.clear();
    }
    step_.note(batch, dropout_);
}

void Trap::stepped(std::int64_t step) {
    step_.step = step;
    step_.updated = true;
}

void Trap::guard(const std::function<void()>& f) {
    try {
        f();
    } catch (const DivergedError& error) {
        if (step_.batches.empty()) throw;
        fail<DivergedError>("{}; replayed, {}", error.what(), replay());
    }
}

// A failure in here must not hide that training diverged.
std::string Trap::replay() {
    std::string text;
    try {
        Module& model = task_->model();
        const bool training = model.is_training();
        model.train();  // an evaluation may have thrown before it restored the mode
        const ReplayedGradients replayed = replay_gradients(*task_, step_, dropout_);
        model.train(training);
        const RecordedOutcome outcome = outcome_of(step_, replayed);
        text = outcome.finding;
        save(outcome);
        return fmt::format("{}; `tapestry replay {}` shows it", text, directory_.string());
    } catch (const Error& error) {
        return fmt::format("{}{}", text.empty() ? "" : text + "; not saved: ", error.what());
    }
}

// step.json marks the directory as a recorded step: it is removed first and written last, so it is
// never found with another step's weights.
void Trap::save(const RecordedOutcome& outcome) const {
    std::error_code failed;
    fs::remove(directory_ / kStepName, failed);
    require<IoError>(!failed, "{}: cannot be removed: {}", (directory_ / kStepName).string(),
                     failed.message());
    save_task(directory_, *task_);
    write_step(directory_, step_, outcome);
}

}  // namespace tapestry
