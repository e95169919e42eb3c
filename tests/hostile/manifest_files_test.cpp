// The manifest as a file: other file types, excessive size, deep nesting, other places.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/depth.h>
#include <tapestry/tests/hostile/manifest_text.h>
#include <tapestry/tests/hostile/odd_files.h>

#include <string>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kManifest = "tapestry-manifest.json";

Attack as_manifest(const std::string& name, const Replacement& replacement,
                   const std::string& refusal = kManifest) {
    return {
        .name = "the manifest is " + name,
        .why = "every command reads it first",
        .prepare = [=](const Target& target) { put(target.directory / kManifest, replacement); },
        .refusal = refusal};
}

std::string with_files(const std::string& files) {
    return std::string("{\"format\":1,\"stage\":\"") + kStage + "\",\"files\":" + files + "}";
}

// Ten thousand states, none of which exists.
std::string many_states() {
    std::string files;
    for (int i = 0; i < 10000; ++i) {
        std::string number = std::to_string(i);
        number.insert(0, 8 - number.size(), '0');
        files += (i > 0 ? "," : "{") + std::string("\"checkpoints/step-") + number +
                 ".safetensors\":{\"bytes\":8,\"xxh3_128\":\"0123456789abcdef0123456789abcdef\"}";
    }
    return with_files(files + "}");
}

}  // namespace

TEST_CASE("hostile: a manifest that is not a file") {
    try_attacks(
        Kind::run,
        {as_manifest("a pipe", a_fifo), as_manifest("a folder", a_folder),
         as_manifest("a socket", a_socket), as_manifest("a device", a_device),
         as_manifest("a link to itself", link_to(kManifest)),
         as_manifest("a link to an endless file", link_to("/dev/zero")),
         as_manifest("a link to a terminal", link_to("/dev/tty")),
         as_manifest("a link to nothing", link_to("../none"), ""),
         as_manifest("a link to another run's", link_to("../victim/tapestry-manifest.json"), ""),
         as_manifest("a link to a text", link_to("../victim/notes.txt")),
         as_manifest("a terabyte", a_huge_file),
         as_manifest("a hard link to a text", [](const fs::path& at) {
             fs::create_hard_link(at.parent_path().parent_path() / "victim/notes.txt", at);
         })});
}

TEST_CASE("hostile: a file that is not a manifest") {
    try_attacks(
        Kind::run,
        {as_manifest("empty", contents("")), as_manifest("a list", contents("[]")),
         as_manifest("of NULs", contents(std::string(500, '\0'))),
         as_manifest("not UTF-8", contents(with_files("{\"\xFF\":{}}"))),
         as_manifest("of a later format", contents("{\"format\":2,\"stage\":\"\",\"files\":{}}")),
         as_manifest("of no format", contents("{\"format\":\"1\",\"stage\":\"\",\"files\":{}}")),
         as_manifest("with a list of files", contents(with_files("[\"config.json\"]"))),
         as_manifest("with a path for files", contents(with_files("\"../victim\""))),
         as_manifest("with a path for a digest",
                     contents(with_files("{\"config.json\":\"../victim/notes.txt\"}"))),
         as_manifest("of nested lists", contents(nested_lists())),
         as_manifest("of nested objects", contents(nested("{\"files\":", "}"))),
         as_manifest("nested below its files",
                     contents(with_files("{\"a\":" + nested_lists() + "}"))),
         as_manifest("nested next to its files", contents("{\"a\":" + nested_objects() + "}")),
         as_manifest("of ten thousand states", contents(many_states()), "")});
}

namespace {

// A manifest for another directory than its own, next to the files it would move.
Attack elsewhere(const std::string& folder, const std::string& name, const char* why) {
    return {.name = "a manifest in " + folder + " lists " + name,
            .why = why,
            .prepare = [=](const Target& target) {
                const fs::path at = target.directory / folder;
                fs::create_directories(at);
                fs::remove(at / kManifest);
                ManifestText manifest;
                manifest.list(name, "hostile\n");
                manifest.write(at);
                put_staged(at, name, "hostile\n");
            }};
}

}  // namespace

TEST_CASE("hostile: manifests in other folders") {
    constexpr const char* kAbove = "the directory above may belong to any user";
    constexpr const char* kBelow = "a folder is a separate directory when opened";
    try_attacks(
        Kind::run,
        {elsewhere("..", "m/config.json", kAbove), elsewhere("..", "victim/notes.txt", kAbove),
         elsewhere("..", "best/config.json", kAbove), elsewhere("..", "config.json", kAbove),
         elsewhere("best", "../../victim/notes.txt", kBelow),
         elsewhere("best", "../config.json", kBelow),
         elsewhere("best", "checkpoints/step-00000040.safetensors", kBelow),
         elsewhere("checkpoints", "../../victim/notes.txt", kBelow),
         elsewhere("checkpoints", "step-00000040.safetensors", kBelow),
         elsewhere("trap", "../../victim/notes.txt", kBelow)});
    try_attacks(
        Kind::trap,
        {elsewhere("trap", "../../victim/notes.txt", kBelow),
         elsewhere("trap", "../config.json", kBelow), elsewhere("trap", "step.json", kBelow),
         elsewhere("..", "m/trap/step.json", kAbove), elsewhere(".", "trap/step.json", kAbove)});
}
