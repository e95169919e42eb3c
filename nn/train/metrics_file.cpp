#include <tapestry/nn/train/metrics_file.h>

#include <tapestry/core/error.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

bool holds_a_model(const fs::path& directory) {
    std::error_code ignored;
    return fs::exists(directory / "config.json", ignored);
}

}  // namespace

MetricsFile::MetricsFile(const fs::path& directory)
    : directory_(directory),
      path_(directory / (holds_a_model(directory) ? kNewMetricsName : kMetricsName)),
      file_(std::fopen(path_.c_str(), "w")) {
    require<IoError>(file_ != nullptr, "{}: cannot be written: {}", path_.string(),
                     std::strerror(errno));
}

MetricsFile::~MetricsFile() { std::fclose(file_); }

void MetricsFile::write(const std::string& json) {
    const bool written = std::fputs((json + "\n").c_str(), file_) >= 0 && std::fflush(file_) == 0;
    require<IoError>(written, "{}: cannot be written: {}", path_.string(), std::strerror(errno));
}

// The open file keeps its name's changes: what is written later goes to the new place.
void MetricsFile::put_in_place() {
    const fs::path place = directory_ / kMetricsName;
    if (path_ == place) return;
    std::error_code failed;
    fs::rename(path_, place, failed);
    require<IoError>(!failed, "{}: cannot be replaced: {}", place.string(), failed.message());
    path_ = place;
}

}  // namespace tapestry
