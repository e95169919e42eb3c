// Unwritable outputs: refused before training or, if the disk fills up later, an error that keeps
// the previous model.
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>

#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

// train_report_test.cpp tests reports that cannot be written.
Arguments into(const std::string& out, const Arguments& more = {"--steps", "5"}) {
    return tiny_training(Arguments{"--out", out, "--overwrite", "--no-report"} + more);
}

const std::vector<std::string> kModelFiles{"config.json", "model.safetensors", "tokenizer.json"};

void check_only_these(const fs::path& directory, std::vector<std::string> names) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory)) {
        found.push_back(entry.path().filename().native());
    }
    std::sort(found.begin(), found.end());
    std::sort(names.begin(), names.end());
    CHECK_EQ(found, names);
}

/// Mounts a small file system for its lifetime.
class SmallDisk {
public:
    explicit SmallDisk(fs::path at) : path_(std::move(at)) {
        fs::create_directories(path_);
        mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=1m,mode=0755") == 0;
    }
    ~SmallDisk() {
        if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    bool mounted() const { return mounted_; }
    /// Leaves `bytes` free, in whole pages.
    void fill_but(std::uintmax_t bytes) const {
        const auto free = fs::space(path_).available;
        spill(path_ / "filler", std::string(free - std::min(free, bytes), 'x'));
    }

private:
    fs::path path_;
    bool mounted_ = false;
};

// A run into disk/m whose disk is full after its first save, and which has said so in the file
// "said". It begins again if it ended before this test had filled the disk.
std::unique_ptr<Process> run_on_full_disk(const Place& place, const SmallDisk& disk,
                                          const Arguments& more) {
    const auto waits = [&] {
        return slurp(place / "said").find("retrying in ") != std::string::npos;
    };
    for (int tries = 0;; ++tries) {
        spill(place / "said", "");
        auto process =
            std::make_unique<Process>(into("disk/m", more), place.path(),
                                      Surroundings{.stderr_to = (place / "said").native()});
        REQUIRE(wait_until([&] { return fs::exists(place / "disk/m/model.safetensors"); }));
        disk.fill_but(0);
        REQUIRE(wait_until([&] { return waits() || process->has_ended(); }));
        if (waits() || tries == 20) return process;
        process->wait();
        fs::remove(place / "disk/filler");
        fs::remove_all(place / "disk/m");
    }
}

}  // namespace

TEST_CASE("cli: --out is not a directory") {
    const Place place;
    spill(place / "t.txt", simple_text());
    spill(place / "file", "mine");
    const auto refused = [&](const std::string& out, const std::string& words) {
        const Outcome outcome = place.run(into(out));
        check_refused(outcome, words);
        CHECK_EQ(outcome.out, "");
    };
    refused("file", "cannot create directory 'file': ");
    refused("file/model", "cannot create directory 'file/model': Not a directory");
    refused("", "cannot create directory ''");
    refused(std::string(300, 'x'), "File name too long");
    CHECK_EQ(slurp(place / "file"), "mine");
    check_only_these(place.path(), {"t.txt", "file"});
    fs::create_symlink("gone", place / "link");
    for (const std::string out : {"link", "link/", "link/model"}) {
        refused(out, "cannot create directory '" + out +
                         "': 'link' is a link to 'gone', which does not exist");
    }
    for (const std::string name : {"model.safetensors", "tokenizer.json", "metrics.jsonl"}) {
        fs::create_directories(place / "m" / name);  // blocks the file's name
        refused("m", "'m/" + name + "': it is a directory, not a file");
        fs::remove(place / "m" / name);
    }
}

TEST_CASE("cli: --out that may not be written") {
    if (!can_become_nobody()) return skip(kNoNobody);
    const Place place;
    spill(place / "t.txt", simple_text());
    put_model(place / "theirs");
    const std::string before = slurp(place / "theirs" / "model.safetensors");
    const Surroundings nobody{.as_nobody = true};
    check_refused(place.run(into("new"), nobody), "cannot create directory 'new': ");
    check_refused(place.run(into("theirs"), nobody), "Permission denied");
    CHECK_EQ(slurp(place / "theirs" / "model.safetensors"), before);
    check_only_these(place / "theirs", kModelFiles);

    fs::permissions(place / "theirs", fs::perms(0700));
    check_refused(place.run({"sample", "--model", "theirs/m"}, nobody), "theirs");
    check_refused(place.run({"sample", "--model", "theirs"}, nobody), "Permission denied");
    fs::permissions(place / "t.txt", fs::perms(0600));
    check_refused(place.run(into("new"), nobody), "cannot read 't.txt': Permission denied");
}

// Another user's file in a world-writable directory, and the permissions of a private file.
TEST_CASE("cli: read-only files are not replaced, and private files stay private") {
    if (!can_become_nobody()) return skip(kNoNobody);
    const Place place;
    spill(place / "t.txt", simple_text());
    put_model(place / "m");
    const std::string before = slurp(place / "m" / "model.safetensors");
    fs::permissions(place / "m", fs::perms(0777));
    for (const char* name : {"config.json", "tokenizer.json"}) {
        fs::permissions(place / "m" / name, fs::perms(0666));
    }
    fs::permissions(place / "m" / "model.safetensors", fs::perms(0444));
    check_refused(place.run(into("m"), {.as_nobody = true}),
                  "cannot write 'm/model.safetensors': Permission denied");
    CHECK_EQ(slurp(place / "m" / "model.safetensors"), before);
    spill(place / "m" / "metrics.jsonl", "");
    constexpr std::array kPrivate{"model.safetensors", "config.json", "tokenizer.json",
                                  "metrics.jsonl"};
    for (const char* name : kPrivate) fs::permissions(place / "m" / name, fs::perms(0600));
    check_done(place.run(into("m")));
    for (const char* name : kPrivate) {
        CAPTURE(name);
        CHECK_EQ(fs::status(place / "m" / name).permissions(), fs::perms(0600));
    }
}

