#include <tapestry/nn/io/config_file.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>

#include <fmt/core.h>

#include <algorithm>
#include <functional>

namespace tapestry {
namespace {

constexpr std::uint64_t kMaxConfig = std::uint64_t{1} << 26;
constexpr std::int64_t kMost = std::int64_t{1} << 62;

std::unique_ptr<JsonTree> parsed(std::string_view text, const std::string& name) {
    try {
        return std::make_unique<JsonTree>(text);
    } catch (const JsonError& error) {
        fail<IoError>("{}: {}", name, error.what());
    }
}

}  // namespace

ConfigFile::ConfigFile(std::unique_ptr<JsonTree> tree, std::string name)
    : path_(std::move(name)), tree_(std::move(tree)) {
    require<IoError>(tree_->root().is(JsonKind::object), "{}: not a JSON object", path_);
}

ConfigFile::ConfigFile(std::string_view text, std::string name)
    : ConfigFile(parsed(text, name), name) {}

ConfigFile::ConfigFile(const std::filesystem::path& path)
    : ConfigFile(read_file(path, kMaxConfig), path.string()) {}

ConfigFile::~ConfigFile() = default;

bool ConfigFile::has(const char* name) const {
    const auto found = tree_->root().find(name);
    return found && !found->is(JsonKind::null);
}

template <class T>
T ConfigFile::get(const char* name) const {
    try {
        const T value = tree_->root().get<T>(name);
        if constexpr (std::is_same_v<T, std::int64_t>) {
            require<JsonError>(value < kMost && value > -kMost, "\"{}\" has an invalid value: {}",
                               name, value);
        }
        return value;
    } catch (const JsonError& error) {
        fail<IoError>("{}: {}", path_, error.what());
    }
}

void check_known(const ConfigFile& file, const char* setting, const std::string& name,
                 const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    std::string list;
    for (const std::string& one : known) {
        list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", one);
    }
    fail<IoError>("{}: \"{}\" is \"{}\"; must be one of {}", file.path(), setting,
                  utf8::printable(name), list);
}

JsonNode ConfigFile::node(const char* name) const {
    const auto found = tree_->root().find(name);
    require<IoError>(found.has_value(), "{}: \"{}\" is missing", path_, name);
    return *found;
}

std::vector<std::pair<std::string, JsonNode>> ConfigFile::members() const {
    return tree_->root().members();
}

ConfigFile ConfigFile::object(const char* name) const {
    const auto found = tree_->root().find(name);
    require<IoError>(found.has_value(), "{}: \"{}\" is missing", path_, name);
    require<IoError>(found->is(JsonKind::object), "{}: \"{}\" is {}, not a JSON object", path_,
                     name, found->shown());
    return {std::make_unique<JsonTree>(*found), fmt::format("{}: {}", path_, name)};
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

void ConfigWriter::set_json(const char* name, const std::string& object) {
    json_->members.push_back([name = std::string(name), object](JsonWriter& json) {
        json.member(name, [&] { json.object([&] { write_members(json, object); }); });
    });
}

std::string ConfigWriter::text() const {
    JsonWriter json(2);
    json_->write(json);
    return json.text() + "\n";
}

void write_members(JsonWriter& to, const std::string& object) {
    const JsonTree tree(object);
    for (const auto& [name, value] : tree.root().members()) {
        to.members_of(fmt::format("{{{}: {}}}", json_text(name), value.text()));
    }
}

template bool ConfigFile::get(const char*) const;
template std::int64_t ConfigFile::get(const char*) const;
template std::uint64_t ConfigFile::get(const char*) const;
template double ConfigFile::get(const char*) const;
template std::string ConfigFile::get(const char*) const;
template std::vector<std::string> ConfigFile::get(const char*) const;
template std::vector<double> ConfigFile::get(const char*) const;
template std::vector<std::int64_t> ConfigFile::get(const char*) const;

template void ConfigWriter::set(const char*, const bool&);
template void ConfigWriter::set(const char*, const std::int64_t&);
template void ConfigWriter::set(const char*, const std::uint64_t&);
template void ConfigWriter::set(const char*, const double&);
template void ConfigWriter::set(const char*, const std::string&);
template void ConfigWriter::set(const char*, const std::vector<std::string>&);
template void ConfigWriter::set(const char*, const std::vector<double>&);
template void ConfigWriter::set(const char*, const std::vector<std::int64_t>&);

}  // namespace tapestry
