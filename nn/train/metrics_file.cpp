#include <tapestry/nn/train/metrics_file.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/shown.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

bool holds_a_model(const fs::path& directory) {
    std::error_code ignored;
    return fs::exists(directory / "config.json", ignored);
}

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
    fail<IoError>("{}: cannot be written: {}", shown(path), std::generic_category().message(error));
}

// A file of its own: what stood under the name, a link or a pipe perhaps, is not written to.
int create(const fs::path& path) {
    check_replaceable(path);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_to_write(path, errno);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) fail_to_write(path, errno);
    return file;
}

// Of the last line if it says that the run has ended, which is not so for one that goes on.
std::size_t size_of_end(std::string_view text) {
    const std::size_t last =
        text.size() < 2 ? std::string_view::npos : text.rfind('\n', text.size() - 2);
    const std::string_view line = last == std::string_view::npos ? text : text.substr(last + 1);
    return line.starts_with("{\"event\":\"end\"") ? line.size() : 0;
}

int open_again(const fs::path& path) {
    check_replaceable(path);
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) fail_to_write(path, errno);
    return file;
}

}  // namespace

MetricsFile::MetricsFile(const fs::path& directory)
    : directory_(directory),
      name_(holds_a_model(directory) ? kNewMetricsName : kMetricsName),
      file_(create(path())) {}

MetricsFile::MetricsFile(const fs::path& directory, const FileDigest& written)
    : directory_(directory), name_(kMetricsName), file_(open_again(path())) {
    const std::string text = read_file(path());
    std::string_view begun = std::string_view(text).substr(0, written.bytes);
    checksum_.add(begun);
    bytes_ = begun.size();
    require<IoError>(digest() == written,
                     "{}: not what was saved: its first {} bytes have checksum {}; the checkpoint "
                     "knows {} with {}",
                     shown(path()), bytes_, checksum_.hex(), written.bytes, written.checksum);
    begun.remove_suffix(size_of_end(begun));
    checksum_ = {};
    checksum_.add(begun);
    bytes_ = begun.size();
    if (::ftruncate(file_.number(), static_cast<off_t>(bytes_)) != 0) fail_to_write(path(), errno);
}

void MetricsFile::write(const std::string& json) {
    pending_ += json + "\n";
    flush();
}

void MetricsFile::flush() {
    problem_ = {};
    while (!pending_.empty()) {
        const auto done =
            ::pwrite(file_.number(), pending_.data(), pending_.size(), static_cast<off_t>(bytes_));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            const int error = done < 0 ? errno : ENOSPC;
            problem_ = {fmt::format("{}: cannot be written: {}", shown(path()),
                                    std::generic_category().message(error)),
                        error == ENOSPC || error == EDQUOT};
            return;
        }
        const auto count = static_cast<std::size_t>(done);
        checksum_.add(std::string_view(pending_).substr(0, count));
        bytes_ += count;
        pending_.erase(0, count);
    }
}

void MetricsFile::sync() const {
    if (::fdatasync(file_.number()) != 0 && errno != EINVAL) fail_to_write(path(), errno);
}

}  // namespace tapestry
