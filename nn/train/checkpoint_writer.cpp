#include <tapestry/nn/train/checkpoint_writer.h>

#include <tapestry/core/clock.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/text/message.h>
#include <tapestry/nn/io/adapter_text.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/peft.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/nn/train/text_task.h>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tapestry {

namespace {

namespace fs = std::filesystem;

double thread_cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Whether this run may write a state of this name.
bool may_write(const std::string& name, const Session& session) {
    const auto step = step_of_state(parts_of(name).file);
    return step && *step >= session.steps() && *step <= session.config().steps;
}

// Unlisted states under names that the run may need: from a run whose manifest was removed, or from
// a run killed under a version before November 2026.
std::vector<std::string> states_in_the_way(const RunDirectory& directory, const Session& session) {
    std::vector<std::string> names = directory.foreign();
    std::erase_if(names, [&](const std::string& name) { return !may_write(name, session); });
    return names;
}

void check_no_state_in_the_way(const RunDirectory& directory, const Session& session) {
    for (const std::string& name : states_in_the_way(directory, session)) {
        fail<IoError>(
            "{}: a state that {} does not list is in the way of this run; move it away{}",
            shown(directory.path() / name), kManifestName,
            is_there(directory.path() / kManifestName) ? "" : ", or resume from it (--resume)");
    }
}

// A run that a script keeps resuming must not fail because of them: they are renamed, and reported
// like any foreign file.
void set_aside(const RunDirectory& directory, const Session& session) {
    const Folder whole(directory.path());
    for (const std::string& name : states_in_the_way(directory, session)) {
        const SavedName parts = parts_of(name);
        const auto folder = whole.find(parts.folder);
        if (!folder) continue;
        std::string aside = parts.file + ".unlisted";
        for (int i = 2; folder->has(aside); ++i)
            aside = fmt::format("{}.unlisted-{}", parts.file, i);
        folder->rename(parts.file, *folder, aside);
        folder->sync();
    }
}

// Lists files of this run in a directory whose manifest was removed: the state that it was resumed
// from, the model's description, and the best model, which has its own manifest.
void list_unlisted(Commit& commit, const RunDirectory& directory) {
    if (!commit.before().files.empty() || directory.resumed_from().empty()) return;
    const fs::path& place = directory.path();
    for (const std::string name : {directory.resumed_from().c_str(), kConfigName, kTokenizerName,
                                   "vocab.json", "merges.txt", kAddedTokensName}) {
        if (is_there(place / name)) commit.list(name, digest_of_file(place / name));
    }
    const fs::path best = place / kBestFolder;
    const auto manifest = read_manifest(best);
    if (!manifest) return;
    const auto in_best = [](const std::string& name) {
        return fmt::format("{}/{}", kBestFolder, name);
    };
    for (const auto& [name, digest] : manifest->files) {
        if (saved_name(in_best(name))) commit.list(in_best(name), digest);
    }
    commit.list(in_best(kManifestName), digest_of_file(best / kManifestName));
}

void check_adapter(const Commit& commit, const char* folder, const Session& session) {
    if (session.config().lora == 0) return;
    for (const char* const name :
         {kAdapterConfigName, kAdapterWeightsName, kChatTemplateName, kGenerationConfigName}) {
        commit.check_place(fmt::format("{}/{}", folder, name));
    }
}

void write_updates(Commit& commit, const char* folder, const Session& session,
                   const NamedTensors& own) {
    const TrainingConfig& config = session.config();
    const bool has_adapter =
        write_adapter(commit, folder, session.module(), session.task().model_config(), own,
                      {.name = config.start,
                       .hash = config.start_hash,
                       .is_int8 = config.frozen_weights == WeightType::int8});
    const auto* const text = dynamic_cast<const TextTask*>(&session.task());
    if (has_adapter && text != nullptr) write_adapter_text(commit, folder, text->conventions());
}

// Checks the names that this run's best model needs. Throws IoError if a foreign file has one.
void check_best(const Commit& commit, const Session& session) {
    std::vector<std::string> names = session.task().description_files();
    names.insert(names.begin(), {kWeightsName, kManifestName});
    for (const std::string& name : names) {
        commit.check_place(fmt::format("{}/{}", kBestFolder, name));
    }
    check_adapter(commit, kBestAdapterFolder, session);
}

// Lets the training threads run first. On Linux, priorities are per thread.
void take_lowest_priority() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19); }

}  // namespace

