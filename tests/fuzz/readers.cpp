#include <tapestry/core/directory.h>
#include <tapestry/core/random.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/inspect/inspector.h>
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/nn/terminal/replay_text.h>
#include <tapestry/nn/terminal/run_text.h>
#include <tapestry/nn/terminal/text_step.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/nn/train/bisect.h>
#include <tapestry/nn/train/evaluate.h>
#include <tapestry/nn/train/metrics_file.h>
#include <tapestry/nn/train/step_on_text.h>
#include <tapestry/tests/fuzz/calls.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace tapestry::fuzz {
namespace {

namespace fs = std::filesystem;

void read_kind(const Place& p) { model_kind(p.directory); }

void write_some(const LoadedModel& loaded, const std::string& directory) {
    Generator generator(1);
    sample_text(*loaded.model, require_tokenizer(loaded, directory), "the", {.tokens = 3},
                generator, [](const std::string&) { return true; });
}

void sample_model(const Place& p) { write_some(load_model(p.directory), p.directory); }

void sample_best(const Place& p) {
    const std::string best = p.directory + "/best";
    write_some(load_model(best), best);
}

void read_transformer(const Place& p) { load_transformer(p.directory); }

void read_tokenizer(const Place& p) {
    const auto tokenizer = load_tokenizer(p.directory);
    tokenizer->decode(tokenizer->encode("the cat"));
}

void read_data(const Place& p) {
    const Corpus data = load_data(p.directory);
    data.tokenizer->decode(data.ids.read(0, std::min<std::int64_t>(data.ids.size(), 50)));
}

void read_data_tokenizer(const Place& p) {
    load_data_tokenizer(p.directory)->encode("the cat sat");
}

void read_checkpoints(const Place& p) {
    const SavedFiles files(p.directory);
    for (const StoredCheckpoint& one : stored_checkpoints(files)) {
        run_state_from_json(checkpoint_info(files.path(one.name())).run, one.name());
    }
}

// All files of this kind, whether a manifest lists them or not.
void read_all_tensors(const Place& p) {
    for (const char* folder : {"", "best", "checkpoints", "rewind", "trap"}) {
        const fs::path place = fs::path(p.directory) / folder;
        for (const std::string& name : names_in(place)) {
            if (!name.ends_with("safetensors")) continue;
            try {
                checkpoint_info(place / name);
                read_safetensors(place / name);
            } catch (const Error&) {
            }
        }
    }
}

void read_history(const Place& p) {
    const RunHistory history(p.directory);
    history.step(p.step);
    for (std::size_t i = 0; i < history.state().segments.size(); ++i) history.config_of(i);
}

bool has_small_steps(const RunHistory& history) {
    for (std::size_t i = 0; i < history.state().segments.size(); ++i) {
        if (!is_small(history.config_of(i))) return false;
    }
    return history.last_step() < 50;
}

void rewind_step(const Place& p) {
    const RunHistory history(p.directory);
    if (!has_small_steps(history)) return;
    const Replayer replayer(history);
    const auto session = replayer.session_before(p.step);
    const ReplayedStep step = replay_step(*session, true);
    to_text(step, history, replayer.start_of(p.step), session->tokenizer(), 80);
}

void rewind_all(const Place& p) {
    const RunHistory history(p.directory);
    if (!has_small_steps(history)) return;
    compare_all(history, Replayer(history), [](std::int64_t, const std::string&) {});
}

void bisect(const Place& p) {
    const RunHistory history(p.directory);
    if (!has_small_steps(history)) return;
    looked_at(find_first(history, Replayer(history), parse_condition("update_ratio >= 0.5")),
              history);
}

void replay_in(const std::string& directory) {
    const LoadedModel loaded = load_model(directory);
    RecordedOutcome then;
    const RecordedStep step = read_step(directory, loaded.model->model_config(), then);
    Generator dropout(0);
    loaded.model->train();
    const ReplayedGradients replayed = replay_gradients(*loaded.model, step, dropout);
    to_text(step, replayed, then);
    to_json(*replayed.inspector, page_of(step, replayed, *loaded.model,
                                         require_tokenizer(loaded, directory), directory));
}

void replay(const Place& p) { replay_in(p.directory); }
void replay_trap(const Place& p) { replay_in(p.directory + "/trap"); }

void read_metric_lines(const Place& p) {
    const fs::path lines = latest_metrics(p.directory);
    read_metrics(lines);
    read_steps(lines, 16);
    lines_of_steps(lines, p.step);
    text_plot(loss_curves(p.directory).curves, {.x_label = "step"});
    sweep_text({p.directory, p.directory});
}

void fork_elsewhere(const Place& p) {
    const RunHistory history(p.directory);
    if (!has_small_steps(history)) return;
    fork_after(history, Replayer(history), p.step,
               {.wanted = {.steps = p.step + 2, .lr = 0.01}, .given = {"steps", "lr"}});
}

void evaluate_model(const Place& p) {
    to_json(evaluate_on_text({.text = p.text, .start = p.directory}, Split::validation,
                             {.batches = 1, .batch = 1}));
}

void evaluate_ids(const Place& p) {
    to_text(evaluate_on_tokens(p.directory, p.directory + "/ids.txt"));
}

void inspect(const Place& p) {
    const bool reads = model_kind(p.directory) == ModelKind::transformer;
    const StepOnText taken =
        step_on_text(p.directory, "the", reads ? std::optional<std::string>("cat") : std::nullopt);
    const WatchedStep step(*taken.model, taken.loss, taken.products);
    const PageOptions page = taken.page(step.loss());
    text_step(step.inspector(), page);
    to_json(step.inspector(), page);
}

void profile(const Place& p) { load_model_with_text(p.directory, p.text); }

void start_from(const Place& p) {
    TrainingConfig config{.text = p.text, .start = p.directory, .batch = 1, .steps = 1};
    if (has_data(p.directory)) {
        config = {.data = p.directory,
                  .model = {.context = 4, .layers = 1, .heads = 1, .dim = 4},
                  .batch = 1,
                  .steps = 1};
    }
    Session(config).take_step();
}

void check_listed(const Place& p) {
    const SavedFiles files(p.directory);
    std::vector<std::string> names;
    for (const auto& [name, digest] : files.manifest().value_or(Manifest{}).files) {
        names.push_back(name);
    }
    files.check(names);
}

constexpr std::array<Call, 23> kReaders{
    {{.name = "model_kind", .run = read_kind},
     {.name = "load_model", .run = sample_model},
     {.name = "load_model(best)", .run = sample_best},
     {.name = "load_transformer", .run = read_transformer},
     {.name = "load_tokenizer", .run = read_tokenizer},
     {.name = "load_data", .run = read_data},
     {.name = "load_data_tokenizer", .run = read_data_tokenizer},
     {.name = "stored_checkpoints", .run = read_checkpoints},
     {.name = "read_safetensors", .run = read_all_tensors},
     {.name = "RunHistory", .run = read_history},
     {.name = "Replayer", .run = rewind_step, .slow = true},
     {.name = "compare_all", .run = rewind_all, .slow = true},
     {.name = "find_first", .run = bisect, .slow = true},
     {.name = "read_step", .run = replay},
     {.name = "read_step(trap)", .run = replay_trap},
     {.name = "read_metrics", .run = read_metric_lines, .slow = true},
     {.name = "fork_after", .run = fork_elsewhere},
     {.name = "evaluate_on_text", .run = evaluate_model},
     {.name = "evaluate_on_tokens", .run = evaluate_ids},
     {.name = "step_on_text", .run = inspect, .slow = true},
     {.name = "load_model_with_text", .run = profile},
     {.name = "Session", .run = start_from, .slow = true},
     {.name = "SavedFiles", .run = check_listed}}};

}  // namespace

