#include <tapestry/nn/io/manifest.h>
#include <tapestry/tests/fuzz/mutate.h>
#include <tapestry/tests/fuzz/repair.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace tapestry::fuzz {
namespace {

constexpr const char* kStage = "0123456789abcdef";

constexpr std::array<std::string_view, 39> kNames{".saving-notes",
                                                  ".saving-0123456789abcdef-notes",
                                                  ".tapestry-notes.tmp",
                                                  "checkpoints/notes.txt",
                                                  "config.json",
                                                  "model.safetensors",
                                                  "tokenizer.json",
                                                  "vocab.json",
                                                  "merges.txt",
                                                  "tapestry_tokenizer.json",
                                                  "tapestry-manifest.json",
                                                  "metrics.jsonl",
                                                  "metrics.new.jsonl",
                                                  "report.html",
                                                  "step.json",
                                                  "data.json",
                                                  "ids.bin",
                                                  "ids.txt",
                                                  "tokenizer.huggingface.json",
                                                  "best",
                                                  "checkpoints",
                                                  "rewind",
                                                  "trap",
                                                  "checkpoints/step-00000004.safetensors",
                                                  "rewind/step-00000002.safetensors",
                                                  "best/model.safetensors",
                                                  ".lock",
                                                  "pairs.tsv",
                                                  "labels.csv",
                                                  "questions.jsonl",
                                                  "table.csv",
                                                  "chat.jsonl",
                                                  "chat_template.jinja",
                                                  "images.csv",
                                                  "images/a/1.pgm",
                                                  "array.npy",
                                                  "adapter/adapter_config.json",
                                                  "adapter/adapter_model.safetensors",
                                                  "notes.txt"};

constexpr std::array<std::string_view, 8> kTargets{"../outside/private/notes.txt",
                                                   "../../outside/private",
                                                   "../../outside/private/model.safetensors",
                                                   "@ROOT@/outside/private/notes.txt",
                                                   "../D",
                                                   "config.json",
                                                   "outside/private/notes.txt",
                                                   "/dev/zero"};

std::string some_path(Chance& chance) {
    if (chance.one_in(12)) return std::string(kManifestName);  // in D's parent
    std::string path = fmt::format("D/{}", chance.pick(kNames));
    if (chance.one_in(6)) path = staged_path(path, kStage, false);
    return path;
}

std::string folder_of(const Entry& entry) {
    return entry.path.starts_with("D/best/") ? "D/best" : "D";
}

// Renames the file as if a commit had been interrupted before it moved it into place.
void stage(Archive& archive, Entry& entry, Chance& chance) {
    const std::string folder = folder_of(entry);
    std::string named = stage_in(archive, folder);
    if (named.empty()) named = chance.one_in(3) ? std::string(hostile_text(chance)) : kStage;
    if (chance.one_in(3)) {
        const std::string name = entry.path.substr(std::min(entry.path.size(), folder.size() + 1));
        entry.path = folder + "/" + staged_path(name, named, true);
    } else {
        entry.path = staged_path(entry.path, named, false);
    }
}

void add_or_replace(Archive& archive, Entry entry) {
    if (Entry* old = find(archive, entry.path)) {
        *old = std::move(entry);
    } else {
        archive.entries.push_back(std::move(entry));
    }
}

// Adds a manifest that names a file outside of D, and the staged file that is to be moved there.
void aim_outside(Archive& archive, Chance& chance) {
    const std::string name(hostile_text(chance));
    const std::string folder = chance.one_in(6) ? "D/best" : "D";
    const std::string path = chance.one_in(8) ? kManifestName : folder + "/" + kManifestName;
    const std::string above = path == kManifestName ? "" : folder + "/";
    Entry staged{.path = above + staged_path(name, kStage, true), .contents = "overwritten\n"};
    std::string manifest = manifest_of(archive, folder, kStage);
    const std::size_t files = manifest.find("\"files\": {") + 10;
    const bool is_last = manifest.find('"', files) == std::string::npos;
    manifest.insert(files, fmt::format("\n    \"{}\": {{\"bytes\": 0, \"xxh3_128\": \"\"}}{}", name,
                                       is_last ? "" : ","));
    if (chance.one_in(3)) staged.path = above + staged_path(name, kStage, false);
    add_or_replace(archive, std::move(staged));
    add_or_replace(archive, {.path = path, .contents = std::move(manifest)});
}

void change_kind(Entry& entry, Chance& chance) {
    entry.kind = static_cast<EntryKind>(chance.below(5));
    const bool is_link = entry.kind == EntryKind::link || entry.kind == EntryKind::hard_link;
    if (is_link) entry.contents = chance.pick(kTargets);
    if (entry.kind == EntryKind::hard_link && chance.one_in(2)) {
        entry.contents = fmt::format("place/D/{}", chance.pick(kNames));
    }
}

// Replaces a folder by a link.
void link_folder(Archive& archive, Chance& chance) {
    constexpr std::array<std::string_view, 4> kFolders{"best", "checkpoints", "rewind", "trap"};
    const std::string folder = fmt::format("D/{}", chance.pick(kFolders));
    const bool moves = chance.one_in(2);  // the link leads to the folder's files
    for (Entry& entry : archive.entries) {
        if (entry.path.starts_with(folder + "/")) {
            entry.path = (moves ? "elsewhere" : "D/other") + entry.path.substr(folder.size());
        }
    }
    const std::string target = moves ? "../elsewhere" : std::string(chance.pick(kTargets));
    add_or_replace(archive, {.kind = EntryKind::link, .path = folder, .contents = target});
}

void change_run(Archive& archive, Chance& chance) {
    switch (chance.below(5)) {
        case 0: archive.readers ^= 1U << chance.below(32); break;
        case 4: archive.readers = 1U << chance.below(32) | 1U << chance.below(32); break;
        case 1: archive.step = static_cast<std::uint32_t>(chance.below(12)); break;
        case 2: archive.writer = 0; break;
        default: archive.writer = static_cast<std::uint32_t>(chance.below(24));
    }
}

void mutate_entry(Archive& archive, std::size_t i, Chance& chance) {
    Entry& entry = archive.entries[i];
    switch (chance.below(12)) {
        case 0: entry.path = some_path(chance); break;
        case 1: {
            Entry copy = entry;
            copy.path = some_path(chance);
            archive.entries.push_back(std::move(copy));
            break;
        }
        case 2:
            archive.entries.erase(archive.entries.begin() + static_cast<std::ptrdiff_t>(i));
            break;
        case 3: std::swap(entry.contents, chance.pick(archive.entries).contents); break;
        case 4: change_kind(entry, chance); break;
        case 5: entry.mode = static_cast<unsigned>(chance.below(512)); break;
        case 6: stage(archive, entry, chance); break;
        case 7: entry.path += chance.one_in(2) ? "x" : "/x"; break;
        default: entry.contents = mutate_contents(entry.path, std::move(entry.contents), chance);
    }
}

void mutate_once(Archive& archive, Chance& chance) {
    const std::size_t choice = chance.below(16);
    if (choice == 0) return change_run(archive, chance);
    if (choice == 1) return aim_outside(archive, chance);
    if (choice == 2) return link_folder(archive, chance);
    if (choice == 3) {
        return add_or_replace(archive, {.path = std::string("D/") + kManifestName,
                                        .contents = manifest_of(archive, "D", kStage)});
    }
    if (archive.entries.empty()) {
        archive.entries.push_back({.path = some_path(chance), .contents = "{\"a\": 1}"});
        return;
    }
    mutate_entry(archive, chance.below(archive.entries.size()), chance);
}

}  // namespace

void mutate(Archive& archive, Chance& chance) {
    for (std::size_t i = 0; i <= chance.below(4); ++i) mutate_once(archive, chance);
    if (archive.entries.size() > kMaxEntries) archive.entries.resize(kMaxEntries);
    if (!chance.one_in(4)) repair(archive);
}

Archive cross(const Archive& a, const Archive& b, Chance& chance) {
    Archive both = a;
    for (const Entry& entry : b.entries) {
        if (chance.one_in(4) && both.entries.size() < kMaxEntries) add_or_replace(both, entry);
    }
    if (chance.one_in(2)) both.readers |= b.readers;
    if (chance.one_in(2)) both.writer = b.writer;
    if (chance.one_in(2)) repair(both);
    return both;
}

}  // namespace tapestry::fuzz