std::uint64_t state_bytes(const Module& model) {
    std::uint64_t bytes = 0;
    for (const Tensor& p : model.parameters()) bytes += p.bytes() * (p.requires_grad() ? 3 : 1);
    return bytes;
}

void check_can_write(const RunDirectory& directory, const Session& session,
                     const CheckpointContents& contents) {
    const Folder folder(directory.path());
    for (const char* const name : kRunFolders) folder.find(name);
    const bool resumes = directory.resumed().has_value();
    if (contents.state && !resumes) check_no_state_in_the_way(directory, session);
    Commit commit(directory.path(), &directory.written());
    if (resumes) list_unlisted(commit, directory);
    if (contents.state) {
        for (const auto& [name, digest] : commit.before().files) {
            if (may_write(name, session)) commit.check_place(name);
        }
    }
    if (contents.best) check_best(commit, session);
    check_adapter(commit, kAdapterFolder, session);
    check_replaceable(directory.path() / kMetricsName);
    session.task().write_description(commit, "");
    write_weights(commit, "", session.config().model_config(),
                  merged_weights(session.module(), saved_tensors(session.module())));
    if (contents.state) check_room(directory.path(), state_bytes(session.module()));
    if (contents.state && resumes) set_aside(directory, session);
}

CheckpointWriter::CheckpointWriter(const RunDirectory& directory, Session& session,
                                   MetricsFile& metrics)
    : directory_(directory),
      session_(session),
      metrics_(metrics),
      is_ours_(directory.resumed().has_value()) {}

CheckpointWriter::~CheckpointWriter() {
    if (writing_.joinable()) writing_.join();
}

