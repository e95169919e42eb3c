#include <tapestry/core/error.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/tests/fuzz/calls.h>
#include <tapestry/tests/fuzz/run_archive.h>

#include <fmt/core.h>

#include <array>
#include <exception>
#include <string_view>

namespace tapestry::fuzz {
namespace {

namespace fs = std::filesystem;

// Describes an exception that no call may throw; "" if there is none.
std::string flaw_of(const Call& call, const Place& place) {
    try {
        call.run(place);
    } catch (const Error&) {
    } catch (const std::exception& error) {
        return fmt::format("{} threw what is no tapestry::Error: {}", call.name, error.what());
    }
    return {};
}

std::string run_readers(const World& world, const Archive& archive, const Place& place) {
    const Snapshot before = world.look(true);
    std::string called;
    for (std::size_t i = 0; i < readers().size(); ++i) {
        if ((archive.readers >> i & 1U) == 0) continue;
        const Call& reader = readers()[i];
        const std::string flaw = flaw_of(reader, place);
        if (!flaw.empty()) return flaw;
        called += fmt::format("{}{}", called.empty() ? "" : ", ", reader.name);
    }
    const std::string changed = difference(before, world.look(true));
    return changed.empty() ? "" : fmt::format("{}: after reading by {}", changed, called);
}

// Whether a run, a model, data or a cache may have written a file of this name.
bool is_known(std::string_view name) {
    constexpr std::array<std::string_view, 21> kKnown{
        "config.json",   "model.safetensors",       "vocab.json", "merges.txt",
        "metrics.jsonl", "metrics.new.jsonl",       "data.json",  "ids.bin",
        "report.html",   "tapestry-manifest.json",  "step.json",  "tokenizer.huggingface.json",
        "encoder.json",  "tapestry_tokenizer.json", "vocab.bpe",  "tokenizer.json",
        ".lock",         "generation_config.json",  "best",       "checkpoints",
        "trap"};
    for (const std::string_view known : kKnown) {
        if (name == known) return true;
    }
    return name == "rewind" || name.starts_with(".saving-") || name.starts_with(".tapestry-");
}

// Whether the manifest lists the file with this size and checksum.
bool is_listed(const Manifest& manifest, const std::string& name, const Item& item) {
    const FileDigest digest{item.contents.size(), checksum_of(item.contents)};
    for (const auto* files : {&manifest.files, &manifest.removed}) {
        const auto found = files->find(name);
        if (found != files->end() && found->second == digest) return true;
    }
    return false;
}

// Files in D that the writer may not touch: unless it keeps all, those of unknown names, and states
// that no manifest lists.
Snapshot kept_files(const World& world, const Call& writer, const Place& place) {
    constexpr std::string_view kBelow = "place/D/";
    Manifest manifest;
    try {
        manifest = read_manifest(place.directory).value_or(Manifest{});
    } catch (const Error&) {
    }
    Snapshot kept;
    for (const auto& [path, item] : world.look(true)) {
        if (!path.starts_with(kBelow) || (item.mode & 0170000U) == 0040000U) continue;
        const std::string name = path.substr(kBelow.size());
        const bool is_foreign =
            !is_known(fs::path(name).filename().native()) && !is_listed(manifest, name, item);
        const bool stays =
            writer.keeps_files ? name != ".lock" : writer.keeps_foreign_files && is_foreign;
        if (stays) kept[path] = item;
    }
    return kept;
}

// The items of `of` that still exist, as they are now.
Snapshot still_there(const Snapshot& now, const Snapshot& of) {
    Snapshot found;
    for (const auto& [path, item] : of) {
        if (const auto at = now.find(path); at != now.end()) found[path] = at->second;
    }
    return found;
}

std::string run_writer(const World& world, const Call& writer, const Place& place) {
    const Snapshot before = world.look(!writer.writes);
    Snapshot kept;
    if (writer.writes) kept = kept_files(world, writer, place);
    const std::string flaw = flaw_of(writer, place);
    if (!flaw.empty()) return flaw;
    std::string changed = difference(before, world.look(!writer.writes));
    if (changed.empty() && !kept.empty()) {
        changed = difference(kept, still_there(world.look(true), kept));
    }
    return changed.empty() ? "" : fmt::format("{}: after {}", changed, writer.name);
}

}  // namespace

std::string run_archive(const World& world, const Archive& archive) {
    world.unpack(archive);
    const Place place{
        .directory = archive.step % 2 == 0 ? "D" : (world.root() / "place/D").native(),
        .text = "../outside/text.txt",
        .out = (world.root() / "out").native(),
        .step = archive.step % 100};
    const std::string found = run_readers(world, archive, place);
    if (!found.empty()) return found;
    const Call& writer = writers()[archive.writer % writers().size()];
    return run_writer(world, writer, place);
}

}  // namespace tapestry::fuzz
