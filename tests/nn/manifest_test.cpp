// Files that are committed together, if a process is killed at any moment, and however a disk
// damages them afterwards.
#include <tapestry/nn/io/commit.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <map>

using namespace tapestry;
using test::check_message;
using test::message_of;
using test::Scratch;
using test::slurp;
using test::spill;

namespace {

namespace fs = std::filesystem;

FileWriter text(std::string contents) {
    return [contents = std::move(contents)](const fs::path& path, const WriteOptions& options) {
        return write_file_atomically(path, contents, options);
    };
}

// The directory's contents by path, including subdirectories but not the manifest.
std::map<std::string, std::string> contents_of(const fs::path& directory) {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        const std::string name = fs::relative(entry.path(), directory).native();
        if (entry.is_regular_file() && name != kManifestName) contents[name] = slurp(entry.path());
    }
    return contents;
}

using Contents = std::map<std::string, std::string>;

const std::string kState1 = "checkpoints/step-00000001.safetensors";
const std::string kState2 = "checkpoints/step-00000002.safetensors";
const Contents kOld{{"config.json", "old a"}, {"tokenizer.json", "old b"}, {kState1, "old state"}};
const Contents kNew{{"config.json", "new a"},
                    {"tokenizer.json", "new b"},
                    {kState2, "new state"},
                    {"vocab.json", "new c"}};

void commit_old(const fs::path& directory) {
    make_directories(directory);
    Commit commit(directory);
    for (const auto& [name, contents] : kOld) commit.write(name, text(contents));
    commit.finish();
}

// Everything that the second commit does before its commit point.
void stage_new(Commit& commit) {
    commit.write("config.json", text("new a"));
    commit.write("tokenizer.json", text("new b"));
    commit.write(kState2, text("new state"));
    commit.write("vocab.json", text("new c"));
    commit.remove(kState1);
}

}  // namespace

TEST_CASE("manifest: files are as they were until the moment, and then all new") {
    const Scratch scratch;
    commit_old(scratch.path());
    CHECK_EQ(contents_of(scratch.path()), kOld);
    {
        Commit commit(scratch.path());
        stage_new(commit);
        const Contents now = contents_of(scratch.path());
        for (const auto& [name, contents] : kOld) CHECK_EQ(now.at(name), contents);
    }
    CHECK_EQ(contents_of(scratch.path()), kOld);  // rolled back
    Commit commit(scratch.path());
    stage_new(commit);
    commit.finish();
    CHECK_EQ(contents_of(scratch.path()), kNew);
    const auto manifest = read_manifest(scratch.path());
    REQUIRE(manifest.has_value());
    CHECK_EQ(manifest->files.size(), 4);
    CHECK_EQ(manifest->files.at("config.json"), FileDigest{5, checksum_of("new a")});
    SavedFiles(scratch.path())
        .check({"config.json", "tokenizer.json", "vocab.json", kState2, "never listed"});
}

// A process killed between two renames leaves the new manifest and only some of the files in place.
// files is in place.
TEST_CASE("manifest: a commit that was killed half way is finished by the next process") {
    for (unsigned moved = 0; moved < 8; ++moved) {
        CAPTURE(moved);
        const Scratch scratch;
        const fs::path directory = scratch / "m", done = scratch / "done";
        commit_old(directory);
        Contents staged;
        {
            Commit commit(directory);
            stage_new(commit);
            staged = contents_of(directory);
            commit.finish();
        }
        // Reverts to the commit point, with the files selected by `moved` in place.
        const std::string stage = read_manifest(directory)->stage;
        for (const auto& [name, contents] : kOld) spill(directory / name, contents);
        fs::remove(directory / "vocab.json");
        unsigned bit = 1;
        for (const std::string name : {"config.json", "tokenizer.json", "vocab.json"}) {
            const std::string aside = fmt::format(".saving-{}-{}", stage, name);
            REQUIRE(staged.contains(aside));
            spill(directory / (moved & bit ? name : aside), staged.at(aside));
            bit *= 2;
        }
        settle(directory);
        const Contents now = contents_of(directory);
        for (const auto& [name, contents] : kNew) CHECK_EQ(now.at(name), contents);
        SavedFiles(directory).check({"config.json", "tokenizer.json", "vocab.json", kState2});
        settle(directory);
        CHECK_EQ(contents_of(directory), now);
    }
}

TEST_CASE("manifest: what was staged and never committed is removed, and nothing else") {
    const Scratch scratch;
    commit_old(scratch.path());
    spill(scratch / ".saving-0123456789abcdef-config.json", "half of");
    spill(scratch / "mine", "my own");
    settle(scratch.path());
    Commit(scratch.path()).finish();
    Contents wanted = kOld;
    wanted["mine"] = "my own";
    CHECK_EQ(contents_of(scratch.path()), wanted);
}

TEST_CASE("manifest: a file of an earlier commit is never written in its place") {
    const Scratch scratch;
    commit_old(scratch.path());
    Commit commit(scratch.path());
    commit.remove(kState1);
    commit.write(kState1, text("another's state of the same name"));
    CHECK_EQ(slurp(scratch / kState1), "old state");
    commit.finish();
    CHECK_EQ(slurp(scratch / kState1), "another's state of the same name");
}

