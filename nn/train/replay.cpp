#include <tapestry/nn/train/replay.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/data_parallel/gradient_sum.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/train/text_task.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/ops/fusion.h>

#include <fmt/core.h>

#include <bit>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>

namespace tapestry {
namespace {

// Forces this configuration, regardless of the checkpoint's and of where it was written: the
// numbers will show any difference.
ResumeOptions exactly(const TrainingConfig& config) {
    ResumeOptions options{.wanted = config};
    const auto add = [&](const auto& fields) {
        for (const FieldInfo& one : fields) {
            if (!is_foreign_option(config.optimizer, one.name)) {
                options.given.emplace_back(one.name);
            }
        }
    };
    add(kFields<TrainingConfig>);
    config.visit_model([&](const auto& model) { add(fields_of(model)); });
    options.overrides = options.given;
    options.overrides.insert(options.overrides.end(), {"isa", "version", "data"});
    return options;
}

// The latest state before the step.
std::optional<StoredCheckpoint> state_before(std::int64_t step,
                                             const std::vector<StoredCheckpoint>& stored) {
    std::optional<StoredCheckpoint> found;
    for (const StoredCheckpoint& one : stored) {
        if (one.step < step) found = one;
    }
    return found;
}

struct WatchEnd {
    Session& session;
    ~WatchEnd() { session.watch({}); }
};

bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

// ---- a recorded step ----------------------------------------------------------------------------

ReplayedGradients replay_gradients(Task& task, const RecordedStep& step, Generator& dropout,
                                   const MachinePeak& peak) {
    Module& model = task.model();
    const auto count = static_cast<std::int64_t>(step.batches.size());
    ReplayedGradients replayed;
    model.zero_grad();
    task.compute_in(step.compute);
    const DType weights = dtype_of(step.weights);  // reading the file converted to f32
    if (is_narrow(weights) && model.parameters().front().dtype() != weights) model.to(weights);
    GradientSum sum(model.parameters(), step.micro_batches);
    for (std::size_t i = 0; i < step.batches.size(); ++i) {
        const RecordedBatch& recorded = step.batches[i];
        dropout.set_state(recorded.seed, recorded.offset);
        replayed = {.batch = i, .inspector = std::make_unique<Inspector>(model, peak)};
        const auto loss = [&] { return task.loss(recorded.batch); };
        replayed.loss = add_gradients(loss, count, [&] { replayed.inspector->finish(); });
        sum.add(replayed.loss);
        if (replayed.inspector->non_finite()) break;
    }
    sum.finish();
    return replayed;
}

ReplayedGradients replay_gradients(LanguageModel& model, const RecordedStep& step,
                                   Generator& dropout, const MachinePeak& peak) {
    TextTask task(model);
    return replay_gradients(task, step, dropout, peak);
}

std::string finding_text(const RecordedStep& step, const ReplayedGradients& replayed) {
    const auto& finding = replayed.inspector->non_finite();
    if (!finding) return "every number of its forward and backward pass is finite";
    std::string text;
    if (step.batches.size() > 1) text = name_of_batch(step, replayed.batch) + ": ";
    text += to_text(*finding);
    if (finding->origin != NonFiniteOrigin::parameter) return text;
    // The previous step read the same parameters, and everything it computed was finite.
    const std::int64_t update = step.updated ? step.step : step.step - 1;
    return text + (update > 0 && step.began_finite
                       ? fmt::format("; the update of step {} made it", update)
                       : "; the run started with weights that are not finite");
}

RecordedOutcome outcome_of(const RecordedStep& step, const ReplayedGradients& replayed) {
    return {finding_text(step, replayed), std::bit_cast<std::uint64_t>(replayed.loss),
            fmt::format("{}, {} operations", name_of(current_isa()),
                        fusion_enabled() ? "fused" : "elementary")};
}

// ---- a step of a run ----------------------------------------------------------------------------

std::string wait_text(const ReplayStart& start) {
    constexpr double kAWhile = 3;
    if (start.seconds < kAWhile) return "";
    return fmt::format("replaying {} steps from step {}; in the run they took {:.0f} s\n",
                       start.steps, start.state, start.seconds);
}

// Evaluations draw from a separate stream; skipping them does not change the steps.
TrainingConfig Replayer::config_of(std::size_t segment) const {
    TrainingConfig config = history_.config_of(segment);
    config.eval_every = 0;
    if (!options_.text.empty() || !options_.data.empty()) {
        config.text = options_.text;
        config.data = options_.data;
    }
    return config;
}

// From the latest state before the step, or from scratch.
std::unique_ptr<Session> Replayer::session_at(const SavedFiles& files, std::int64_t step) const {
    const auto state = state_before(step, stored_checkpoints(files));
    TrainingConfig config = config_of(state ? history_.segment_of(state->step + 1) : 0);
    std::error_code ignored;
    require<IoError>(std::holds_alternative<CustomConfig>(config.model_config()) ||
                         std::filesystem::exists(data_name(config), ignored),
                     "{}: the run learned from {}, which is not there; give its new place with "
                     "--text or --data",
                     shown(history_.directory()), shown(data_name(config)));
    if (!state) {
        config.start_dropout =
            common_settings(config.model_config()).dropout;  // not the start model's
        return std::make_unique<Session>(config, options_.cache);
    }
    files.check({state->name()});
    return Session::resume(files.path(state->name()), exactly(config),
                           {.directory = files.directory(), .cache = options_.cache});
}

// Compares with a checkpoint of the same segment, if one is left.
void Replayer::check_data(const Session& session) const {
    const std::size_t segment = history_.segment_of(session.steps() + 1);
    const auto data_then = [&](const SavedFiles& files) -> std::string {
        for (const StoredCheckpoint& one : stored_checkpoints(files)) {
            if (history_.segment_of(one.step) != segment) continue;
            return checkpoint_info(files.path(one.name())).data;
        }
        return {};
    };
    const std::string then = read_saved(history_.directory(), data_then);
    const std::string& now = session.task().data_hash();
    require(then.empty() || then == now,
            "{}: the data had checksum {} when step {} was taken, and {} has {}; give its path "
            "with --text or --data",
            shown(history_.directory()), then, session.steps() + 1,
            shown(data_name(session.config())), now);
}

ReplayStart Replayer::start_of(std::int64_t step) const {
    const auto state = state_before(step, history_.stored());
    const std::int64_t from = state ? state->step : 0;
    const auto seconds_after = [this](std::int64_t k) {
        return k == 0 ? 0.0 : history_.step(k).seconds;
    };
    return {from, step - 1 - from, seconds_after(step - 1) - seconds_after(from)};
}

std::unique_ptr<Session> Replayer::session_before(std::int64_t step) const {
    if (step != history_.last_step() + 1) history_.step(step, "rewind: step");
    if (options_.told) options_.told(start_of(step));
    auto session = read_saved(history_.directory(), [this, step](const SavedFiles& files) {
        return session_at(files, step);
    });
    check_data(*session);
    follow_time(*session);
    advance(session, step);
    return session;
}

void Replayer::advance(std::unique_ptr<Session>& session, std::int64_t step) const {
    std::optional<std::size_t> segment;
    for (;; session->take_step()) {
        const std::size_t next = history_.segment_of(session->steps() + 1);
        if (next != segment) go_on_under(session, config_of(next));
        segment = next;
        if (session->steps() + 1 >= step) return;
    }
}

void Replayer::go_on_under(std::unique_ptr<Session>& session, const TrainingConfig& config) const {
    TrainingConfig now = session->config();
    now.start_place = config.start_place;  // the session's is where it found the base
    if (to_json(now) == to_json(config)) return;
    session =
        session->continued(config, {.directory = history_.directory(), .cache = options_.cache});
    check_data(*session);
    follow_time(*session);
}

// What a clock said of the steps of a run limited by time is in its metrics.
void Replayer::follow_time(Session& session) const {
    if (session.config().minutes == 0) return;
    session.set_progress([&history = history_](std::int64_t step) {
        return history.step(std::min(step + 1, history.last_step())).progress.value_or(0);
    });
}

ReplayedStep replay_step(Session& session, bool watch, const MachinePeak& peak) {
    ReplayedStep step;
    step.recorded.step = session.steps() + 1;
    step.recorded.micro_batches = session.config().micro_batches;
    const CommonSettings model = common_settings(session.config().model_config());
    step.recorded.compute = model.compute;
    step.recorded.weights = model.weights;
    GradientFlow flow(session.module());
    Generator& dropout = session.weights_generator();
    std::string checksum;
    session.watch({.batch = [&](const Batch& batch) { step.recorded.note(batch, dropout); },
                   .before_update =
                       [&](std::int64_t) {
                           checksum = checksum_of_gradients(session.optimizer().parameters());
                           if (watch) {
                               step.watched =
                                   replay_gradients(session.task(), step.recorded, dropout, peak);
                           }
                           flow.before_update();
                       }});
    const WatchEnd end{session};
    try {
        step.metrics = session.take_step();
    } catch (const DivergedError& error) {  // before the update: the weights are the step's
        if (!watch) throw;
        step.metrics.step = step.recorded.step;
        step.diverged = error.what();
        step.watched = replay_gradients(session.task(), step.recorded, dropout, peak);
        return step;
    }
    step.metrics.grad_xxh3 = checksum;
    step.flow = flow.after_update();
    return step;
}

void Replayer::replay_all(const std::function<void(const ReplayedStep&)>& replayed) const {
    std::unique_ptr<Session> session;
    for (std::int64_t step = 1; step <= history_.last_step(); ++step) {
        if (start_of(step).steps == 0) {
            session = session_before(step);
        } else {
            advance(session, step);
        }
        replayed(replay_step(*session, false));
    }
}

std::string difference(const StepMetrics& then, const StepMetrics& now) {
    const std::tuple<const char*, double, double> numbers[] = {
        {"loss", then.loss, now.loss},
        {"grad_norm", then.grad_norm, now.grad_norm},
        {"lr", then.lr, now.lr}};
    for (const auto& [name, before, after] : numbers) {
        if (!same_bits(before, after))
            return fmt::format("{} was {} and is {}", name, before, after);
    }
    if (!then.grad_xxh3.empty() && !now.grad_xxh3.empty() && then.grad_xxh3 != now.grad_xxh3) {
        return fmt::format("grad_xxh3 was {} and is {}", then.grad_xxh3, now.grad_xxh3);
    }
    return {};
}

RunComparison compare_all(
    const RunHistory& history, const Replayer& replayer,
    const std::function<void(std::int64_t step, const std::string& difference)>& differs) {
    RunComparison all{.steps = history.last_step()};
    replayer.replay_all([&](const ReplayedStep& step) {
        const StepMetrics& then = history.step(step.metrics.step);
        const std::string found = difference(then, step.metrics);
        if (!found.empty()) return differs(step.metrics.step, found);
        ++all.same;
        all.with_gradients += then.grad_xxh3.empty() ? 0 : 1;
    });
    return all;
}

}  // namespace tapestry
