// tapestry-manifest.json as an attacker writes it: every name, number and checksum is a piece of
// JSON that need not make sense.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::test {

/// A stage as the command makes them.
inline constexpr const char* kStage = "0123456789abcdef";

class ManifestText {
public:
    ManifestText() = default;
    /// What the directory's manifest lists; if there is none, its regular files.
    explicit ManifestText(const std::filesystem::path& directory);

    /// Adds a file, also one of a name that is listed already. `name` is the JSON between the
    /// quotes.
    void list(const std::string& name, std::string_view contents);
    void list(const std::string& name, const std::string& bytes, const std::string& checksum);
    void drop(const std::string& name);

    std::string text() const;
    void write(const std::filesystem::path& directory) const;

    std::string format = "1";
    std::string removed;  ///< the JSON of what the commit before had and this one has not
    std::string stage = std::string("\"") + kStage + "\"";  ///< with its quotes
    std::vector<std::string> names() const;

private:
    struct Listed {
        std::string name, bytes, checksum;
    };
    std::vector<Listed> files_;
};

/// Where a commit of this stage leaves the file until it is finished: in its folder, or, as older
/// versions do, in the top directory.
std::filesystem::path staged_beside(const std::string& name, const std::string& stage = kStage);
std::filesystem::path staged_on_top(const std::string& name, const std::string& stage = kStage);

/// Puts a file in both, as far as such files can be made inside the directory.
void put_staged(const std::filesystem::path& directory, const std::string& name,
                std::string_view contents, const std::string& stage = kStage);

/// What the JSON between quotes says; the text itself if that is no JSON.
std::string decoded(const std::string& name);

}  // namespace tapestry::test
