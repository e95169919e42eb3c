// metrics.jsonl, beside a model: what happened at each step of its training, for programs to read.
// Read next: read_metrics.h, which reads it.
#pragma once

#include <tapestry/core/file.h>
#include <tapestry/nn/inspect/step_metrics.h>
#include <tapestry/nn/io/saved_names.h>

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

}  // namespace tapestry