TEST_CASE("manifest: a file that grows, one that takes another name, a folder with its own") {
    const Scratch scratch;
    spill(scratch / "metrics.new.jsonl", "one\n");
    {
        Commit commit(scratch.path());
        commit.adopt(kMetricsName, "metrics.new.jsonl", {4, checksum_of("one\n")});
        CHECK_FALSE(fs::exists(scratch / "metrics.new.jsonl"));
    }
    CHECK_EQ(contents_of(scratch.path()), Contents{{"metrics.new.jsonl", "one\n"}});
    {
        Commit commit(scratch.path());
        commit.adopt(kMetricsName, "metrics.new.jsonl", {4, checksum_of("one\n")});
        commit.write("best/config.json", text("the best"));
        commit.write_manifest_of("best");
        commit.finish();
    }
    CHECK_EQ(slurp(scratch / kMetricsName), "one\n");
    SavedFiles(scratch / "best").check({"config.json"});
    CHECK_EQ(read_manifest(scratch / "best")->files.size(), 1);
    spill(scratch / kMetricsName, "one\ntwo\n");
    {
        Commit commit(scratch.path());
        commit.list(kMetricsName, {8, checksum_of("one\ntwo\n")});
        commit.finish();
    }
    SavedFiles(scratch.path())
        .check({kMetricsName, "best/config.json", fmt::format("best/{}", kManifestName)});
    spill(scratch / "best/config.json", "the Best");
    check_message<IoError>([&] { SavedFiles(scratch / "best").check({"config.json"}); },
                           "best/config.json': not what was");
}

TEST_CASE("manifest: every flipped bit and every lost byte is reported, with the file") {
    const Scratch scratch;
    commit_old(scratch.path());
    const std::string words = fmt::format("'{}': not what was saved: 5 bytes with checksum ",
                                          (scratch / "tokenizer.json").native());
    for (int bit = 0; bit < 40; ++bit) {
        std::string bad = "old b";
        bad[static_cast<std::size_t>(bit / 8)] =
            static_cast<char>(bad[static_cast<std::size_t>(bit / 8)] ^ (1 << bit % 8));
        spill(scratch / "tokenizer.json", bad);
        check_message<IoError>(
            [&] {
                SavedFiles(scratch.path()).check({"config.json", "tokenizer.json"});
            },
            words);
        SavedFiles(scratch.path()).check({"config.json"});
    }
    spill(scratch / "tokenizer.json", "old ");
    check_message<IoError>([&] { SavedFiles(scratch.path()).check({"tokenizer.json"}); },
                           "saved: 4 bytes");
    spill(scratch / "tokenizer.json", "old b ");
    check_message<IoError>([&] { SavedFiles(scratch.path()).check({"tokenizer.json"}); },
                           "saved: 6 bytes");
    fs::remove(scratch / "tokenizer.json");
    check_message<IoError>([&] { SavedFiles(scratch.path()).check({"tokenizer.json"}); },
                           "No such file");
    fs::remove(scratch / kManifestName);
    SavedFiles(scratch.path()).check({"tokenizer.json"});
}

TEST_CASE("manifest: an invalid one") {
    const Scratch scratch;
    CHECK_FALSE(read_manifest(scratch.path()).has_value());
    spill(scratch / kManifestName, "{\"format\":2,\"stage\":\"\",\"files\":{}}");
    check_message<IoError>([&] { read_manifest(scratch.path()); },
                           "it is of format 2; this Tapestry reads format 1");
    for (const char* bad :
         {"", "[]", "{}", "{\"format\":\"1\"}", "{\"format\":1,\"stage\":0,\"files\":{}}",
          "{\"format\":1,\"stage\":\"\",\"files\":{\"config.json\":{}}}"}) {
        spill(scratch / kManifestName, bad);
        check_message<IoError>([&] { read_manifest(scratch.path()); }, ": no manifest: ");
        CHECK_THROWS_AS(Commit(scratch.path()), IoError);
    }
}

// Continuing as if there were none would remove everything that it lists.
TEST_CASE("manifest: one that cannot be looked at is not taken for none") {
    const Scratch scratch;
    fs::create_symlink(kManifestName, scratch / kManifestName);
    const std::string words = "tapestry-manifest.json': Too many levels of symbolic links";
    check_message<IoError>([&] { read_manifest(scratch.path()); }, words);
    check_message<IoError>([&] { Commit commit(scratch.path()); }, words);
}

TEST_CASE("manifest: a commit keeps a file's permissions, and does not replace a directory") {
    const Scratch scratch;
    commit_old(scratch.path());
    fs::permissions(scratch / "config.json", fs::perms(0600));
    {
        Commit commit(scratch.path());
        commit.write("config.json", text("new a"));
        commit.finish();
    }
    CHECK_EQ(fs::status(scratch / "config.json").permissions(), fs::perms(0600));
    fs::remove(scratch / "tokenizer.json");
    fs::create_directory(scratch / "tokenizer.json");
    Commit commit(scratch.path());
    check_message<IoError>([&] { commit.write("tokenizer.json", text("new b")); },
                           "tokenizer.json': it is a directory, not a file");
}
