#include <tapestry/core/error.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/tests/fuzz/calls.h>
#include <tapestry/tests/fuzz/repair.h>
#include <tapestry/tests/fuzz/seeds.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace tapestry::fuzz {
namespace {

constexpr const char* kStage = "0123456789abcdef";
const std::string kManifest = std::string("D/") + kManifestName;

const Archive& archive_of(const std::vector<Seed>& seeds, std::string_view name) {
    const auto found = std::find_if(seeds.begin(), seeds.end(),
                                    [name](const Seed& seed) { return seed.name == name; });
    require(found != seeds.end(), "seeds: none is called {}", name);
    return found->archive;
}

Archive with(Archive archive, std::string_view writer) {
    const auto all = writers();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [writer](const Call& call) { return call.name == writer; });
    require(found != all.end(), "seeds: no writer {}", writer);
    archive.writer = static_cast<std::uint32_t>(found - all.begin());
    return archive;
}

// A manifest that also names a file outside of D.
Archive aimed(Archive archive, const std::string& name, const std::string& stage = kStage) {
    std::string manifest = manifest_of(archive, "D", stage);
    const std::string files = "\"files\": {";
    manifest.insert(manifest.find(files) + files.size(),
                    fmt::format("\n    \"{}\": {{\"bytes\": 12, \"xxh3_128\": \"{}\"}},", name,
                                checksum_of("overwritten\n")));
    Entry* old = find(archive, kManifest);
    if (old == nullptr) old = &archive.entries.emplace_back(Entry{.path = kManifest});
    old->contents = manifest;
    archive.entries.push_back(
        {.path = "D/" + staged_path(name, stage, true), .contents = "overwritten\n"});
    return archive;
}

Archive without(Archive archive, const std::string& path) {
    std::erase_if(archive.entries, [&path](const Entry& entry) { return entry.path == path; });
    return archive;
}

Archive plus(Archive archive, Entry entry) {
    archive = without(std::move(archive), entry.path);
    archive.entries.push_back(std::move(entry));
    return archive;
}

