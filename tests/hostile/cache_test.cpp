// The cache of tokenized texts: as private as the text, and not a way to redirect writes.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/odd_files.h>

#include <algorithm>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

// Shorter texts are not cached.
constexpr std::size_t kKept = 1100000;

const Command kTrain{
    "train",
    {"train", "--text",         "long.txt", "--out",      "out/n", "--steps",   "1", "--layers",
     "1",     "--heads",        "1",        "--dim",      "8",     "--context", "8", "--batch",
     "1",     "--eval-batches", "1",        "--no-report"}};

struct CachePlace : AttackPlace {
    CachePlace() : AttackPlace(Kind::data) {
        spill(*this / "long.txt", simple_text(kKept));
        set_back_times(path());
    }
    fs::path cache() const { return *this / "cache/tapestry"; }
    // The text's cache entry, made by training.
    fs::path entry() const {
        const Outcome outcome = run(kTrain);
        CHECK_EQ(outcome.code, 0);
        CHECK_EQ(outcome.err, "");
        for (const auto& entry : fs::directory_iterator(cache())) {
            if (fs::exists(entry.path() / "data.json")) return entry.path();
        }
        FAIL("no entry");
        return {};
    }
    // Trains with the current cache: must succeed and leave everything else unchanged.
    void check_harmless(const std::string& name) const {
        CAPTURE(name);
        set_back_times(path());
        const Tree before = outside();
        const Outcome outcome = run(kTrain);
        check_ended(kTrain, outcome);
        CHECK_EQ(outcome.code, 0);
        CHECK_EQ(difference(before, outside()), "");
    }
};

bool is_private(const fs::path& path) {
    return (fs::symlink_status(path).permissions() & fs::perms(0077)) == fs::perms::none;
}

}  // namespace

TEST_CASE("hostile: the cache of a private text is private") {
    const CachePlace place;
    fs::permissions(place / "long.txt", fs::perms(0600));
    const fs::path entry = place.entry();
    CHECK(is_private(entry));
    for (const auto& file : fs::directory_iterator(entry)) {
        CAPTURE(file.path().filename().native());
        CHECK(is_private(file.path()));
    }
    // The entry of a world-readable text may be world-readable, and only its owner may then make it
    // private. That of a private text in a shared folder may not.
    fs::remove_all(place.cache());
    fs::create_directory(place.cache());
    fs::permissions(place.cache(), fs::perms(0755));
    CHECK(is_private(place.entry()));
}

TEST_CASE("hostile: entries of the cache that lead elsewhere") {
    const CachePlace place;
    const fs::path entry = place.entry();
    const fs::path name = entry.filename(), victim = place.target().victim;
    const auto moved = place.target().victim.parent_path() / "moved";
    fs::rename(entry, moved);
    put(entry, link_to(victim));
    place.check_harmless("a link to a directory without data");
    put(entry, link_to(victim / "new"));
    place.check_harmless("a link to nothing");
    put(entry, link_to(moved));
    place.check_harmless("a link to the same data elsewhere");
    put(entry, link_to(place / "home"));
    place.check_harmless("a link to a home");
    put(entry, a_fifo);
    place.check_harmless("a pipe");
    put(entry, contents("mine"));
    place.check_harmless("a file");
    for (const char* file : {"ids.bin", "data.json", "tokenizer.json"}) {
        for (const bool hard : {false, true}) {
            fs::remove_all(entry);
            copy_directory(moved, entry);
            put(entry / file,
                hard ? hard_link_to(victim / "notes.txt") : link_to(victim / "notes.txt"));
            place.check_harmless(std::string(file) + (hard ? " is a hard link" : " is a link"));
        }
        put(entry / file, a_fifo);
        place.check_harmless(std::string(file) + " is a pipe");
    }
}

TEST_CASE("hostile: what else lies in the cache's folder stays") {
    const CachePlace place;
    const fs::path entry = place.entry();
    fs::create_directories(place.cache() / "mine/deep");
    spill(place.cache() / "mine/deep/notes.txt", "mine");
    put(place.cache() / "mine/large.bin", a_huge_file);  // exceeds the limit for all entries
    spill(place.cache() / "notes.txt", "mine");
    put(place.cache() / "to the victim", link_to(place.target().victim));
    put(place.cache() / std::string(32, 'a') / "notes.txt",
        contents("mine, under an entry's name"));
    set_back_times(place.cache());
    fs::remove_all(entry);
    place.check_harmless("other things next to the entries");  // makes an entry, and room for it
    for (const std::string name :
         {"mine/deep/notes.txt", "mine/large.bin", "notes.txt", "to the victim/notes.txt"}) {
        CAPTURE(name);
        CHECK(fs::exists(place.cache() / name));
    }
    CHECK(fs::exists(place.cache() / std::string(32, 'a') / "notes.txt"));
    // A damaged entry is rebuilt; a file that is not part of it is not ours to remove.
    spill(place.entry() / "notes.txt", "mine");
    spill(place.entry() / "ids.bin", "damaged");
    place.check_harmless("a damaged entry with a file of mine");
    CHECK(fs::exists(place.entry() / "notes.txt"));
}
