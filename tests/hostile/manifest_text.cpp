#include <tapestry/tests/hostile/manifest_text.h>

#include <tapestry/core/checksum.h>
#include <tapestry/tests/core/scratch.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tapestry::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kName = "tapestry-manifest.json";

bool is_inside(const fs::path& directory, const fs::path& path) {
    std::error_code ignored;
    const fs::path top = fs::weakly_canonical(directory, ignored);
    const fs::path real = fs::weakly_canonical(path.parent_path(), ignored);
    return std::mismatch(top.begin(), top.end(), real.begin(), real.end()).first == top.end();
}

void spill_inside(const fs::path& directory, const fs::path& name, std::string_view contents) {
    if (name.native().find('\0') != std::string::npos || !is_inside(directory, directory / name)) {
        return;
    }
    spill(directory / name, contents);
}

}  // namespace

ManifestText::ManifestText(const fs::path& directory) {
    if (fs::exists(directory / kName)) {
        const Json json = Json::parse(slurp(directory / kName));
        for (const auto& [name, file] : json.at("files").items()) {
            list(name, file.at("bytes").dump(), file.at("xxh3_128").dump());
        }
        return;
    }
    for (const auto& entry : fs::directory_iterator(directory)) {
        if (entry.is_regular_file()) list(entry.path().filename().native(), slurp(entry.path()));
    }
}

void ManifestText::list(const std::string& name, std::string_view contents) {
    list(name, std::to_string(contents.size()), "\"" + checksum_of(contents) + "\"");
}

void ManifestText::list(const std::string& name, const std::string& bytes,
                        const std::string& checksum) {
    files_.push_back({name, bytes, checksum});
}

void ManifestText::drop(const std::string& name) {
    std::erase_if(files_, [&](const Listed& file) { return file.name == name; });
}

std::string ManifestText::text() const {
    std::string text =
        "{\"format\":" + format + ",\"tapestry\":\"0\",\"stage\":" + stage + ",\"files\":{";
    for (const Listed& file : files_) {
        if (&file != files_.data()) text += ',';
        text += "\n\"" + file.name + "\":{\"bytes\":" + file.bytes +
                ",\"xxh3_128\":" + file.checksum + "}";
    }
    return text + "}" + (removed.empty() ? "" : ",\"removed\":" + removed) + "}\n";
}

void ManifestText::write(const fs::path& directory) const { spill(directory / kName, text()); }

std::vector<std::string> ManifestText::names() const {
    std::vector<std::string> names;
    for (const Listed& file : files_) names.push_back(file.name);
    return names;
}

fs::path staged_beside(const std::string& name, const std::string& stage) {
    const fs::path path = name;
    return path.parent_path() / (".saving-" + stage + "-" + path.filename().native());
}

fs::path staged_on_top(const std::string& name, const std::string& stage) {
    std::string flat = name;
    std::replace(flat.begin(), flat.end(), '/', '-');
    return ".saving-" + stage + "-" + flat;
}

void put_staged(const fs::path& directory, const std::string& name, std::string_view contents,
                const std::string& stage) {
    spill_inside(directory, staged_beside(name, stage), contents);
    spill_inside(directory, staged_on_top(name, stage), contents);
}

std::string decoded(const std::string& name) {
    const Json json = Json::parse("\"" + name + "\"", nullptr, false);
    return json.is_string() ? json.get<std::string>() : name;
}

}  // namespace tapestry::test
