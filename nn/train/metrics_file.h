// metrics.jsonl, stored with the model, for programs: a line with the configuration, then one line
// per training step. Writes it, and reads it back, even while it is being written.
#pragma once

#include <tapestry/core/file.h>
#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/io/manifest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

struct TrainingConfig;

/// The file's name until the run saves its first model, if the directory holds an earlier run's.
inline constexpr const char* kNewMetricsName = "metrics.new.jsonl";

/// The first line of a run: version, instruction set, and its configuration. The same when a run is
/// resumed with another configuration ("event": "resume"). `after`: steps that were taken before.
std::string config_line(std::string_view event, const TrainingConfig& config, std::int64_t after);

/// A step's line, a JSON object.
std::string metrics_line(const StepMetrics& metrics, double tokens_per_second);

struct TrainingResult;

/// The last line of a run. `report_seconds`: time spent on the report, if there is one.
std::string end_line(const TrainingResult& result, const std::vector<std::string>& frozen,
                     std::optional<double> report_seconds);

/// Why a file could not be written.
struct SaveProblem {
    std::string message = {};   ///< empty: it was written
    bool disk_is_full = false;  ///< because there is no space left

    explicit operator bool() const { return !message.empty(); }  ///< whether there is a problem
};

/// Writes one JSON object per line, without buffering. Lines for which the disk has no space are
/// kept and written with the next one.
class MetricsFile {
public:
    /// Creates the file in a model's directory. If the directory holds a model already, its metrics
    /// stay until put_in_place(), so a model is never found with another run's metrics. Throws
    /// IoError when the file cannot be opened or its name is taken by something that is not a file.
    explicit MetricsFile(const std::filesystem::path& directory);

    /// Opens the existing file, truncated to `written`. Throws IoError also when the file does not
    /// begin with that.
    MetricsFile(const std::filesystem::path& directory, const FileDigest& written);

    /// Appends a line.
    void write(const std::string& json);
    /// Writes the last line of a finished run. It is not part of digest(): a run that resumes later
    /// is truncated to the lines of digest().
    void write_end(const std::string& json);

    /// Why the last lines are not in the file.
    const SaveProblem& problem() const { return problem_; }
    /// Retries writing them.
    void flush();

    /// Digest of all lines, including pending ones but not the end line.
    FileDigest digest() const { return {bytes_ + pending_.size(), checksum_.hex()}; }

    /// Forces the file to disk; callable from any thread. Throws IoError.
    void sync() const;

    /// kMetricsName or kNewMetricsName.
    const std::string& name() const { return name_; }
    /// Call after the file was renamed to kMetricsName.
    void put_in_place() { name_ = kMetricsName; }

private:
    std::filesystem::path path() const { return directory_ / name_; }
    std::size_t append(std::string_view text, std::uint64_t at);

    std::filesystem::path directory_;
    std::string name_;
    FileDescriptor file_;
    std::uint64_t bytes_ = 0;  // in the file
    Checksum checksum_;        // of all lines
    std::string pending_;      // lines that are not in the file yet
    std::string end_;
    SaveProblem problem_;
};

// ---- reading ------------------------------------------------------------------------------------

/// Whether a run may have written this file: its first line begins with an event or a step, or it
/// is empty, as that of a run which was killed before. Does not wait for a pipe.
bool may_be_of_a_run(const std::filesystem::path& metrics);

/// One number per entry of the steps next to it; NaN where a number was not finite.
struct Metrics {
    std::vector<double> steps,       ///< every step
        losses;                      ///< training loss of each
    std::vector<double> eval_steps,  ///< steps with an evaluation
        val_losses;                  ///< validation loss of each
    double seconds = 0;  ///< duration of the run until the last step; 0: not in the file
};

/// Reads the step lines in order. A last line without a newline may be incomplete; it is ignored if
/// so. Throws IoError for a file that cannot be read or has no step yet, and, naming the line, for
/// a line that is not a JSON object with "step" and "loss".
Metrics read_metrics(const std::filesystem::path& file);
/// The same for a run that may not have taken a step.
Metrics read_metrics_so_far(const std::filesystem::path& file);

/// The same lines with all their fields. A step's duration is derived from its speed:
/// tokens_per_step over "tokens_per_s".
std::vector<StepMetrics> read_steps(const std::filesystem::path& file,
                                    std::int64_t tokens_per_step);

/// The lines of steps up to `last`, unchanged, each with its newline.
std::string lines_of_steps(const std::filesystem::path& file, std::int64_t last);

/// The configuration in the file's latest line that has one, as JSON (training_config_from_json);
/// empty if none has, as in files from before this was written. Throws IoError for a file that
/// cannot be read.
std::string read_run_config(const std::filesystem::path& file);

/// How a run ended.
struct RunEnd {
    bool interrupted = false;  ///< by Ctrl-C or a callback
    double seconds = 0;        ///< duration of the run
};

/// From the last line of a run; empty for one that has not ended or was killed. Throws as
/// read_run_config does.
std::optional<RunEnd> read_run_end(const std::filesystem::path& file);

/// The metrics file in a run's directory: that of a run which has not saved its model yet, if there
/// is one.
std::filesystem::path latest_metrics(const std::filesystem::path& directory);

}  // namespace tapestry