bool CheckpointWriter::is_busy() {
    if (!running_.valid()) return false;
    if (running_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return true;
    wait();
    return false;
}

void CheckpointWriter::start(RunState state, const CheckpointContents& contents) {
    wait();
    const auto began = Clock::now();
    if (problem_ && job_.contents.best && job_.is_copied && !contents.best) {
        begin();  // no later checkpoint has that model
        wait();
        if (problem_) return;
    }
    state.metrics = metrics_.digest();
    Checkpoint checkpoint = session_.checkpoint();
    checkpoint.run = to_json(state);
    job_ = {checkpoint.step, std::move(state), contents};
    refer_or_copy(checkpoint);
    begin();
    waited_ += seconds_since(began);
}

void CheckpointWriter::refer_or_copy(const Checkpoint& checkpoint) {
    if (job_.contents.at_once) return snapshot_.refer(checkpoint);
    try {
        snapshot_.take(checkpoint);
        job_.is_copied = true;
    } catch (const std::exception&) {  // no memory: write without a copy
        snapshot_.refer(checkpoint);
    }
}

// Runs in a thread if one can be started. (If not, libc++'s std::async waits forever.)
void CheckpointWriter::begin() {
    metrics_.flush();
    if (metrics_.problem()) {  // no checkpoint without its metrics
        problem_ = metrics_.problem();
        return;
    }
    work_ = std::packaged_task<double()>([this] { return write(job_); });
    running_ = work_.get_future();
    if (job_.is_copied) {
        try {
            writing_ = std::thread([this] {
                take_lowest_priority();
                work_();
            });
            return;
        } catch (const std::exception&) {
        }
    }
    work_();
}

void CheckpointWriter::wait() {
    if (!running_.valid()) return;
    const auto began = Clock::now();
    if (writing_.joinable()) writing_.join();
    try {
        thread_ += running_.get();
        finish(job_);
        problem_ = {};
    } catch (const DiskFullError& error) {
        problem_ = {error.what(), true};
    } catch (const std::exception& error) {
        problem_ = {error.what(), false};
    }
    if (std::exchange(is_done_, false)) take_over();  // the commit took effect before its error
    waited_ += seconds_since(began);
}

void CheckpointWriter::finish(const Job& job) {
    written_ = job.step;
    ++count_;
    take_over();
}

void CheckpointWriter::take_over() {
    is_ours_ = true;
    if (metrics_.name() != kMetricsName) metrics_.put_in_place();
}

// Returns the CPU seconds used. No other thread reads what it changes until it is done.
double CheckpointWriter::write(const Job& job) {
    const double began = thread_cpu_seconds();
    metrics_.sync();
    Commit commit(directory_.path(), &directory_.written());
    is_ours_ ? list_unlisted(commit, directory_) : begin_anew(commit);
    if (metrics_.name() == kMetricsName) {
        commit.list(kMetricsName, job.state.metrics);
    } else {
        commit.adopt(kMetricsName, metrics_.name(), job.state.metrics);
    }
    const bool is_int8 = session_.config().frozen_weights == WeightType::int8;
    const NamedTensors own = snapshot_.weights();
    write_updates(commit, kAdapterFolder, session_, own);
    {
        const DeferredTensors weights = merged_weights(session_.module(), own);
        write_weights(commit, "", session_.config().model_config(), weights);
        if (job.contents.best) write_best(commit, own, weights);
    }
    if (is_int8) release_cached_memory();  // the matrices in f32, which no step needs
    if (job.contents.state) write_state(commit, job);
    try {
        commit.finish();
    } catch (const std::exception&) {
        is_done_ = commit.is_done();
        throw;
    }
    for (const std::string& name : commit.kept()) {
        kept_.push_back(fmt::format("{}: not what was saved there; left unchanged",
                                    shown(directory_.path() / name)));
    }
    return thread_cpu_seconds() - began;
}

// A foreign file in its place costs the best model, not the checkpoint.
void CheckpointWriter::write_best(Commit& commit, const NamedTensors& own,
                                  const DeferredTensors& weights) {
    try {
        check_best(commit, session_);
    } catch (const PlaceTakenError& error) {
        if (told_of_best_) return;
        told_of_best_ = true;
        kept_.push_back(fmt::format("the best model is not saved: {}", error.what()));
        return;
    }
    session_.task().write_description(commit, kBestFolder);
    write_weights(commit, kBestFolder, session_.config().model_config(), weights);
    write_updates(commit, kBestAdapterFolder, session_, own);
    commit.write_manifest_of(kBestFolder);
}

void CheckpointWriter::write_state(Commit& commit, const Job& job) const {
    const StoredCheckpoint now{job.step, job.contents.purpose};
    commit.write(now.name(), [this](const auto& path, const auto& options) {
        return snapshot_.write(path, options);
    });
    std::vector<StoredCheckpoint> stored;
    if (is_ours_) stored = stored_checkpoints(directory_.path());
    std::erase(stored, now);  // rewritten before the first step of a resumed run
    stored.push_back(now);
    Retention retention{.keep = job.contents.keep, .rewind_every = job.state.rewind_every};
    if (job.contents.keep_best && job.state.best) retention.best = job.state.best->step;
    for (const RunSegment& segment : job.state.segments) {
        retention.begun.push_back(segment.first_step - 1);
    }
    for (const StoredCheckpoint& one : superseded(stored, retention)) commit.remove(one.name());
}

// The directory's last commit belongs to another run or model, whose files go, unless this run has
// its own of that name.
void CheckpointWriter::begin_anew(Commit& commit) const {
    for (const auto& [name, digest] : commit.before().files) commit.remove(name);
    session_.task().write_description(commit, "");
}

}  // namespace tapestry
