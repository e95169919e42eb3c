// The settings in a model's config.json, asked for one by one, each with the type it must have.
// Internal to nn/io: the JSON library stays out of the headers. Read next: nn/io/model_directory.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace tapestry {

/// Every failure is an IoError that names the file, the setting and what stands there.
class ConfigFile {
public:
    /// Throws when the file cannot be read or is not a JSON object.
    explicit ConfigFile(const std::filesystem::path& path);
    ~ConfigFile();
    ConfigFile(const ConfigFile&) = delete;
    ConfigFile& operator=(const ConfigFile&) = delete;

    const std::string& path() const { return path_; }

    /// Whether it is there, and not null.
    bool has(const char* name) const;

    /// The setting `name`: T is bool, std::int64_t (up to 2^62, so that the sum of two is one
    /// still), double or std::string. Throws when it is missing or of another type.
    template <class T>
    T get(const char* name) const;

    /// The same, or `other` where there is none.
    template <class T>
    T get(const char* name, const T& other) const {
        return has(name) ? get<T>(name) : other;
    }

private:
    struct Json;
    std::string path_;
    std::unique_ptr<Json> json_;
};

}  // namespace tapestry
