#include <tapestry/nn/train/begin_run.h>

#include <tapestry/core/cpu.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/version.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/replay.h>

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

using Told = std::function<void(const std::string&)>;

void tell_overridden(const std::vector<std::string>& names, const char* option, const Told& told) {
    for (const std::string& name : names) {
        told(fmt::format("{} differs from before ({})\n", name, option));
    }
}

// The session at the latest checkpoint, or null if there is none.
std::unique_ptr<Session> resume(const RunRequest& r, RunDirectory& directory,
                                const TextCache* cache, const Told& told) {
    auto session =
        directory.resume({.wanted = r.config, .given = r.given, .overrides = r.overrides}, cache);
    if (!session) return nullptr;
    const TrainingConfig& config = session->config();
    check_settings_given(config, r.given);
    told(fmt::format("resuming in {} after step {}{}\n", utf8::printable(r.out), session->steps(),
                     config.minutes > 0 ? fmt::format("; --minutes {}", config.minutes)
                                        : fmt::format(" of {}", config.steps)));
    tell_overridden(session->overridden(), "--override", told);
    return session;
}

// Files of a run below a directory of images or texts would be read as such by the next one, or
// when the run is resumed. Names that begin with a dot are not read.
void check_outside_data(const RunRequest& r) {
    const std::string& task = r.config.task;
    std::error_code unknown;  // reading the data says why
    const bool reads_directory = task == "image" || task == "text" || task == "mask";
    if (!reads_directory || !fs::is_directory(r.config.text, unknown)) return;
    require(!is_read_below(r.config.text, r.out), "train: --out {} is in the directory of {}s {}",
            shown(r.out), task == "image" ? task : "text", shown(r.config.text));
}

std::unique_ptr<Session> begin(const RunRequest& r, const TextCache* cache, const Told& told) {
    require(!r.resume || !data_name(r.config).empty(),
            "--resume: no checkpoint in {}; to start at step 0, give the options of the run again, "
            "with what it learns from (--text, --data, --pairs, --images, --questions or --table)",
            r.out);
    check_options_given(r.config.optimizer, r.given);
    check_model_options_given(r.config.model_config(), r.given);
    check_settings_given(r.config, r.given);
    require(r.config.lora == 0 || !r.config.start.empty(),
            "train: --lora adapts a trained model; name its directory with --model");
    check_frozen_weights(r.config);
    check_outside_data(r);
    if (r.resume)
        told(fmt::format("no checkpoint in {}: starting at step 0\n", utf8::printable(r.out)));
    return std::make_unique<Session>(r.config, cache);
}

// A run that does not resume has nothing that settings could differ from, but processes may run
// different instruction sets.
void check_overrides(const RunRequest& r) {
    for (const std::string& name : r.overrides) {
        require(r.resume || name == "isa", "--override {} requires --resume", name);
    }
}

// A new run replaces a run or a model only on request, and a model that another program wrote
// never. A run that was killed before its first save has nothing to lose.
void check_vacant(const RunRequest& r) {
    const fs::path out = r.out;
    const auto has = [&out](const char* name) { return is_there(out / name); };
    require<IoError>(!has(kMetricsName) || may_be_of_a_run(out / kMetricsName),
                     "{}: contains a {} that no run wrote; choose another directory", shown(out),
                     kMetricsName);
    const bool is_run =
        has(kMetricsName) || (has(kCheckpointsFolder) && !stored_checkpoints(out).empty());
    const bool has_model = has(kConfigName) || has(kWeightsName);
    const bool has_tokenizer =
        has(kTokenizerName) || has("vocab.json") || has("merges.txt") || has(kAddedTokensName);
    if (!is_run && !has_model && !has_tokenizer) {
        require<IoError>(r.overwrite || !has("report.html"),
                         "{}: already contains a report.html; --overwrite replaces it", shown(out));
        return;
    }
    require<IoError>(is_run || !is_hugging_face(out),
                     "{}: contains a model that another program wrote; choose another directory",
                     shown(out));
    if (r.overwrite) return;
    const std::vector<StoredCheckpoint> stored = stored_checkpoints(out);
    require<IoError>(stored.empty(),
                     "{}: already contains a run, saved after step {}; --resume continues it, "
                     "--overwrite replaces it",
                     shown(out), stored.empty() ? 0 : stored.back().step);
    require<IoError>(!has_model, "{}: already contains a model; --overwrite replaces it",
                     shown(out));
    require<IoError>(is_run || !has_tokenizer,
                     "{}: already contains a tokenizer; --overwrite replaces it", shown(out));
}

// The directory, if it is there; another run at work in it is more to say than what it has saved.
std::unique_ptr<RunDirectory> locked(const RunRequest& r) {
    if (!is_there(r.out) || !fs::is_directory(r.out)) return nullptr;
    return std::make_unique<RunDirectory>(r.out);
}

