#include <tapestry/nn/bench/checkpoint.h>

#include <tapestry/core/clock.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/checkpoint.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/train/checkpoint_writer.h>
#include <tapestry/nn/train/training_run.h>

#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace tapestry::bench {
namespace {

namespace fs = std::filesystem;

// The first steps, which allocate memory, do not count.
constexpr std::size_t kWarmUp = 5;

// Looked up where it is needed: $TMPDIR may name no directory.
fs::path place_for(const fs::path& chosen) {
    if (!chosen.empty()) return chosen;
    std::error_code error;
    const fs::path usual = fs::temp_directory_path(error);
    require<IoError>(!error,
                     "bench checkpoint: no directory for temporary files: {}; set TMPDIR "
                     "or --directory",
                     error.message());
    return usual;
}

// A temporary directory, removed at the end.
class Folder {
public:
    explicit Folder(const fs::path& parent)
        : path_(parent / fmt::format("tapestry-bench-{}", ::getpid())) {
        make_directories(path_);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    fs::path operator/(const char* name) const { return path_ / name; }

private:
    fs::path path_;
};

// Writes a text of `vocab` distinct characters that is longer than the context.
void write_text(const fs::path& path, const GPTConfig& model) {
    constexpr char32_t kFirst = 0x10000;  // all code points from here on are characters
    const std::int64_t length = std::max(10 * model.vocab, 40 * model.context);
    write_file_atomically(path, [&](OutputFile& file) {
        std::string text;
        for (std::int64_t i = 0; i < length; ++i) {
            utf8::append(text, kFirst + static_cast<char32_t>(i % model.vocab));
        }
        file.write(text);
    });
}

CheckpointTraining train(const CheckpointBench& options, const Folder& folder, bool checkpoints) {
    Session session({.text = (folder / "text").string(),
                     .model = options.model,
                     .batch = options.batch,
                     .steps = options.steps,
                     .eval_every = 0});
    std::vector<double> steps;
    double waited = 0;
    Clock::time_point last;
    TrainingRun* running = nullptr;
    TrainingRunOptions run_options{
        .out = folder / (checkpoints ? "with" : "without"),
        .report = false,
        .checkpoints = {.written = checkpoints,
                        .every_seconds = checkpoints ? options.interval : 0,
                        .rewind_budget = 0}};
    run_options.stepped = [&](const StepMetrics& metrics, const Speed&) {
        const auto now = Clock::now();
        if (metrics.step > 1) steps.push_back(seconds_between(last, now));
        last = now;
        waited = running->checkpoints().waited_seconds();
        if (options.stepped) options.stepped();
        return true;
    };
    TrainingRun run(session, run_options);
    running = &run;
    run.to_the_end();

    CheckpointTraining result{.waited = waited,
                              .writer_seconds = run.checkpoints().thread_seconds(),
                              .checkpoints = run.checkpoints().count(),
                              .parameters = session.module().parameter_count()};
    for (const double seconds : steps) result.seconds += seconds;
    steps.erase(steps.begin(),
                steps.begin() + std::min<std::ptrdiff_t>(
                                    kWarmUp, static_cast<std::ptrdiff_t>(steps.size() - 1)));
    std::sort(steps.begin(), steps.end());
    result.median = steps[steps.size() / 2];
    result.longest = steps.back();
    return result;
}

double sum(const std::vector<CheckpointTraining>& trainings, double CheckpointTraining::*what) {
    double total = 0;
    for (const CheckpointTraining& one : trainings) total += one.*what;
    return total;
}

}  // namespace

double CheckpointRow::waited_share() const {
    return sum(with, &CheckpointTraining::waited) / sum(with, &CheckpointTraining::seconds);
}

double CheckpointRow::writer_share() const {
    return sum(with, &CheckpointTraining::writer_seconds) / sum(with, &CheckpointTraining::seconds);
}

double CheckpointRow::longest_share(const std::vector<CheckpointTraining>& trainings) const {
    double share = 0;
    for (const CheckpointTraining& one : trainings) {
        share = std::max(share, one.longest / one.median);
    }
    return share;
}

CheckpointRow measure_checkpoints(const CheckpointBench& options) {
    require(options.steps >= 3, "bench checkpoint: steps must be at least 3, got {}",
            options.steps);
    const Folder folder(place_for(options.directory));
    write_text(folder / "text", options.model);
    GPTConfig model = options.model;
    const GPT measured(model);
    CheckpointRow row{.parameters = measured.parameter_count(),
                      .bytes = static_cast<double>(state_bytes(measured)) * 4 / 3,
                      .interval = options.interval};
    for (std::int64_t i = 0; i < options.rounds; ++i) {
        row.without.push_back(train(options, folder, false));
        row.with.push_back(train(options, folder, true));
    }
    return row;
}

}  // namespace tapestry::bench
