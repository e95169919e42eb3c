// metrics.jsonl: what happened at each step, for programs to read.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>

namespace tapestry::cli {

/// One JSON object per line, flushed as it is written: what happened is on disk when the power
/// fails. Throws IoError when the file cannot be opened or written.
class MetricsFile {
public:
    explicit MetricsFile(const std::filesystem::path& path);
    ~MetricsFile();
    MetricsFile(const MetricsFile&) = delete;
    MetricsFile& operator=(const MetricsFile&) = delete;

    void write(const std::string& json);

private:
    std::filesystem::path path_;
    std::FILE* file_;
};

}  // namespace tapestry::cli
