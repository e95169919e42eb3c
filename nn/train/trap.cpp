#include <tapestry/nn/train/trap.h>

#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/optimizer_step.h>

#include <cmath>
#include <system_error>
#include <utility>

namespace tapestry {

namespace fs = std::filesystem;

Trap::Trap(GPT& model, Generator& dropout, const Tokenizer& tokenizer, fs::path directory,
           std::int64_t micro_batches, std::int64_t steps)
    : model_(model), dropout_(dropout), tokenizer_(tokenizer), directory_(std::move(directory)) {
    step_.step = steps + 1;
    step_.micro_batches = micro_batches;
    step_.compute = model.config().compute;
    step_.weights = model.config().weights;
    step_.began_finite = std::isfinite(sum_of_squares(model.parameters()));
}

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
        fail<DivergedError>("{}; taken again, {}", error.what(), take_again());
    }
}

// Whatever fails here must not hide that the training diverged.
std::string Trap::take_again() {
    std::string text;
    try {
        const bool training = model_.is_training();
        model_.train();  // an evaluation may have thrown before it switched back
        const RetakenStep retaken = retake(model_, step_, dropout_);
        model_.train(training);
        const RecordedOutcome outcome = outcome_of(step_, retaken);
        text = outcome.finding;
        save(outcome);
        return fmt::format("{}; `tapestry replay {}` shows it", text, directory_.string());
    } catch (const Error& error) {
        return fmt::format("{}{}", text.empty() ? "" : text + "; not saved: ", error.what());
    }
}

// step.json makes the directory a recorded step: it goes first and comes last, so that none is ever
// found beside weights of another.
void Trap::save(const RecordedOutcome& outcome) const {
    std::error_code failed;
    fs::remove(directory_ / kStepName, failed);
    require<IoError>(!failed, "{}: cannot be removed: {}", (directory_ / kStepName).string(),
                     failed.message());
    save_model(directory_, model_, tokenizer_);
    write_step(directory_, step_, outcome);
}

}  // namespace tapestry
