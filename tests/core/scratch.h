// A temporary directory for a test, removed with its contents, and simple file helpers that do not
// use the code under test.
#pragma once

#include <doctest/doctest.h>
#include <tapestry/core/error.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry::test {

class Scratch {
public:
    Scratch() {
        std::string pattern = (std::filesystem::temp_directory_path() / "tapestry-XXXXXX").native();
        if (::mkdtemp(pattern.data()) == nullptr) throw Error("mkdtemp " + pattern);
        path_ = pattern;
        std::filesystem::permissions(path_, std::filesystem::perms(0755));
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

    /// Names of the directory's entries, sorted: their order in it depends on the file system.
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(path_)) {
            names.push_back(entry.path().filename().native());
        }
        std::sort(names.begin(), names.end());
        return names;
    }

private:
    std::filesystem::path path_;
};

inline void spill(const std::filesystem::path& path, std::string_view contents) {
    std::ofstream(path, std::ios::binary)
        .write(contents.data(), static_cast<std::streamsize>(contents.size()));
}

inline std::string slurp(const std::filesystem::path& path) {
    std::ostringstream contents;  // whole blocks: an iterator over characters is slow without -O
    contents << std::ifstream(path, std::ios::binary).rdbuf();
    return std::move(contents).str();
}

/// The JSON that a page carries.
inline std::string data_of_page(const std::string& page) {
    constexpr std::string_view kBegin = "id=\"data\">";
    const std::size_t at = page.find(kBegin), from = at + kBegin.size();
    REQUIRE_NE(at, std::string::npos);
    return page.substr(from, page.find("</script>", from) - from);
}

/// The message of the E that `f` throws; "no error" if it throws nothing.
template <class E, class F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (const E& error) {
        return error.what();
    }
    return "no error";
}

/// Checks that `f` throws an E whose message contains `part`.
template <class E, class F>
void check_message(F&& f, std::string_view part) {
    const std::string message = message_of<E>(f);
    INFO("message: " << message);
    INFO("wanted:  " << std::string(part));
    CHECK(message.find(part) != std::string::npos);
}

}  // namespace tapestry::test
