// metrics.jsonl, beside a model: what happened at each step of its training, for programs to read;
// written, and read back, also while it is being written.
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

/// Where the lines stand until the training has saved a model, if there is one of an earlier.
inline constexpr const char* kNewMetricsName = "metrics.new.jsonl";

/// The line of a step, a JSON object.
std::string metrics_line(const StepMetrics& metrics, double tokens_per_second);

struct TrainingResult;

/// The last line of a run; `report_seconds`: what the page took, if there is one.
std::string end_line(const TrainingResult& result, const std::vector<std::string>& frozen,
                     std::optional<double> report_seconds);

/// Why something could not be written.
struct SaveProblem {
    std::string message = {};  ///< empty: it was written
    bool disk_is_full = false;

    explicit operator bool() const { return !message.empty(); }
};

/// One JSON object per line, handed to the system as it is written. What the disk has no room for
/// is kept and written with the next line.
class MetricsFile {
public:
    /// A new one in the directory of a model. If there is a model, its metrics stay beside it until
    /// put_in_place(), so that no model is ever found beside the metrics of another. Throws IoError
    /// when the file cannot be opened, or what has its name is no file.
    explicit MetricsFile(const std::filesystem::path& directory);

    /// The one that is there, cut back to `written`. Throws IoError also when it does not begin
    /// with that.
    MetricsFile(const std::filesystem::path& directory, const FileDigest& written);

    void write(const std::string& json);
    /// The last line, of a run that has ended. It is no part of digest(): a run that goes on after
    /// all is cut back to what is.
    void write_end(const std::string& json);

    /// Why the last lines are not in the file.
    const SaveProblem& problem() const { return problem_; }
    /// Tries to write them again.
    void flush();

    /// Of all lines, those that are still to be written too, but for the end.
    FileDigest digest() const { return {bytes_ + pending_.size(), checksum_.hex()}; }

    /// Waits until what is in the file is on the disk; any thread may. Throws IoError.
    void sync() const;

    /// kMetricsName or kNewMetricsName.
    const std::string& name() const { return name_; }
    /// It was renamed to kMetricsName, and that is what was written so far.
    void put_in_place() { name_ = kMetricsName; }

private:
    std::filesystem::path path() const { return directory_ / name_; }
    std::size_t append(std::string_view text, std::uint64_t at);

    std::filesystem::path directory_;
    std::string name_;
    FileDescriptor file_;
    std::uint64_t bytes_ = 0;  // in the file
    Checksum checksum_;        // of all lines
    std::string pending_;      // of these, what is not in the file
    std::string end_;
    SaveProblem problem_;
};

// ---- reading ------------------------------------------------------------------------------------

/// One number per entry of the steps beside it; NaN where a number was not finite.
struct Metrics {
    std::vector<double> steps, losses;
    std::vector<double> eval_steps, val_losses;
};

/// The lines with a step, in their order. A last line without its end is still being written, and
/// left out if it is not whole. Throws IoError for a file that cannot be read or has no step yet;
/// naming the line, for one that is no JSON object with "step" and "loss".
Metrics read_metrics(const std::filesystem::path& file);

/// The same lines with all that they say. What a step took is told by its speed, tokens_per_step
/// over "tokens_per_s".
std::vector<StepMetrics> read_steps(const std::filesystem::path& file,
                                    std::int64_t tokens_per_step);

/// The lines of steps up to `last` as they are written, each with its end.
std::string lines_of_steps(const std::filesystem::path& file, std::int64_t last);

/// The file of metrics in a training's directory: those of the training that has not saved its
/// model yet, if there are any.
std::filesystem::path latest_metrics(const std::filesystem::path& directory);

}  // namespace tapestry
