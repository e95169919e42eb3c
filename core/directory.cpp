#include <tapestry/core/directory.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/shown.h>

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace tapestry {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& directory, std::error_code& error) {
    struct Close {
        void operator()(DIR* opened) const { ::closedir(opened); }
    };
    errno = 0;
    const std::unique_ptr<DIR, Close> opened(::opendir(directory.c_str()));
    std::vector<std::string> names;
    while (opened) {
        errno = 0;  // by which the end is told from an error
        const dirent* const entry = ::readdir(opened.get());
        if (entry == nullptr) break;
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
    }
    error.assign(errno, std::generic_category());
    return names;
}

std::vector<std::string> names_in(const fs::path& directory) {
    std::error_code ignored;
    return names_in(directory, ignored);
}

bool is_there(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    require<IoError>(fs::status_known(status), "cannot read {}: {}", shown(path), error.message());
    return fs::exists(status);
}

void remove_tree(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_directory(fs::symlink_status(path, ignored))) {
        for (const std::string& name : names_in(path)) remove_tree(path / name);
    }
    fs::remove(path, ignored);
}

}  // namespace tapestry
