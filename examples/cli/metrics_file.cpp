#include <tapestry/core/error.h>
#include <tapestry/examples/cli/metrics_file.h>

#include <cerrno>
#include <cstring>

namespace tapestry::cli {

MetricsFile::MetricsFile(const std::filesystem::path& path)
    : path_(path), file_(std::fopen(path.c_str(), "w")) {
    require<IoError>(file_ != nullptr, "{}: cannot be written: {}", path.string(),
                     std::strerror(errno));
}

MetricsFile::~MetricsFile() { std::fclose(file_); }

void MetricsFile::write(const std::string& json) {
    const bool written = std::fputs((json + "\n").c_str(), file_) >= 0 && std::fflush(file_) == 0;
    require<IoError>(written, "{}: cannot be written: {}", path_.string(), std::strerror(errno));
}

}  // namespace tapestry::cli