// A fork into its own directory would overwrite the run that it continues.
void check_elsewhere(const RunRequest& r) {
    std::error_code absent;
    require(!fs::equivalent(r.fork, r.out, absent),
            "--fork: {} is also --out; the new run needs another directory", r.fork);
}

BegunRun fork(const RunRequest& r, const TextCache* cache, const Told& told) {
    check_elsewhere(r);
    std::unique_ptr<RunDirectory> directory = locked(r);
    check_vacant(r);
    const RunHistory history(r.fork);
    const auto tell_wait = [&told](const ReplayStart& start) { told(wait_text(start)); };
    const Replayer replayer(history, {.cache = cache, .told = tell_wait});
    Fork fork =
        fork_after(history, replayer, r.step, {.wanted = r.config, .given = r.given}, cache);
    check_settings_given(fork.session->config(), r.given);
    told(fmt::format("continuing in {} after step {} of {}\n", utf8::printable(r.out), r.step,
                     utf8::printable(r.fork)));
    tell_overridden(fork.changed, "--fork", told);
    if (!directory) directory = std::make_unique<RunDirectory>(r.out);
    return {std::move(directory), std::move(fork.session), std::move(fork.earlier)};
}

}  // namespace

BegunRun begin_run(const RunRequest& r, const TextCache* cache, const Told& listener) {
    const auto told = [&listener](const std::string& text) {
        if (listener && !text.empty()) listener(text);
    };
    check_overrides(r);
    if (!r.fork.empty()) return fork(r, cache, told);
    BegunRun run;
    run.directory = locked(r);
    if (r.resume && run.directory) run.session = resume(r, *run.directory, cache, told);
    if (!run.session) {
        check_vacant(r);
        run.session = begin(r, cache, told);
    }
    if (!run.directory) run.directory = std::make_unique<RunDirectory>(r.out);
    return run;
}

namespace {

// The run up to `step`.
ParentRun parent_run(const RunHistory& history, std::int64_t step) {
    ParentRun earlier{.step = step};
    if (step == 0) return earlier;
    earlier.lines = read_saved(history.directory(), [step](const SavedFiles& files) {
        return lines_of_steps(files.path(kMetricsName), step);
    });
    earlier.steps.assign(history.steps().begin(), history.steps().begin() + step);
    earlier.state.segments = history.state().segments;
    std::erase_if(earlier.state.segments,
                  [step](const RunSegment& segment) { return segment.first_step > step; });
    earlier.state.seconds = earlier.steps.back().seconds;
    return earlier;
}

}  // namespace

Fork fork_after(const RunHistory& history, const Replayer& replayer, std::int64_t step,
                ResumeOptions changes, const TextCache* cache) {
    if (step != 0) history.step(step, "fork: step");
    changes.overrides = changes.given;
    CheckpointInfo now;
    now.step = step;
    now.config = to_json(history.config_of(history.segment_of(step + 1)));
    now.version = version();
    now.isa = name_of(current_isa());
    const ResumedConfig next = resumed_config(now, history.directory().native(), changes);
    require(next.config.steps > step,
            "fork: none of the {} steps is left after step {}; set --steps higher",
            next.config.steps, step);
    ParentRun earlier = parent_run(history, step);
    check_time_left(now, earlier.state, next.config, history.directory().native());
    earlier.state.segments.push_back({step + 1, to_json(next.config), next.overridden});
    Fork fork{.session = replayer.session_before(step + 1),
              .earlier = std::move(earlier),
              .changed = next.overridden};
    fork.session =
        fork.session->continued(next.config, {.directory = history.directory(), .cache = cache});
    fork.session->set_seconds_before(fork.earlier.state.seconds);
    return fork;
}

namespace {

// For messages; process 0's own need no name.
std::string process_name(const Communicator& c, int process) {
    return fmt::format("process {} on {}", process, c.host_of(process));
}

constexpr std::string_view kBeginning = "the start of the run";

// Gathers an error text from every process, empty for none; all throw the first that is not empty.
void agree(Communicator& c, const std::string& error) {
    const std::vector<std::string> errors = all_gather(c, error, kBeginning);
    for (std::size_t p = 0; p < errors.size(); ++p) {
        require<AgreedError>(
            errors[p].empty(), "{}{}",
            p == 0 ? "" : fmt::format("{}: ", process_name(c, static_cast<int>(p))), errors[p]);
    }
}

// Runs `f`; if it throws on any process, all of them throw.
template <class F>
void together(Communicator& c, const F& f) {
    std::string error;
    try {
        f();
    } catch (const std::exception& caught) {
        error = caught.what();
    }
    agree(c, error);
}

using Facts = std::vector<std::pair<std::string, std::string>>;  // name and value

// May not occur in a value.
constexpr char kSeparator = '\0';

std::vector<std::string> split(const std::string& values) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < values.size(); at = values.find(kSeparator, at) + 1) {
        all.push_back(values.substr(at, values.find(kSeparator, at) - at));
    }
    return all;
}

