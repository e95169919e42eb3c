// Reading and writing directories from strangers, or left by a killed process.
#include <tapestry/nn/io/commit.h>
#include <tapestry/tests/core/nobody.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/skip.h>

#include <sys/stat.h>

using namespace tapestry;
using test::check_message;
using test::Nobody;
using test::Scratch;
using test::slurp;
using test::spill;

namespace {

namespace fs = std::filesystem;

const std::string kStage = "0123456789abcdef";
const std::string kState = "checkpoints/step-00000010.safetensors";

FileWriter text(std::string contents) {
    return [contents = std::move(contents)](const fs::path& path, const WriteOptions& options) {
        return write_file_atomically(path, contents, options);
    };
}

FileDigest digest_of_text(const std::string& contents) {
    return {contents.size(), checksum_of(contents)};
}

void put_manifest(const fs::path& directory, const Manifest& manifest) {
    spill(directory / kManifestName, to_json(manifest));
}

// A manifest with one file, as text, so it can contain anything.
std::string manifest_naming(const std::string& name, const std::string& stage = kStage,
                            const std::string& checksum = checksum_of("x")) {
    return fmt::format(
        R"({{"format":1,"stage":"{}","files":{{"{}":{{"bytes":1,"xxh3_128":"{}"}}}}}})", stage,
        name, checksum);
}

// A directory whose commit of `files` was killed right after its commit point, with the old files.
struct Interrupted {
    Interrupted() {
        fs::create_directories(directory / "best");
        fs::create_directories(directory / "checkpoints");
        Manifest best;
        for (const auto& [name, contents] : files) {
            all.files[name] = digest_of_text(contents);
            if (name.starts_with("best/")) best.files[name.substr(5)] = all.files[name];
            spill(directory / name, "old");
        }
        put_manifest(directory / "best", {.files = {{"config.json", digest_of_text("old")}}});
        files[manifest_of_best] = to_json(best);
        all.files[manifest_of_best] = digest_of_text(to_json(best));
        all.stage = kStage;
        put_manifest(directory, all);
    }

    // In this version's layout, or flat, as until November 2026.
    void stage(bool flat) const {
        for (const auto& [name, contents] : files) {
            const SavedName parts = *saved_name(name);
            const bool in_directory = flat && !parts.folder.empty();
            spill(in_directory ? directory / staged_flat(kStage, parts)
                               : directory / parts.folder / staged_file(kStage, parts.file),
                  contents);
        }
    }

    Scratch scratch;
    fs::path directory = scratch / "m";
    const std::string manifest_of_best = fmt::format("best/{}", kManifestName);
    std::map<std::string, std::string> files{{"config.json", "new config"},
                                             {"metrics.jsonl", "new metrics"},
                                             {"best/config.json", "new best"},
                                             {kState, "new state"}};
    Manifest all;
};

}  // namespace

TEST_CASE("commit: a manifest that names what no run or model has is refused, and so its stage") {
    const Scratch scratch;
    fs::create_directories(scratch / "m");
    const auto refused = [&](const std::string& json, const std::string& words) {
        CAPTURE(json);
        spill(scratch / "m" / kManifestName, json);
        check_message<IoError>([&] { SavedFiles(scratch / "m"); }, words);
        check_message<IoError>([&] { Commit commit(scratch / "m"); }, words);
    };
    for (const std::string name : {"../a",
                                   "..",
                                   ".",
                                   "",
                                   "/etc/passwd",
                                   "best/../../x",
                                   "best//config.json",
                                   "best/",
                                   "/config.json",
                                   "./config.json",
                                   "config.json/",
                                   "best\\\\config.json",
                                   "a",
                                   ".lock",
                                   "report.html",
                                   "tapestry-manifest.json",
                                   "best/metrics.jsonl",
                                   "best/best/config.json",
                                   "best/adapter/config.json",
                                   "adapter/best/config.json",
                                   "checkpoints/step-1000.safetensors",
                                   "checkpoints/step-0000001a.safetensors",
                                   "checkpoints/step--0000001.safetensors",
                                   "checkpoints/config.json",
                                   "Config.json",
                                   "config.json\\u0000",
                                   "config.json ",
                                   "\\u001b[2J",
                                   "step.json",
                                   "trap/config.json"}) {
        refused(manifest_naming(name), "it lists '");
    }
    refused(manifest_naming("\\u001b[2J"), "it lists '\\u{1B}[2J', which is not a file of a run");
    for (const std::string stage : {"a/../../victim/secret", "0123456789abcde", "0123456789ABCDEF",
                                    "0123456789abcdef0", "..", "0123456789abcde/"}) {
        refused(manifest_naming("config.json", stage), "its stage is '");
    }
    for (const std::string checksum :
         {"", "0", "../../../../../../../etc/passwd0", "0123456789ABCDEF0123456789ABCDEF"}) {
        refused(manifest_naming("config.json", kStage, checksum), "the checksum of 'config.json'");
    }
}

