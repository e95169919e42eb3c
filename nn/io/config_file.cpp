#include <tapestry/nn/io/config_file.h>

#include <tapestry/core/file.h>
#include <tapestry/nn/json_tree.h>
#include <tapestry/nn/json_writer.h>

#include <algorithm>
#include <functional>

namespace tapestry {
namespace {

constexpr std::uint64_t kMaxConfig = std::uint64_t{1} << 28;

template <class T>
bool fits(const nlohmann::json& value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value.is_boolean();
    } else if constexpr (std::is_same_v<T, std::string>) {
        return value.is_string();
    } else if constexpr (std::is_same_v<T, double>) {
        return value.is_number();
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        return value.is_array() && std::all_of(value.begin(), value.end(),
                                               [](const auto& each) { return each.is_string(); });
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        return value.is_number_unsigned();
    } else {
        return value.is_number_integer() && value.template get<double>() < 4.6e18 &&
               value.template get<double>() > -4.6e18;
    }
}

std::string shown(const nlohmann::json& value) {
    return value.is_structured() ? value.type_name() : value.dump();
}

}  // namespace

struct ConfigFile::Json {
    JsonTree tree;
    const nlohmann::json& object() const { return tree.root(); }
};

ConfigFile::ConfigFile(std::unique_ptr<Json> json, std::string name)
    : path_(std::move(name)), json_(std::move(json)) {}

ConfigFile::ConfigFile(std::string_view text, std::string name)
    : ConfigFile(std::make_unique<Json>(), std::move(name)) {
    try {
        json_->tree.parse(text);
    } catch (const nlohmann::json::exception& error) {
        fail<IoError>("{}: not valid JSON: {}", path_, error.what());
    }
    require<IoError>(json_->object().is_object(), "{}: not a JSON object", path_);
}

ConfigFile::ConfigFile(const std::filesystem::path& path)
    : ConfigFile(read_file(path, kMaxConfig), path.string()) {}

ConfigFile::~ConfigFile() = default;

bool ConfigFile::has(const char* name) const {
    const auto found = json_->object().find(name);
    return found != json_->object().end() && !found->is_null();
}

template <class T>
T ConfigFile::get(const char* name) const {
    const auto found = json_->object().find(name);
    require<IoError>(found != json_->object().end(), "{}: \"{}\" is missing", path_, name);
    if (!fits<T>(*found)) {
        fail<IoError>("{}: \"{}\" is {}, which is not what belongs there", path_, name,
                      shown(*found));
    }
    return found->template get<T>();
}

ConfigFile ConfigFile::object(const char* name) const {
    const auto found = json_->object().find(name);
    require<IoError>(found != json_->object().end(), "{}: \"{}\" is missing", path_, name);
    if (!found->is_object()) {
        fail<IoError>("{}: \"{}\" is {}, not a JSON object", path_, name, shown(*found));
    }
    auto json = std::make_unique<Json>();
    json->tree.root() = *found;
    return {std::move(json), fmt::format("{}: {}", path_, name)};
}

struct ConfigWriter::Json {
    std::vector<std::function<void(JsonWriter&)>> members;

    void write(JsonWriter& json) const {
        json.object([&] {
            for (const auto& write_member : members) write_member(json);
        });
    }
};

ConfigWriter::ConfigWriter() : json_(std::make_unique<Json>()) {}
ConfigWriter::~ConfigWriter() = default;

template <class T>
void ConfigWriter::set(const char* name, const T& value) {
    json_->members.push_back(
        [name = std::string(name), value](JsonWriter& json) { json.member(name, value); });
}

void ConfigWriter::set(const char* name, const ConfigWriter& object) {
    json_->members.push_back([name = std::string(name), members = *object.json_](JsonWriter& json) {
        json.member(name, [&] { members.write(json); });
    });
}

std::string ConfigWriter::text() const {
    JsonWriter json(2);
    json_->write(json);
    return json.text() + "\n";
}

template bool ConfigFile::get(const char*) const;
template std::int64_t ConfigFile::get(const char*) const;
template std::uint64_t ConfigFile::get(const char*) const;
template double ConfigFile::get(const char*) const;
template std::string ConfigFile::get(const char*) const;
template std::vector<std::string> ConfigFile::get(const char*) const;

template void ConfigWriter::set(const char*, const bool&);
template void ConfigWriter::set(const char*, const std::int64_t&);
template void ConfigWriter::set(const char*, const std::uint64_t&);
template void ConfigWriter::set(const char*, const double&);
template void ConfigWriter::set(const char*, const std::string&);
template void ConfigWriter::set(const char*, const std::vector<std::string>&);

}  // namespace tapestry
