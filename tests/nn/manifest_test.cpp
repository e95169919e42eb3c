// Files that take their places together: whenever a process is killed, and whatever a disk does to
// them afterwards.
#include <tapestry/nn/io/manifest.h>
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

// By name, folders included, what is in a directory; but for the manifest.
std::map<std::string, std::string> contents_of(const fs::path& directory) {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        const std::string name = fs::relative(entry.path(), directory).native();
        if (entry.is_regular_file() && name != kManifestName) contents[name] = slurp(entry.path());
    }
    return contents;
}

using Contents = std::map<std::string, std::string>;

const Contents kOld{{"a", "old a"}, {"b", "old b"}, {"checkpoints/1", "old state"}};
const Contents kNew{{"a", "new a"}, {"b", "new b"}, {"checkpoints/2", "new state"}, {"c", "new c"}};

void commit_old(const fs::path& directory) {
    make_directories(directory);
    Commit commit(directory);
    for (const auto& [name, contents] : kOld) commit.write(name, text(contents));
    commit.finish();
}

// All that the second commit does before its moment.
void stage_new(Commit& commit) {
    commit.write("a", text("new a"));
    commit.write("b", text("new b"));
    commit.write_new("checkpoints/2", text("new state"));
    commit.write("c", text("new c"));
    commit.remove("checkpoints/1");
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
    CHECK_EQ(contents_of(scratch.path()), kOld);  // given up
    Commit commit(scratch.path());
    stage_new(commit);
    commit.finish();
    CHECK_EQ(contents_of(scratch.path()), kNew);
    const auto manifest = read_manifest(scratch.path());
    REQUIRE(manifest.has_value());
    CHECK_EQ(manifest->files.size(), 4);
    CHECK_EQ(manifest->files.at("a"), FileDigest{5, checksum_of("new a")});
    check_files(scratch.path(), {"a", "b", "c", "checkpoints/2", "never listed"});
}

// What a process that was killed between two renames leaves: the manifest is new, and a part of the
// files is in place.
TEST_CASE("manifest: a commit that was killed on its way is finished by whoever comes next") {
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
        // Back to the moment, and the files that `moved` says in their places.
        const std::string stage = read_manifest(directory)->stage;
        for (const auto& [name, contents] : kOld) spill(directory / name, contents);
        fs::remove(directory / "c");
        unsigned bit = 1;
        for (const std::string name : {"a", "b", "c"}) {
            const std::string aside = fmt::format(".saving-{}-{}", stage, name);
            REQUIRE(staged.contains(aside));
            spill(directory / (moved & bit ? name : aside), staged.at(aside));
            bit *= 2;
        }
        settle(directory);
        const Contents now = contents_of(directory);
        for (const auto& [name, contents] : kNew) CHECK_EQ(now.at(name), contents);
        check_files(directory, {"a", "b", "c", "checkpoints/2"});
        settle(directory);
        CHECK_EQ(contents_of(directory), now);
    }
}

TEST_CASE("manifest: what was staged and never committed is removed, and nothing else") {
    const Scratch scratch;
    commit_old(scratch.path());
    spill(scratch / ".saving-0123456789abcdef-a", "half of");
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
    commit.remove("checkpoints/1");
    commit.write_new("checkpoints/1", text("another's state of the same name"));
    CHECK_EQ(slurp(scratch / "checkpoints/1"), "old state");
    commit.finish();
    CHECK_EQ(slurp(scratch / "checkpoints/1"), "another's state of the same name");
}

