#include <tapestry/core/error.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/tests/fuzz/calls.h>
#include <tapestry/tests/fuzz/repair.h>
#include <tapestry/tests/fuzz/world.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <exception>
#include <regex>

namespace tapestry::fuzz {
namespace {

namespace fs = std::filesystem;

const std::string kBelow = "place/D/";

// Describes an exception that no call may throw; "" if there is none.
std::string flaw_of(const Call& call, const Place& place) {
    try {
        call.run(place);
    } catch (const Error&) {
    } catch (const std::exception& error) {
        return fmt::format("{} threw something other than tapestry::Error: {}", call.name,
                           error.what());
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

// Names of files that a process leaves behind when it is killed.
bool is_left_over(const std::string& file) {
    static const std::regex names(
        R"(\.saving-[0-9a-f]{16}-.*|\.tapestry-[0-9]+-[0-9]+\.tmp|\.lock)");
    return std::regex_match(file, names);
}

// Whether a run, a model, data or a cache may have a file of this name in D. Of states only those
// that a manifest lists.
bool is_known(const std::string& name) {
    static const std::string model =
        "config.json|model.safetensors|tokenizer.json|tapestry_tokenizer.json|vocab.json|"
        "merges.txt|tapestry-manifest.json";
    static const std::regex names("(" + model +
                                  "|metrics.jsonl|metrics.new.jsonl|report.html|"
                                  "([0-9a-f]{32}/)?(data.json|ids.bin|tokenizer.json|vocab.json|"
                                  "merges.txt|tokenizer.huggingface.json)|best/(" +
                                  model + ")|trap/(step.json|" + model + "))");
    static const std::regex folders("((best|trap|checkpoints|rewind|[0-9a-f]{32})/)?[^/]*");
    const std::string file = fs::path(name).filename().native();
    return std::regex_match(name, names) || (std::regex_match(name, folders) && is_left_over(file));
}

bool has_digest(const Item& item, const FileDigest& digest) {
    return digest == FileDigest{item.contents.size(), checksum_of(item.contents)};
}

// Whether a commit may replace or remove this file of D: the manifest lists it with this size and
// checksum, or an interrupted commit has staged what the manifest lists.
bool is_committed(const Manifest& manifest, const Snapshot& all, const std::string& name) {
    const Item& item = all.at(kBelow + name);
    if (const auto removed = manifest.removed.find(name); removed != manifest.removed.end()) {
        return has_digest(item, removed->second);
    }
    const auto listed = manifest.files.find(name);
    if (listed == manifest.files.end()) return false;
    if (has_digest(item, listed->second)) return true;
    for (const bool beside_manifest : {false, true}) {
        const auto staged = all.find(kBelow + staged_path(name, manifest.stage, beside_manifest));
        if (staged != all.end() && has_digest(staged->second, listed->second)) return true;
    }
    return false;
}

// Files in D that the writer may not touch: unless it keeps all, those of unknown names, and states
// that no manifest lists.
Snapshot kept_files(const World& world, const Call& writer, const Place& place) {
    Manifest manifest;
    try {
        manifest = read_manifest(place.directory).value_or(Manifest{});
    } catch (const Error&) {
    }
    Snapshot kept;
    const Snapshot all = world.look(true);
    for (const auto& [path, item] : all) {
        if (!path.starts_with(kBelow) || (item.mode & 0170000U) == 0040000U) continue;
        const std::string name = path.substr(kBelow.size());
        const bool is_foreign = !is_known(name) && !is_committed(manifest, all, name);
        if (writer.keeps_files ? name != ".lock" : is_foreign) kept[path] = item;
    }
    return kept;
}

// The items of `of` that still exist, as they are now. A resumed run renames a state that is in its
// way to NAME.unlisted, NAME.unlisted-2, ...
Snapshot still_there(const Snapshot& now, const Snapshot& of) {
    Snapshot found;
    for (const auto& kept : of) {
        const auto is_it = [&kept](const auto& one) {
            return one.second == kept.second && one.first.starts_with(kept.first + ".unlisted");
        };
        const auto at = now.find(kept.first);
        if (std::any_of(now.begin(), now.end(), is_it)) {
            found.insert(kept);
        } else if (at != now.end()) {
            found.insert(*at);
        }
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
    const std::array<std::string, 4> names{"D", world.root() / "place/D", "D/", "./D/../D"};
    const Place place{.directory = names[archive.step % names.size()],
                      .text = "../outside/text.txt",
                      .out = (world.root() / "out").native(),
                      .step = archive.step % 100};
    const std::string found = run_readers(world, archive, place);
    if (!found.empty()) return found;
    const Call& writer = writers()[archive.writer % writers().size()];
    return run_writer(world, writer, place);
}

}  // namespace tapestry::fuzz