std::span<const Call> readers() {
    static const std::vector<Call> all = [] {
        std::vector<Call> calls(kReaders.begin(), kReaders.end());
        calls.insert(calls.end(), example_readers().begin(), example_readers().end());
        require(calls.size() <= 32, "readers: {} calls for 32 bits", calls.size());
        return calls;
    }();
    return all;
}

std::uint32_t quick_readers() {
    std::uint32_t mask = 0;
    for (std::size_t i = 0; i < readers().size(); ++i) {
        if (!readers()[i].slow) mask |= std::uint32_t{1} << i;
    }
    return mask;
}

bool is_small(const TrainingConfig& config) {
    const auto limited = [](std::int64_t x, std::int64_t most) { return x >= 0 && x <= most; };
    return limited(config.batch, 8) && limited(config.accumulate, 4) &&
           limited(config.micro_batches, 8) && limited(config.eval_batches, 4) &&
           limited(config.muon_iterations, 10) && limited(config.model.context, 64) &&
           limited(config.model.layers, 8) && limited(config.model.vocab, 2000) &&
           limited(config.model.dim, 64) && limited(config.model.heads, 64) &&
           limited(config.model.hidden, 256) && limited(config.model.pairs, 1000);
}

bool continues_small(const fs::path& directory) {
    try {
        const auto stored = stored_checkpoints(directory);
        if (stored.empty()) return true;
        const CheckpointInfo info = checkpoint_info(directory / stored.back().name());
        return is_small(training_config_from_json(info.config, "checkpoint"));
    } catch (const Error&) {
        return true;  // resuming will report the error
    }
}

}  // namespace tapestry::fuzz