TEST_CASE("commit: what it may write has a name of the list") {
    const Scratch scratch;
    Commit commit(scratch.path());
    for (const std::string name : {"../a", "a", "best/../b", "/tmp/a"}) {
        check_message<ValueError>([&] { commit.write(name, text("x")); },
                                  "is not a file of a run or a model");
    }
    commit.write("config.json", text("x"));
}

TEST_CASE("commit: new files have the permissions of the weights") {
    const Scratch scratch;
    const auto mode = [&](const std::string& name) {
        struct stat status {};
        REQUIRE_EQ(::stat((scratch / name).c_str(), &status), 0);
        return status.st_mode & 0777;
    };
    spill(scratch / kWeightsName, "x");
    fs::permissions(scratch / kWeightsName, fs::perms::owner_read | fs::perms::owner_write);
    Commit commit(scratch.path());
    commit.write(kState, text("state"));
    commit.write("config.json", text("config"));
    commit.finish();
    CHECK_EQ(mode(kState), 0600);
    CHECK_EQ(mode("config.json"), 0600);
}

TEST_CASE("commit: one that was killed is read through, and only the next commit finishes it") {
    for (const bool flat : {false, true}) {
        CAPTURE(flat);
        const Interrupted run;
        run.stage(flat);
        const SavedFiles files(run.directory);
        for (const auto& [name, contents] : run.files) {
            CHECK_EQ(slurp(files.path(name)), contents);
            CHECK_EQ(slurp(run.directory / name),
                     name == run.manifest_of_best
                         ? to_json(Manifest{.files = {{"config.json", digest_of_text("old")}}})
                         : "old");
            files.check({name});
        }
        const SavedFiles best(run.directory / "best/");
        CHECK_EQ(slurp(best.path("config.json")), "new best");
        best.check({"config.json"});
        settle(run.directory);
        for (const auto& [name, contents] : run.files)
            CHECK_EQ(slurp(run.directory / name), contents);
        CHECK_EQ(SavedFiles(run.directory).path("config.json"), run.directory / "config.json");
        for (const auto& entry : fs::recursive_directory_iterator(run.directory)) {
            CHECK_FALSE(entry.path().filename().native().starts_with(".saving-"));
        }
    }
}

TEST_CASE("commit: a staged file serves if it is the one that the manifest states") {
    const Interrupted run;
    const fs::path staged = run.directory / staged_file(kStage, "config.json");
    const auto not_served = [&] {
        CHECK_EQ(SavedFiles(run.directory).path("config.json"), run.directory / "config.json");
        check_message<IoError>([&] { SavedFiles(run.directory).check({"config.json"}); },
                               "config.json': not what was saved");
    };
    spill(staged, "new confiG");
    not_served();
    spill(staged, "new config and more");
    not_served();
    fs::remove(staged);
    spill(run.scratch / "outside", "new config");
    fs::create_symlink(run.scratch / "outside", staged);
    not_served();
    settle(run.directory);
    CHECK_EQ(slurp(run.directory / "config.json"), "old");
    CHECK_FALSE(fs::is_symlink(run.directory / "config.json"));
    CHECK_EQ(slurp(run.scratch / "outside"), "new config");
}

