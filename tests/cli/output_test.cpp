// Where the model cannot go: refused before the training, or, when the disk fills later, an error
// that leaves the previous model as it was.
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

// What a report that cannot be written does is in train_report_test.cpp.
Arguments into(const std::string& out, const Arguments& more = {"--steps", "5"}) {
    return tiny_training(Arguments{"--out", out, "--no-report"} + more);
}

void check_only_these(const fs::path& directory, std::vector<std::string> names) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory)) {
        found.push_back(entry.path().filename().native());
    }
    std::sort(found.begin(), found.end());
    std::sort(names.begin(), names.end());
    CHECK_EQ(found, names);
}

/// A small file system of its own, gone at the end.
class SmallDisk {
public:
    explicit SmallDisk(fs::path at) : path_(std::move(at)) {
        fs::create_directories(path_);
        mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=96k,mode=0755") == 0;
    }
    ~SmallDisk() {
        if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    bool mounted() const { return mounted_; }
    /// Leaves `bytes` free; in whole pages.
    void fill_but(std::uintmax_t bytes) const {
        const auto free = fs::space(path_).available;
        spill(path_ / "filler", std::string(free - std::min(free, bytes), 'x'));
    }

private:
    fs::path path_;
    bool mounted_ = false;
};

}  // namespace

TEST_CASE("cli: --out that is no directory") {
    const Place place;
    spill(place / "t.txt", simple_text());
    spill(place / "file", "mine");
    const auto refused = [&](const std::string& out, const std::string& words) {
        const Outcome outcome = place.run(into(out));
        check_refused(outcome, words);
        CHECK_EQ(outcome.out, "");
    };
    refused("file", "'file': cannot be made a directory: ");
    refused("file/model", "'file/model': cannot be made a directory: Not a directory");
    refused("", "'': cannot be made a directory");
    refused(std::string(300, 'x'), "File name too long");
    CHECK_EQ(slurp(place / "file"), "mine");
    check_only_these(place.path(), {"t.txt", "file"});
}

TEST_CASE("cli: --out that may not be written") {
    if (::geteuid() != 0) return skip("only root can become nobody");
    const Place place;
    spill(place / "t.txt", simple_text());
    put_model(place / "theirs");
    const std::string before = slurp(place / "theirs" / "model.safetensors");
    const Surroundings nobody{.as_nobody = true};
    check_refused(place.run(into("new"), nobody), "'new': cannot be made a directory: ");
    check_refused(place.run(into("theirs"), nobody), "Permission denied");
    CHECK_EQ(slurp(place / "theirs" / "model.safetensors"), before);
    check_only_these(place / "theirs", {"config.json", "model.safetensors", "tokenizer.json"});

    fs::permissions(place / "theirs", fs::perms(0700));
    check_refused(place.run({"sample", "--model", "theirs/m"}, nobody), "theirs");
    check_refused(place.run({"sample", "--model", "theirs"}, nobody), "Permission denied");
    fs::permissions(place / "t.txt", fs::perms(0600));
    check_refused(place.run(into("new"), nobody), "cannot read 't.txt': Permission denied");
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
    check_only_these(place / "m", {"config.json", "model.safetensors", "tokenizer.json"});
    CHECK_FALSE(fs::exists(place / "new"));
}

// The metrics outgrow a file size limit that the model stays below: a write that fails late.
TEST_CASE("cli: no room for the metrics ends the training in one line") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const Outcome outcome =
        place.run(into("m", {"--steps", "3000", "--eval-every", "20"}), {.file_size_limit = 20000});
    check_refused(outcome, "m/metrics.jsonl: cannot be written: File too large");
    CHECK(samples(place, "m"));  // what the evaluations before have saved
}

TEST_CASE("cli: a disk that fills up") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const SmallDisk disk(place / "disk");
    if (!disk.mounted()) {
        return skip(std::string("no file system can be mounted here: ") + std::strerror(errno));
    }
    check_done(place.run(into("disk/m")));
    const std::string before = slurp(place / "disk/m/model.safetensors");
    disk.fill_but(8192);
    check_refused(place.run(into("disk/m", {"--seed", "2"})), "No space left on device");
    CHECK_EQ(slurp(place / "disk/m/model.safetensors"), before);
    CHECK(samples(place, "disk/m"));

    // Room at first, and then no more: each line of the metrics takes some.
    fs::remove(place / "disk/filler");
    disk.fill_but(45056);
    const Outcome late = place.run(into("disk/m", {"--steps", "3000", "--eval-every", "400"}));
    check_refused(late, "No space left on device");
    CHECK(late.out.find("step ") != std::string::npos);
    CHECK(samples(place, "disk/m"));
    // The model that was there keeps its metrics; what the other came to stands beside them.
    check_only_these(place / "disk/m", {"config.json", "metrics.jsonl", "metrics.new.jsonl",
                                        "model.safetensors", "tokenizer.json"});
}
