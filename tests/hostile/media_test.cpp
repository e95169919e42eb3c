// Models on read-only media or in other users' directories; and parts of a run on other disks,
// mounted or linked.
#include <tapestry/tests/hostile/interrupted.h>
#include <tapestry/tests/hostile/manifest_text.h>
#include <tapestry/tests/hostile/media.h>
#include <tapestry/tests/hostile/odd_files.h>
#include <tapestry/tests/skip.h>

#include <array>
#include <optional>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

constexpr std::array kKinds{Kind::run, Kind::trap, Kind::hugging_face, Kind::data,
                            Kind::transformer};
constexpr std::array kLayouts{Layout::beside, Layout::on_top};

const auto kAll = [](std::size_t) { return true; };

void check_answers(const AttackPlace& place, Kind kind, bool as_nobody = false) {
    static std::size_t turn = 0;
    const std::vector<Command>& commands = reading_commands(kind);
    const std::size_t every = is_long() || commands.size() <= 4 ? 1 : 6;
    for (std::size_t i = turn++ % every; i < commands.size(); i += every) {
        if (!is_long() && commands[i].slow) continue;
        CAPTURE(commands[i].name);
        const Answer answer = answer_of(place, commands[i], as_nobody);
        const Answer& right = right_answer(kind, commands[i]);
        CHECK_EQ(answer.err, right.err);
        CHECK_EQ(answer.code, right.code);
        CHECK_EQ(answer.out, right.out);
        CHECK(answer.files == right.files);
    }
}

bool has_manifest(const fs::path& directory) {
    return fs::exists(directory / "tapestry-manifest.json");
}

void interrupt_all(const fs::path& directory, Layout layout) {
    if (has_manifest(directory)) interrupt(directory, layout, kAll, "an older file\n");
    if (has_manifest(directory / "trap")) interrupt(directory / "trap", layout, kAll, "older\n");
}

}  // namespace

TEST_CASE("media: a read-only one") {
    for (const Kind kind : kKinds) {
        CAPTURE(static_cast<int>(kind));
        const AttackPlace place(kind);
        place.prepare({});
        const Mount mount = Mount::read_only(place.target().directory);
        if (!mount) return skip("no file system can be mounted here");
        check_answers(place, kind);
    }
}

TEST_CASE("media: a read-only one, with a commit that waits") {
    for (const Kind kind : kKinds) {
        CAPTURE(static_cast<int>(kind));
        const AttackPlace place(kind);
        place.prepare({});
        interrupt_all(place.target().directory,
                      kLayouts[static_cast<std::size_t>(kind) % kLayouts.size()]);
        const Mount mount = Mount::read_only(place.target().directory);
        if (!mount) return skip("no file system can be mounted here");
        check_answers(place, kind);
    }
}

TEST_CASE("media: another user's directory") {
    if (!can_become_nobody()) return skip(kNoNobody);
    for (const Kind kind : kKinds) {
        CAPTURE(static_cast<int>(kind));
        const AttackPlace place(kind);
        for (const bool waits : {false, true}) {
            place.prepare({});
            if (waits) interrupt_all(place.target().directory, Layout::beside);
            check_answers(place, kind, true);
        }
    }
}

namespace {

// Moves the folder's contents to another file system mounted there.
std::optional<Mount> on_another_disk(const fs::path& folder) {
    const fs::path aside = folder.native() + ".aside";
    fs::rename(folder, aside);
    fs::create_directory(folder);
    Mount mount = Mount::in_memory(folder);
    if (!mount) return std::nullopt;
    for (const auto& entry : fs::directory_iterator(aside)) {
        fs::copy(entry, folder / entry.path().filename());
    }
    fs::remove_all(aside);
    return mount;
}

// Only the expected files remain, in place and staged.
void check_resumes(const AttackPlace& place, const std::string& weights) {
    const Outcome outcome = place.run(find_command(writing_commands(Kind::run), "resume"));
    check_done(outcome);
    CHECK(slurp(place.target().directory / "model.safetensors") == weights);
}

std::string resumed_weights() {
    static const std::string weights = [] {
        const AttackPlace place(Kind::run);
        place.prepare({});
        check_done(place.run(find_command(writing_commands(Kind::run), "resume")));
        return slurp(place.target().directory / "model.safetensors");
    }();
    return weights;
}

}  // namespace

TEST_CASE("media: folders of a run on other disks") {
    const std::string weights = resumed_weights();
    for (const std::string folder : {"best", "checkpoints", "rewind"}) {
        CAPTURE(folder);
        const AttackPlace place(Kind::run);
        place.prepare({});
        const fs::path directory = place.target().directory;
        const std::optional<Mount> mount = on_another_disk(directory / folder);
        if (!mount) return skip("no file system can be mounted here");
        check_answers(place, Kind::run);
        for (const Layout layout : kLayouts) {
            interrupt(directory, layout, kAll, "an older file\n");
            check_answers(place, Kind::run);
            check_resumes(place, weights);
            break;
        }
    }
}

TEST_CASE("media: folders of a run behind links") {
    for (const std::string folder : {"best", "checkpoints", "rewind"}) {
        CAPTURE(folder);
        const AttackPlace place(Kind::run);
        place.prepare({});
        const fs::path directory = place.target().directory;
        fs::rename(directory / folder, directory.parent_path() / "elsewhere");
        fs::create_symlink("../elsewhere", directory / folder);
        check_answers(place, Kind::run);
        interrupt(directory, Layout::beside, kAll, "an older file\n");
        const Tree outside = place.outside();
        check_answers(place, Kind::run);
        CHECK_EQ(difference(outside, place.outside()), "");
    }
}

TEST_CASE("media: a model whose files are links, as in Hugging Face's cache") {
    for (const Kind kind : {Kind::run, Kind::hugging_face, Kind::transformer}) {
        const AttackPlace place(kind);
        place.prepare({});
        const fs::path directory = place.target().directory;
        const fs::path blobs = directory.parent_path() / "blobs";
        fs::create_directory(blobs);
        for (const auto& [name, entry] : tree_of(directory)) {
            if (!S_ISREG(entry.mode)) continue;
            const fs::path blob = blobs / std::to_string(std::hash<std::string>()(name));
            fs::rename(directory / name, blob);
            fs::create_symlink(blob, directory / name);
        }
        const Tree inside = place.inside(), outside = place.outside();
        check_answers(place, kind);
        CHECK_EQ(difference(inside, place.inside()), "");
        CHECK_EQ(difference(outside, place.outside()), "");
    }
}

// As with `ln -s run-7 latest`: the user chose the link.
TEST_CASE("media: a run whose directory is a link") {
    const AttackPlace place(Kind::run);
    for (const bool waits : {false, true}) {
        place.prepare({});
        const fs::path directory = place.target().directory;
        if (waits) interrupt(directory, Layout::beside, kAll, "an older file\n");
        fs::rename(directory, directory.parent_path() / "run-7");
        fs::create_symlink("run-7", directory);
        check_answers(place, Kind::run);
        check_resumes(place, resumed_weights());
        CHECK(fs::is_symlink(directory));
    }
}