TEST_CASE(
    "commit: the directory above is another's, unless it is that of a run and this its best") {
    const Scratch scratch;
    for (const std::string folder : {"m", "best"}) {
        fs::create_directories(scratch / folder);
        spill(scratch / folder / "config.json", "mine");
        spill(scratch / folder / staged_file(kStage, "config.json"), "theirs");
    }
    put_manifest(scratch.path(), {.files = {{"config.json", digest_of_text("theirs")},
                                            {"best/config.json", digest_of_text("theirs")}},
                                  .stage = kStage});
    CHECK_EQ(slurp(SavedFiles(scratch / "m").path("config.json")), "mine");
    CHECK_EQ(slurp(SavedFiles(scratch / "best").path("config.json")), "theirs");
    spill(scratch / kManifestName, manifest_naming("../x"));
    CHECK_EQ(slurp(SavedFiles(scratch / "best").path("config.json")), "mine");
}

TEST_CASE("commit: only what was saved is removed, by name and checksum") {
    const Scratch scratch;
    const fs::path directory = scratch / "m";
    fs::create_directories(directory);
    WrittenFiles known;
    {
        Commit commit(directory, &known);
        commit.write(kState, text("state"));
        commit.finish();
    }
    spill(directory / "checkpoints/step-1000.safetensors", "another program's");
    const auto remove = [&](WrittenFiles* written) {
        Commit commit(directory, written);
        commit.remove(kState);
        commit.finish();
        return commit.kept();
    };
    SUBCASE("by the process that wrote it") { CHECK(remove(&known).empty()); }
    SUBCASE("by another") { CHECK(remove(nullptr).empty()); }
    SUBCASE("and not another file in its place") {
        spill(directory / kState, "mine!");
        CHECK(remove(&known) == std::vector{kState});
        CHECK_EQ(slurp(directory / kState), "mine!");
        CHECK_FALSE(read_manifest(directory)->files.contains(kState));
        CHECK(remove(&known).empty());
        Commit commit(directory);
        check_message<IoError>([&] { commit.write(kState, text("ours")); },
                               "step-00000010.safetensors': a file of that name is there");
        CHECK_EQ(slurp(directory / kState), "mine!");
    }
    CHECK_EQ(fs::exists(directory / kState), slurp(directory / kState) == "mine!");
    CHECK_EQ(slurp(directory / "checkpoints/step-1000.safetensors"), "another program's");
}

TEST_CASE("commit: what was to be removed when it was killed, the next one removes") {
    const Scratch scratch;
    fs::create_directories(scratch / "checkpoints");
    spill(scratch / kState, "state");
    spill(scratch / "checkpoints/step-00000020.safetensors", "mine");
    put_manifest(scratch.path(),
                 {.removed = {{kState, digest_of_text("state")},
                              {"checkpoints/step-00000020.safetensors", digest_of_text("ours")}},
                  .stage = kStage});
    const Commit commit(scratch.path());
    CHECK_FALSE(fs::exists(scratch / kState));
    CHECK_EQ(slurp(scratch / "checkpoints/step-00000020.safetensors"), "mine");
}

TEST_CASE("commit: a folder that is a link is read through and never written into") {
    const Interrupted run;
    run.stage(false);
    for (const std::string folder : {"best", "checkpoints"}) {
        fs::rename(run.directory / folder, run.scratch / folder);
        fs::create_directory_symlink(run.scratch / folder, run.directory / folder);
    }
    const SavedFiles files(run.directory);
    for (const auto& [name, contents] : run.files) CHECK_EQ(slurp(files.path(name)), contents);
    CHECK_EQ(slurp(SavedFiles(run.directory / "best").path("config.json")), "new best");
    check_message<IoError>([&] { Commit commit(run.directory); },
                           "best': it is a link or a file, and must be a directory");
    CHECK_EQ(slurp(run.scratch / "best/config.json"), "old");
    CHECK_EQ(slurp(run.scratch / "checkpoints/step-00000010.safetensors"), "old");
}

