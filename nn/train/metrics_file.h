// metrics.jsonl, beside a model: what happened at each step of its training, for programs to read.
// Read next: read_metrics.h, which reads it.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>

namespace tapestry {

inline constexpr const char* kMetricsName = "metrics.jsonl";
/// Where the lines stand until the training has saved a model, if there is one of an earlier.
inline constexpr const char* kNewMetricsName = "metrics.new.jsonl";

/// One JSON object per line, flushed as it is written: what happened is on disk when the power
/// fails. Throws IoError when the file cannot be opened, written or put in its place.
class MetricsFile {
public:
    /// In the directory of a model. If there is one, its metrics stay beside it until
    /// put_in_place(), so that no model is ever found beside the metrics of another.
    explicit MetricsFile(const std::filesystem::path& directory);
    ~MetricsFile();
    MetricsFile(const MetricsFile&) = delete;
    MetricsFile& operator=(const MetricsFile&) = delete;

    void write(const std::string& json);

    /// To be called when the training's own model has been saved.
    void put_in_place();

private:
    std::filesystem::path directory_;
    std::filesystem::path path_;
    std::FILE* file_;
};

}  // namespace tapestry