TEST_CASE("manifest: a file that grows, one that takes another name, a folder with its own") {
    const Scratch scratch;
    spill(scratch / "lines.new", "one\n");
    {
        Commit commit(scratch.path());
        commit.adopt("lines", "lines.new", {4, checksum_of("one\n")});
        CHECK_FALSE(fs::exists(scratch / "lines.new"));
    }
    CHECK_EQ(contents_of(scratch.path()), Contents{{"lines.new", "one\n"}});
    {
        Commit commit(scratch.path());
        commit.adopt("lines", "lines.new", {4, checksum_of("one\n")});
        commit.write("best/a", text("the best"));
        commit.write_manifest_of("best");
        commit.finish();
    }
    CHECK_EQ(slurp(scratch / "lines"), "one\n");
    check_files(scratch / "best", {"a"});
    CHECK_EQ(read_manifest(scratch / "best")->files.size(), 1);
    spill(scratch / "lines", "one\ntwo\n");
    {
        Commit commit(scratch.path());
        commit.grown("lines", {8, checksum_of("one\ntwo\n")});
        commit.finish();
    }
    check_files(scratch.path(), {"lines", "best/a", fmt::format("best/{}", kManifestName)});
    spill(scratch / "best/a", "the Best");
    check_message<IoError>([&] { check_files(scratch / "best", {"a"}); }, "best/a': not what was");
}

TEST_CASE("manifest: every flipped bit and every lost byte is told, with the file") {
    const Scratch scratch;
    commit_old(scratch.path());
    const std::string words =
        fmt::format("'{}': not what was saved: 5 bytes with checksum ", (scratch / "b").native());
    for (int bit = 0; bit < 40; ++bit) {
        std::string bad = "old b";
        bad[static_cast<std::size_t>(bit / 8)] =
            static_cast<char>(bad[static_cast<std::size_t>(bit / 8)] ^ (1 << bit % 8));
        spill(scratch / "b", bad);
        check_message<IoError>([&] { check_files(scratch.path(), {"a", "b"}); }, words);
        check_files(scratch.path(), {"a"});
    }
    spill(scratch / "b", "old ");
    check_message<IoError>([&] { check_files(scratch.path(), {"b"}); }, "saved: 4 bytes");
    spill(scratch / "b", "old b ");
    check_message<IoError>([&] { check_files(scratch.path(), {"b"}); }, "saved: 6 bytes");
    fs::remove(scratch / "b");
    check_message<IoError>([&] { check_files(scratch.path(), {"b"}); }, "No such file");
    fs::remove(scratch / kManifestName);
    check_files(scratch.path(), {"b"});
}

TEST_CASE("manifest: one that is none") {
    const Scratch scratch;
    CHECK_FALSE(read_manifest(scratch.path()).has_value());
    spill(scratch / kManifestName, "{\"format\":2,\"stage\":\"\",\"files\":{}}");
    check_message<IoError>([&] { read_manifest(scratch.path()); },
                           "it is of format 2; this Tapestry reads format 1");
    for (const char* bad :
         {"", "[]", "{}", "{\"format\":\"1\"}", "{\"format\":1,\"stage\":0,\"files\":{}}",
          "{\"format\":1,\"stage\":\"\",\"files\":{\"a\":{}}}"}) {
        spill(scratch / kManifestName, bad);
        check_message<IoError>([&] { read_manifest(scratch.path()); }, ": no manifest: ");
        CHECK_THROWS_AS(Commit(scratch.path()), IoError);
    }
}

// To go on as if there were none would be to remove all that it lists.
TEST_CASE("manifest: one that cannot be looked at is not taken for none") {
    const Scratch scratch;
    fs::create_symlink(kManifestName, scratch / kManifestName);
    const std::string words = "tapestry-manifest.json': Too many levels of symbolic links";
    check_message<IoError>([&] { read_manifest(scratch.path()); }, words);
    check_message<IoError>([&] { Commit commit(scratch.path()); }, words);
}

TEST_CASE("manifest: what stands in a file's place is not overwritten against its permissions") {
    const Scratch scratch;
    commit_old(scratch.path());
    fs::permissions(scratch / "a", fs::perms(0600));
    {
        Commit commit(scratch.path());
        commit.write("a", text("new a"));
        commit.finish();
    }
    CHECK_EQ(fs::status(scratch / "a").permissions(), fs::perms(0600));
    fs::remove(scratch / "b");
    fs::create_directory(scratch / "b");
    Commit commit(scratch.path());
    check_message<IoError>([&] { commit.write("b", text("new b")); },
                           "b': it is a directory, not a file");
}
