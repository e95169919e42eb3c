// tapestry-manifest.json as an attacker writes it: every name, number and checksum is a piece of
// JSON that need not make sense.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry::test {

/// A stage in the format that commands use.
inline constexpr const char* kStage = "0123456789abcdef";

class ManifestText {
public:
    ManifestText() = default;
    /// Lists the same as the directory's manifest or, without one, its regular files.
    explicit ManifestText(const std::filesystem::path& directory);

    /// Adds a file, even if the name is already listed. `name` is the JSON between the quotes.
    void list(const std::string& name, std::string_view contents);
    void list(const std::string& name, const std::string& bytes, const std::string& checksum);
    void drop(const std::string& name);

    std::string text() const;
    void write(const std::filesystem::path& directory) const;

    std::string format = "1";
    std::string removed;  ///< JSON: files of the previous commit that this one lacks
    std::string stage = std::string("\"") + kStage + "\"";  ///< with its quotes
    std::vector<std::string> names() const;

private:
    struct Listed {
        std::string name, bytes, checksum;
    };
    std::vector<Listed> files_;
};

/// Where a commit with this stage keeps the file until completion: in its folder or, in older
/// versions, in the top directory.
std::filesystem::path staged_beside(const std::string& name, const std::string& stage = kStage);
std::filesystem::path staged_on_top(const std::string& name, const std::string& stage = kStage);

/// Puts a file in both places, if such files can be created inside the directory.
void put_staged(const std::filesystem::path& directory, const std::string& name,
                std::string_view contents, const std::string& stage = kStage);

/// Decodes the JSON between quotes; the text itself if it is not JSON.
std::string decoded(const std::string& name);

}  // namespace tapestry::test