// Moves a folder elsewhere and leaves a link to it in D.
Archive linked(Archive archive, const std::string& folder) {
    for (Entry& entry : archive.entries) {
        if (entry.path.starts_with("D/" + folder + "/")) entry.path.replace(0, 1, "disk");
    }
    archive.entries.push_back(
        {.kind = EntryKind::link, .path = "D/" + folder, .contents = "../disk/" + folder});
    return archive;
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

// Nests the configuration in the checkpoint, which is JSON within JSON, this deep.
Archive nested_in_checkpoint(Archive archive, std::size_t depth) {
    Entry* entry = find(archive, "D/checkpoints/step-00000002.safetensors");
    require(entry != nullptr, "seeds: the run has no checkpoint of step 2");
    std::string& file = entry->contents;
    std::uint64_t size = 0;
    std::memcpy(&size, file.data(), 8);
    const std::string model = R"(\\\"model\\\": {)";
    const std::size_t at = file.find(model);
    require(at != std::string::npos, "seeds: no model in the checkpoint's configuration");
    const std::string deep = R"(\\\"deep\\\":)" + nested(depth) + ",";
    file.insert(at + model.size(), deep);
    size += deep.size();
    std::memcpy(file.data(), &size, 8);
    repair(archive);
    return archive;
}

void add_aimed(std::vector<Seed>& seeds, const Archive& run, const Archive& gpt) {
    int number = 0;
    for (const char* name :
         {"../../outside/private/notes.txt", "../outside/private/notes.txt",
          "@ROOT@/outside/private/notes.txt", "best/../../../outside/private/notes.txt"}) {
        const std::string of = fmt::format("a1-name-{}", ++number);
        seeds.push_back({of, aimed(gpt, name)});
        if (number == 1) seeds.push_back({of + "-run", aimed(run, name)});
        seeds.push_back({fmt::format("a2-{}", number), with(aimed(gpt, name), "train")});
        seeds.push_back({fmt::format("a2-{}-save", number), with(aimed(gpt, name), "save_model")});
    }
    Archive stage = aimed(gpt, "config.json", "a/../../../outside/private/notes");
    stage = plus(without(std::move(stage), "D/config.json"),
                 {.kind = EntryKind::directory, .path = "D/.saving-a"});
    seeds.push_back({"a1-stage", stage});
    Archive above = aimed(gpt, "../outside/private/notes.txt");
    for (Entry& entry : above.entries) {
        if (entry.path.starts_with("D/.saving") || entry.path == kManifest) entry.path.erase(0, 2);
    }
    seeds.push_back({"a1-above", above});
}

void add_foreign(std::vector<Seed>& seeds, const Archive& run) {
    const Archive foreign = plus(run, {.path = "D/checkpoints/step-1000.safetensors"});
    for (const char* by : {"train", "begin_run", "resume", "RunDirectory"}) {
        seeds.push_back({fmt::format("a3-{}", seeds.size()), with(foreign, by)});
        seeds.push_back({fmt::format("a4-{}", seeds.size()), with(without(run, kManifest), by)});
    }
}

// Files with names like those that a killed process leaves.
void add_left_over(std::vector<Seed>& seeds, const Archive& gpt) {
    Archive archive = gpt;
    for (const char* name : {".tapestry-notes.tmp", ".tapestry-.tmp", ".saving-notes", "notes.txt",
                             "checkpoints/.tapestry-1x.tmp", "trap/.tapestry-1-2-3.tmp",
                             ".saving-0123456789ABCDEF-config.json"}) {
        archive.entries.push_back({.path = std::string("D/") + name, .contents = "mine\n"});
    }
    for (const char* by : {"train", "put_in_order", "save_model", "train --trap-nan"}) {
        seeds.push_back({fmt::format("a3-left-over-{}", seeds.size()), with(archive, by)});
    }
}

void add_nested(std::vector<Seed>& seeds, const Archive& run, const Archive& gpt,
                const Archive& trap, const Archive& data) {
    seeds.push_back({"a7-checkpoint", nested_in_checkpoint(run, 20000)});
    const std::string deep = R"({"format": 1, "model": )" + nested(10000) + "}";
    const std::vector<std::pair<const Archive*, const char*>> places{
        {&gpt, "config.json"},   {&gpt, kManifestName}, {&gpt, "tokenizer.json"},
        {&run, "metrics.jsonl"}, {&data, "data.json"},  {&trap, "trap/step.json"}};
    for (const auto& [archive, name] : places) {
        std::string file = std::string("D/") + name;
        Archive with_it = plus(*archive, {.path = file, .contents = deep});
        repair(with_it);
        std::replace(file.begin(), file.end(), '/', '-');
        seeds.push_back({"a7-" + file, std::move(with_it)});
    }
}

void add_kinds(std::vector<Seed>& seeds, const std::vector<Seed>& good) {
    const Archive &run = archive_of(good, "short-run"), &gpt = archive_of(good, "gpt");
    for (const char* folder : {"best", "checkpoints", "rewind"}) {
        seeds.push_back({fmt::format("a6-{}", folder), linked(run, folder)});
        seeds.push_back({fmt::format("a6-{}-resume", folder), with(linked(run, folder), "resume")});
    }
    Archive unfinished = archive_of(good, "cache");  // as a killed process of another umask left it
    std::erase_if(unfinished.entries,
                  [](const Entry& entry) { return entry.path.ends_with("data.json"); });
    for (Entry& entry : unfinished.entries) entry.mode = 0644;
    seeds.push_back({"a9-unfinished", with(unfinished, "TextCache")});
    seeds.push_back({"a8-tokenize", with(archive_of(good, "gpt-of-byte-pairs"), "tokenize --out")});
    seeds.push_back({"a8-train", with(archive_of(good, "data-of-characters"), "train")});
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
        const std::string path = std::string("D/") + name;
        seeds.push_back(
            {std::string("fifo-") + name, plus(gpt, {.kind = EntryKind::fifo, .path = path})});
        seeds.push_back({std::string("link-") + name,
                         plus(gpt, {.kind = EntryKind::link,
                                    .path = path,
                                    .contents = "../../outside/private/notes.txt"})});
    }
    seeds.push_back({"device", plus(gpt, {.kind = EntryKind::link,
                                          .path = "D/model.safetensors",
                                          .contents = "/dev/zero"})});
    seeds.push_back(
        {"loop", plus(gpt, {.kind = EntryKind::link, .path = "D/best", .contents = "../D"})});
    seeds.push_back({"hard-link", with(plus(run, {.kind = EntryKind::hard_link,
                                                  .path = "D/metrics.jsonl",
                                                  .contents = "outside/private/notes.txt"}),
                                       "train")});
    seeds.push_back(
        {"ids", plus(gpt, {.path = "D/ids.txt", .contents = "1 2 3 4 5 6 7 8 9 0 1\n"})});
}

}  // namespace

std::vector<Seed> hostile_seeds(const std::vector<Seed>& good) {
    const Archive &run = archive_of(good, "short-run"), &gpt = archive_of(good, "gpt");
    std::vector<Seed> seeds;
    add_aimed(seeds, run, gpt);
    add_foreign(seeds, run);
    add_left_over(seeds, gpt);
    add_nested(seeds, run, gpt, archive_of(good, "trap"), archive_of(good, "data-of-characters"));
    add_kinds(seeds, good);
    return seeds;
}

}  // namespace tapestry::fuzz
