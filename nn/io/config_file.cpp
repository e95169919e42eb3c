#include <tapestry/core/file.h>
#include <tapestry/nn/io/config_file.h>

#include <nlohmann/json.hpp>

namespace tapestry {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kMaxConfig = std::uint64_t{1} << 28;

template <class T>
bool fits(const ordered_json& value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value.is_boolean();
    } else if constexpr (std::is_same_v<T, std::string>) {
        return value.is_string();
    } else if constexpr (std::is_same_v<T, double>) {
        return value.is_number();
    } else {
        return value.is_number_integer() && value.template get<double>() < 4.6e18 &&
               value.template get<double>() > -4.6e18;
    }
}

}  // namespace

struct ConfigFile::Json {
    ordered_json object;
};

ConfigFile::ConfigFile(const std::filesystem::path& path)
    : path_(path.string()), json_(std::make_unique<Json>()) {
    const std::string text = read_file(path, kMaxConfig);
    try {
        json_->object = ordered_json::parse(text);
    } catch (const nlohmann::json::exception& error) {
        fail<IoError>("{}: not valid JSON: {}", path_, error.what());
    }
    require<IoError>(json_->object.is_object(), "{}: not a JSON object", path_);
}

ConfigFile::~ConfigFile() = default;

bool ConfigFile::has(const char* name) const {
    const auto found = json_->object.find(name);
    return found != json_->object.end() && !found->is_null();
}

template <class T>
T ConfigFile::get(const char* name) const {
    const auto found = json_->object.find(name);
    require<IoError>(found != json_->object.end(), "{}: \"{}\" is missing", path_, name);
    require<IoError>(fits<T>(*found), "{}: \"{}\" is {}, which is not what belongs there", path_,
                     name, found->is_structured() ? found->type_name() : found->dump());
    return found->template get<T>();
}

template bool ConfigFile::get(const char*) const;
template std::int64_t ConfigFile::get(const char*) const;
template double ConfigFile::get(const char*) const;
template std::string ConfigFile::get(const char*) const;

}  // namespace tapestry