TEST_CASE("cli: no room for the model is said before the training") {
    const Place place;
    spill(place / "t.txt", simple_text());
    put_model(place / "m");
    const std::string before = slurp(place / "m" / "model.safetensors");
    const Outcome outcome = place.run(into("m"), {.file_size_limit = 8192});
    check_refused(outcome, "File too large");
    CHECK_EQ(outcome.out, "");
    CHECK_EQ(slurp(place / "m" / "model.safetensors"), before);
    CHECK(samples(place, "m"));
    check_only_these(place / "m", kModelFiles);
    CHECK_FALSE(fs::exists(place / "new"));
}

// The limit allows the model and the first metrics: a late and permanent write error.
TEST_CASE("cli: a checkpoint that cannot be written is said once, and is an error at the end") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const Outcome outcome =
        place.run(into("m", {"--steps", "1000", "--eval-every", "20"}), {.file_size_limit = 70000});
    CHECK_EQ(outcome.code, 2);
    const auto lines = lines_of(outcome.err);
    REQUIRE_EQ(lines.size(), 2);
    CHECK_EQ(lines[0],
             "tapestry: cannot write 'm/metrics.jsonl': File too large; training continues "
             "and will retry");
    CHECK_EQ(lines[1], "tapestry: cannot write 'm/metrics.jsonl': File too large");
    CHECK(samples(place, "m"));  // the earlier checkpoint
}

TEST_CASE("cli: a disk that is full before the training") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const SmallDisk disk(place / "disk");
    if (!disk.mounted()) {
        return skip(std::string("no file system can be mounted here: ") + std::strerror(errno));
    }
    check_done(place.run(into("disk/m")));
    const std::string before = slurp(place / "disk/m/model.safetensors");
    for (const std::uintmax_t room :
         {std::uintmax_t{8192}, std::uintmax_t{45056}}) {  // not for the model; not for its moments
        fs::remove(place / "disk/filler");
        disk.fill_but(room);
        const Outcome outcome = place.run(into("disk/m", {"--seed", "2"}));
        check_refused(outcome, "No space left on device");
        CHECK_EQ(outcome.out, "");
        CHECK_EQ(slurp(place / "disk/m/model.safetensors"), before);
        CHECK(samples(place, "disk/m"));
    }
}

// Full during training: at the end it waits for space and loses nothing.
TEST_CASE("cli: --wait-for-disk gives up after its time and keeps the last checkpoint") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const SmallDisk disk(place / "disk");
    if (!disk.mounted()) {
        return skip(std::string("no file system can be mounted here: ") + std::strerror(errno));
    }
    const Arguments steps{"--steps", "3000", "--eval-every", "100", "--wait-for-disk", "1"};
    const auto process = run_on_full_disk(place, disk, steps);
    CHECK_EQ(process->wait().code, 2);
    CHECK(slurp(place / "said").find("retrying in 1 s") != std::string::npos);
    CHECK(samples(place, "disk/m"));
}

TEST_CASE("cli: TMPDIR that names no directory matters only where it is needed") {
    const Place place;
    const Surroundings nowhere{.environment = {{"TMPDIR", (place / "none").native()}}};
    check_done(place.run({"--version"}, nowhere));
    check_refused(place.run({"bench", "checkpoint", "--steps", "3", "--rounds", "1"}, nowhere),
                  "no directory for temporary files");
}

TEST_CASE("cli: a stack that is too small is an error, not a signal") {
    const Place place;
    put_model(place / "m");
    for (const long kilobytes : {16, 32, 64}) {
        check_refused(
            place.run({"sample", "--model", "m", "--tokens", "3"},
                      {.stack_limit = kilobytes * 1024}),
            fmt::format("the stack is limited to {} kB, and must have at least 128", kilobytes));
    }
    check_done(place.run({"sample", "--model", "m", "--tokens", "3"}, {.stack_limit = 128 * 1024}));
}

TEST_CASE("cli: --override only goes with --resume") {
    const Place place;
    spill(place / "t.txt", simple_text());
    check_refused(place.run(tiny_training({"--override", "lr"})), "--resume");
}

TEST_CASE("cli: a disk that is full for a while") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const SmallDisk disk(place / "disk");
    if (!disk.mounted()) {
        return skip(std::string("no file system can be mounted here: ") + std::strerror(errno));
    }
    const Arguments steps{"--steps", "3000", "--eval-every", "100"};
    check_done(place.run(into("whole", steps)));
    const auto process = run_on_full_disk(place, disk, steps);
    CHECK(slurp(place / "said").find("retrying in 5 s") != std::string::npos);
    CHECK(samples(place, "disk/m"));
    fs::remove(place / "disk/filler");
    CHECK_EQ(process->wait().code, 0);
    CHECK(slurp(place / "disk/m/model.safetensors") == slurp(place / "whole/model.safetensors"));
    CHECK_EQ(lines_of(slurp(place / "disk/m/metrics.jsonl")).size(), 3002);
}
