#include <tapestry/nn/train/checkpoints.h>

#include <tapestry/core/directory.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/nn/io/checkpoint.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace tapestry {

// ---- their names --------------------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

constexpr std::array kPurposes{CheckpointPurpose::resume, CheckpointPurpose::rewind};

const char* folder_of(CheckpointPurpose purpose) {
    return purpose == CheckpointPurpose::resume ? kCheckpointsFolder : kRewindFolder;
}

// The checkpoint of this name; empty if it is not one.
std::optional<StoredCheckpoint> checkpoint_of(const std::string& name) {
    const auto parts = saved_name(name);
    if (!parts || !parts->is_state()) return std::nullopt;
    const bool resumes = parts->folder == kCheckpointsFolder;
    return StoredCheckpoint{*step_of_state(parts->file),
                            resumes ? CheckpointPurpose::resume : CheckpointPurpose::rewind};
}

bool is_checkpoint(const fs::path& path) {
    try {
        checkpoint_info(path);
        return true;
    } catch (const IoError&) {
        return false;
    }
}

// Those in the manifest, or, if that was removed, the files found.
std::vector<StoredCheckpoint> all_stored(const SavedFiles& files) {
    std::vector<StoredCheckpoint> stored;
    if (files.manifest()) {
        for (const auto& [name, digest] : files.manifest()->files) {
            if (const auto one = checkpoint_of(name)) stored.push_back(*one);
        }
        return stored;
    }
    for (const std::string& name : checkpoint_files(files.directory())) {
        const auto one = checkpoint_of(name);
        if (one && is_checkpoint(files.path(name))) stored.push_back(*one);
    }
    return stored;
}

}  // namespace

std::string StoredCheckpoint::name() const {
    return fmt::format("{}/{}", folder_of(purpose), state_file(step));
}

std::vector<std::string> checkpoint_files(const fs::path& directory) {
    std::vector<std::string> names;
    for (const CheckpointPurpose purpose : kPurposes) {
        const std::string folder = folder_of(purpose);
        for (const std::string& file : names_in(directory / folder)) {
            names.push_back(fmt::format("{}/{}", folder, file));
        }
    }
    return names;
}

std::vector<StoredCheckpoint> stored_checkpoints(const SavedFiles& files) {
    std::vector<StoredCheckpoint> stored = all_stored(files);
    std::sort(stored.begin(), stored.end(),
              [](const auto& a, const auto& b) { return a.step < b.step; });
    return stored;
}

std::vector<StoredCheckpoint> stored_checkpoints(const fs::path& directory) {
    return stored_checkpoints(SavedFiles(directory));
}

// ---- what one stores of the run -----------------------------------------------------------------

std::string to_json(const RunState& state) {
    JsonWriter json;
    json.object([&] {
        json.list("segments", state.segments, [&](const RunSegment& segment) {
            json.object("first_step", segment.first_step, "overrides", segment.overrides, "config",
                        segment.config);
        });
        json.member("seconds", state.seconds);
        json.member("metrics", [&] {
            json.object("bytes", state.metrics.bytes, "xxh3_128", state.metrics.checksum);
        });
        json.member("rewind_every", state.rewind_every);
        if (!state.best) return;
        json.member("best", [&] {
            json.object("step", state.best->step, "val_loss", state.best->val_loss);
        });
    });
    return json.text();
}

RunState run_state_from_json(std::string_view text, std::string_view what) {
    try {
        const JsonTree tree(text);
        const JsonNode json = tree.root(), metrics = json.at("metrics");
        RunState state{
            .seconds = json.get<double>("seconds"),
            .metrics = {metrics.get<std::uint64_t>("bytes"), metrics.get<std::string>("xxh3_128")},
            .rewind_every = json.count("rewind_every")};
        for (const JsonNode& segment : json.at("segments").elements()) {
            state.segments.push_back({segment.count("first_step"),
                                      segment.get<std::string>("config"),
                                      segment.get<std::vector<std::string>>("overrides")});
        }
        if (const auto best = json.find("best")) {
            state.best = {best->count("step"), best->get<double>("val_loss")};
        }
        return state;
    } catch (const JsonError& error) {
        fail<IoError>("{}: the checkpoint comes from a Session, not from a run: {}", what,
                      error.what());
    }
}

// ---- when ---------------------------------------------------------------------------------------

void CheckpointSchedule::set_rewind_distance(RunState& state, std::int64_t steps,
                                             double step_seconds, std::uint64_t bytes) const {
    constexpr double kStates = 10;
    const auto one = static_cast<double>(bytes);
    const double budget =
        options_.rewind_budget.value_or(std::min(CheckpointOptions::kRewindBudget, kStates * one));
    const std::int64_t found = rewind_distance(steps, step_seconds, one, budget);
    std::int64_t& distance = state.rewind_every;
    if (distance == 0 || found == 0) distance = found;
    while (distance > 0 && distance < found) distance *= 2;
}

std::optional<CheckpointPurpose> CheckpointSchedule::due_after(const StepMetrics& metrics,
                                                               std::int64_t rewind_every,
                                                               bool failed) const {
    constexpr double kSecondsToRetry = 5;
    const CheckpointOptions& c = options_;
    const bool unbound = !c.written || (c.every_steps == 0 && c.every_seconds == 0);
    if ((unbound && metrics.val_loss) || (c.every_steps > 0 && metrics.step % c.every_steps == 0) ||
        (c.every_seconds > 0 && age() >= c.every_seconds) || (failed && age() >= kSecondsToRetry)) {
        return CheckpointPurpose::resume;
    }
    if (rewind_every > 0 && metrics.step % rewind_every == 0) return CheckpointPurpose::rewind;
    return std::nullopt;
}

std::optional<CheckpointPurpose> CheckpointSchedule::next(std::optional<CheckpointPurpose> due,
                                                          bool best, bool busy) {
    if (!overdue_ || due == CheckpointPurpose::resume) overdue_ = due;
    if (best) overdue_ = CheckpointPurpose::resume;
    if (busy && overdue_ == CheckpointPurpose::rewind) overdue_.reset();
    return best || !busy ? overdue_ : std::nullopt;
}

void CheckpointSchedule::started() {
    overdue_.reset();
    last_ = Clock::now();
}

// ---- which stay ---------------------------------------------------------------------------------

std::vector<StoredCheckpoint> superseded(const std::vector<StoredCheckpoint>& stored,
                                         const Retention& retention) {
    std::vector<StoredCheckpoint> gone;
    std::int64_t kept = 0;
    for (std::size_t i = stored.size(); i-- > 0;) {
        const StoredCheckpoint& one = stored[i];
        const bool rewinds = retention.rewind_every > 0 && one.step % retention.rewind_every == 0;
        const bool latest = one.purpose == CheckpointPurpose::resume && kept++ < retention.keep;
        const bool begins = std::find(retention.begun.begin(), retention.begun.end(), one.step) !=
                            retention.begun.end();
        const bool stays =
            i + 1 == stored.size() || latest || rewinds || begins || one.step == retention.best;
        if (!stays) gone.push_back(one);
    }
    return gone;
}

std::int64_t rewind_distance(std::int64_t steps, double step_seconds, double bytes, double budget) {
    constexpr double kSecondsAway = 0.5;
    const double room = std::floor(budget / bytes);
    if (!(room >= 3)) return 0;
    const double fitting = std::ceil(static_cast<double>(steps) / room);
    const double near = std::ceil(kSecondsAway / std::max(step_seconds, 1e-6));
    return static_cast<std::int64_t>(std::clamp(std::max(fitting, near), 1.0, 1e15));
}

}  // namespace tapestry