// Throws AgreedError, with process 0's value and the differing one, unless all processes have the
// same facts.
void check_same(Communicator& c, const Facts& facts) {
    std::string mine;
    for (const auto& [what, value] : facts) mine += value + kSeparator;
    const std::vector<std::string> all = all_gather(c, mine, kBeginning);
    const std::vector<std::string> first = split(all[0]);
    for (std::size_t p = 1; p < all.size(); ++p) {
        const std::vector<std::string> values = split(all[p]);
        require<AgreedError>(values.size() == facts.size() && first.size() == facts.size(),
                             "processes of different versions");
        for (std::size_t i = 0; i < facts.size(); ++i) {
            require<AgreedError>(
                values[i] == first[i],
                "{} is {} in process 0 and {} in {}; it must be the same everywhere",
                facts[i].first, first[i], values[i], process_name(c, static_cast<int>(p)));
        }
    }
}

bool may_differ(std::string_view field) {
    return field == "text" || field == "data" || field == "start" || field == "start_place";
}

// The version first: another version may have other settings.
void check_same_request(Communicator& c, const RunRequest& request) {
    check_same(c, {{"version", std::string(version())}});
    Facts facts;
    const auto& overrides = request.overrides;
    const bool any_isa = std::find(overrides.begin(), overrides.end(), "isa") != overrides.end();
    facts.emplace_back("isa", any_isa ? "any" : std::string(name_of(current_isa())));
    facts.emplace_back("timeout", fmt::format("{}", c.timeout()));
    for (const auto& one : kFields<TrainingConfig>) {
        if (!may_differ(one.name)) facts.emplace_back(one.name, one.text(request.config));
    }
    facts.emplace_back("kind", row_of(request.config.model_config()).name);
    request.config.visit_model([&](const auto& model) {
        for (const auto& one : fields_of(model)) facts.emplace_back(one.name, one.text(model));
    });
    check_same(c, facts);
}

// Fails early; a resumed run may have other settings and is checked later.
void check_processes(const Communicator& c, const TrainingConfig& config) {
    require(config.minutes == 0,
            "train: --minutes is measured by one process's clock; {} processes need --steps",
            c.size());
    require(config.micro_batches > 1,
            "train: {} processes share the micro-batches of a step; --micro-batches sets how many "
            "a batch is split into, the same for any number of processes",
            c.size());
    require(c.size() <= config.leaves_per_step(),
            "train: {} processes for the {} micro-batches of a step (--micro-batches {}, "
            "--accumulate {}); each needs one",
            c.size(), config.leaves_per_step(), config.micro_batches, config.accumulate);
    static_cast<void>(config.micro_batch_size());
}

// The session of a process other than 0: process 0's configuration, its own data.
std::unique_ptr<Session> follower(const std::string& config_of_leader, const RunRequest& request,
                                  const TextCache* cache) {
    TrainingConfig config = training_config_from_json(config_of_leader, "process 0's training");
    if (!request.config.text.empty() || !request.config.data.empty()) {
        config.text = request.config.text;
        config.data = request.config.data;
    }
    return std::make_unique<Session>(config, cache);
}

}  // namespace

BegunRun begin_shared_run(Communicator& c, const RunRequest& request, const TextCache* cache,
                          const std::function<void(const std::string&)>& told) {
    BegunRun run;
    if (c.size() == 1) {
        run = begin_run(request, cache, told);
        run.shared = std::make_unique<SharedSession>(*run.session, c);
        return run;
    }
    check_same_request(c, request);
    std::string config;
    together(c, [&] {
        if (c.rank() != 0) return;
        if (!request.resume && request.fork.empty()) check_processes(c, request.config);
        run = begin_run(request, cache, told);
        check_processes(c, run.session->config());
        config = to_json(run.session->config());
    });
    broadcast(c, 0, config, kBeginning);
    together(c, [&] {
        if (c.rank() != 0) run.session = follower(config, request, cache);
    });
    check_same(c, {{"data", run.session->task().data_hash()}});
    together(c, [&] { run.shared = std::make_unique<SharedSession>(*run.session, c); });
    return run;
}

std::string processes_text(const std::vector<ProcessAccount>& processes, std::string_view unit) {
    std::string text;
    for (std::size_t rank = 0; rank < processes.size(); ++rank) {
        const ProcessAccount& p = processes[rank];
        text += fmt::format(
            "process {} on {}: {}, {} {}, {:.0f} a second, {:.3g} GFLOP of products, "
            "{:.1f} MB sent, {:.0f}% of the time in messages, {:.0f}% of the gradients' hidden, "
            "{:.2f} MB of moments\n",
            rank, p.host, pluralize(static_cast<std::int64_t>(p.threads), "thread"), p.tokens, unit,
            p.tokens_per_second(), p.flops / 1e9, p.bytes_sent / 1e6, 100 * p.waiting_share(),
            100 * p.hidden_share(), p.moment_bytes / 1e6);
    }
    return text;
}

}  // namespace tapestry