TEST_CASE(
    "commit: the best model's adapter is in its folder, removed with it, and no link is followed") {
    const Scratch scratch;
    const auto write = [](Commit& commit, const std::string& name, const std::string& text) {
        commit.write(name, [text](const fs::path& path, const WriteOptions& options) {
            return write_file_atomically(path, text, options);
        });
    };
    const std::string name = fmt::format("{}/{}", kBestAdapterFolder, kAdapterConfigName);
    {
        Commit commit(scratch.path());
        write(commit, "best/config.json", "c");
        write(commit, name, "a");
        commit.write_manifest_of(kBestFolder);
        commit.finish();
    }
    CHECK_EQ(slurp(scratch / name), "a");
    CHECK(SavedFiles(scratch / "best").manifest()->files.contains("adapter/adapter_config.json"));
    {
        Commit commit(scratch.path());
        for (const auto& [listed, digest] : commit.before().files) commit.remove(listed);
        commit.finish();
    }
    CHECK_FALSE(fs::exists(scratch / "best"));
    fs::create_directories(scratch / "theirs/adapter");
    fs::create_directory_symlink(scratch / "theirs", scratch / "best");
    check_message<IoError>(
        [&] {
            Commit commit(scratch.path());
            write(commit, name, "b");
        },
        "best': it is a link or a file");
    CHECK(fs::is_empty(scratch / "theirs/adapter"));
}

TEST_CASE("commit: left-over files of a name that is not ours stay") {
    const Scratch scratch;
    fs::create_directories(scratch / "checkpoints");
    const std::vector<std::string> others{".saving-x", ".saving-0123456789abcdef-mine",
                                          ".saving-0123456789ABCDEF-config.json",
                                          "checkpoints/.saving-0123456789abcdef-config.json"};
    const std::vector<std::string> ours{
        ".saving-0123456789abcdef-config.json", ".saving-0123456789abcdef-best-config.json",
        "checkpoints/.saving-0123456789abcdef-step-00000010.safetensors"};
    for (const std::string& name : others) spill(scratch / name, "x");
    for (const std::string& name : ours) spill(scratch / name, "x");
    settle(scratch.path());
    for (const std::string& name : others) CHECK(fs::exists(scratch / name));
    for (const std::string& name : ours) CHECK_FALSE(fs::exists(scratch / name));
}

TEST_CASE("commit: a staged file that cannot be read now is not taken for a stranger's") {
    const Interrupted m;
    m.stage(false);
    const fs::path staged =
        m.directory / "checkpoints" / staged_file(kStage, parts_of(kState).file);
    {
        fs::permissions(staged, fs::perms::none);
        const Nobody nobody(m.scratch.path());
        if (!nobody.is_bound_by_permissions()) return test::skip("root, and no other user to be");
        check_message<IoError>([&] { settle(m.directory); }, "cannot read");
    }
    CHECK(fs::exists(staged));
    fs::permissions(staged, fs::perms::owner_read);
    settle(m.directory);
    CHECK_EQ(slurp(m.directory / kState), "new state");
}

TEST_CASE("commit: what cannot be read is not removed") {
    const Interrupted m;
    m.stage(false);
    settle(m.directory);
    Manifest removes;
    removes.removed[kState] = m.all.files.at(kState);
    put_manifest(m.directory, removes);
    {
        fs::permissions(m.directory / kState, fs::perms::none);
        const Nobody nobody(m.scratch.path());
        if (!nobody.is_bound_by_permissions()) return test::skip("root, and no other user to be");
        settle(m.directory);
    }
    CHECK(fs::exists(m.directory / kState));
}
