// Reads and writes config.json, one setting at a time or all fields of a configuration at once,
// with their types checked. Internal to nn: keeps the JSON library out of the headers. Read next:
// nn/module/config_fields.h, what a field is; nn/io/model_directory.h.
#pragma once

#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/module/config_fields.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

class JsonNode;
class JsonTree;
class JsonWriter;

/// Reads settings. Every failure is an IoError that names the file, the setting and its value.
class ConfigFile {
public:
    /// Throws if the file cannot be read or is not a JSON object.
    explicit ConfigFile(const std::filesystem::path& path);
    /// Reads a text, with `name` in error messages.
    ConfigFile(std::string_view text, std::string name);
    ~ConfigFile();
    ConfigFile(const ConfigFile&) = delete;
    ConfigFile& operator=(const ConfigFile&) = delete;

    const std::string& path() const { return path_; }

    /// Whether the setting exists and is not null.
    bool has(const char* name) const;

    /// The setting `name`: T is bool, std::int64_t (below 2^62, so two can be added),
    /// std::uint64_t, double, std::string or a vector of them. Throws if it is missing or of
    /// another type.
    template <class T>
    T get(const char* name) const;

    /// The same, or `other` if it is missing.
    template <class T>
    T get(const char* name, const T& other) const {
        return has(name) ? get<T>(name) : other;
    }

    /// The setting as JSON, as long as this exists. Throws if it is missing.
    JsonNode node(const char* name) const;

    /// All settings, as long as this exists.
    std::vector<std::pair<std::string, JsonNode>> members() const;

    /// The object of this name. Throws if it is missing or of another type.
    ConfigFile object(const char* name) const;

private:
    ConfigFile(std::unique_ptr<JsonTree> tree, std::string name);

    std::string path_;
    std::unique_ptr<JsonTree> tree_;
};

/// Writes settings, in the order of the calls.
class ConfigWriter {
public:
    ConfigWriter();
    ~ConfigWriter();
    ConfigWriter(const ConfigWriter&) = delete;
    ConfigWriter& operator=(const ConfigWriter&) = delete;

    /// T as in ConfigFile::get.
    template <class T>
    void set(const char* name, const T& value);
    void set(const char* name, const char* value) { set(name, std::string(value)); }
    void set(const char* name, const ConfigWriter& object);
    /// An object that is JSON already.
    void set_json(const char* name, const std::string& object);

    /// The JSON object, indented by two spaces, with a final newline.
    std::string text() const;

private:
    struct Json;
    std::unique_ptr<Json> json_;
};

/// All members of an object in JSON, each as JsonWriter::member writes it.
void write_members(JsonWriter& to, const std::string& object);

/// Throws IoError, listing the known names, unless `name` is one of them.
void check_known(const ConfigFile& file, const char* setting, const std::string& name,
                 const std::vector<std::string>& known);

/// The value named by `setting`, or `other` if it is missing. Throws as check_known() does.
template <class Enum>
Enum value_in(const ConfigFile& file, const char* setting, Enum other) {
    const auto name = file.get<std::string>(setting, name_of_value(other));
    std::vector<std::string> known;
    for (const auto& entry : NamesOf<Enum>::list) {
        if (entry.second == name) return entry.first;
        known.emplace_back(entry.second);
    }
    check_known(file, setting, name, known);
    return other;
}

/// The fields stored in a model's config.json, or all fields.
enum class WhichFields { stored, all };

/// Reads a configuration; optional fields that the file lacks stay as in `config`.
template <class Config>
Config read_fields(const ConfigFile& file, WhichFields which = WhichFields::stored,
                   Config config = Config()) {
    for_each_field<Config>([&](const auto& one) {
        auto& value = config.*one.member;
        using Value = typename std::decay_t<decltype(one)>::Value;
        if (which == WhichFields::stored && !one.traits.stored) return;
        if constexpr (std::is_enum_v<Value>) {
            value = value_in(file, one.name, value);
        } else {
            if constexpr (std::is_same_v<Value, double>) {
                value = one.traits.absent.value_or(value);
            }
            value =
                one.traits.required ? file.get<Value>(one.name) : file.get<Value>(one.name, value);
            if constexpr (std::is_same_v<Value, std::string>) {
                if (one.traits.choices) check_known(file, one.name, value, one.traits.choices());
            }
        }
    });
    return config;
}

/// The inverse.
template <class Config>
void write_fields(ConfigWriter& to, const Config& config, WhichFields which = WhichFields::stored) {
    for_each_field<Config>([&](const auto& one) {
        using Value = typename std::decay_t<decltype(one)>::Value;
        if (which == WhichFields::stored && !one.traits.stored) return;
        if (one.traits.optional && config.*one.member == Config().*one.member) return;
        if constexpr (std::is_enum_v<Value>) {
            to.set(one.name, name_of_value(config.*one.member));
        } else {
            to.set(one.name, config.*one.member);
        }
    });
}

}  // namespace tapestry
