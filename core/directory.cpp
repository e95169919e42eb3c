#include <tapestry/core/directory.h>

#include <dirent.h>

#include <memory>
#include <string_view>

namespace tapestry {

std::vector<std::string> names_in(const std::filesystem::path& directory) {
    struct Close {
        void operator()(DIR* opened) const { ::closedir(opened); }
    };
    const std::unique_ptr<DIR, Close> opened(::opendir(directory.c_str()));
    std::vector<std::string> names;
    while (opened) {
        const dirent* const entry = ::readdir(opened.get());
        if (entry == nullptr) break;
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
    }
    return names;
}

}  // namespace tapestry
