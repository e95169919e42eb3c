#include <tapestry/core/result_file.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/message.h>

#include <algorithm>
#include <span>
#include <string>

namespace tapestry {
namespace {

// The first bytes of the file; empty if there is no regular file, which writing reports.
std::string beginning_of(const std::filesystem::path& path, std::size_t bytes) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return "";
    InputFile file(path);
    std::string beginning(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, file.size())),
                          '\0');
    file.read(std::as_writable_bytes(std::span(beginning)));
    return beginning;
}

}  // namespace

void write_result(const std::filesystem::path& path, std::string_view contents) {
    constexpr std::size_t kKind = 14;
    const std::string before = beginning_of(path, kKind);
    require<IoError>(before.empty() || before == contents.substr(0, kKind),
                     "{}: already exists and is another kind of file; choose another name",
                     shown(path));
    write_file_atomically(path, contents);
}

}  // namespace tapestry
