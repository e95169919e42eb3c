// The nine classes of attack by directory known in November 2026, each as it was found. The other
// files' tables contain their variants.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/depth.h>
#include <tapestry/tests/hostile/manifest_text.h>
#include <tapestry/tests/hostile/states.h>

#include <algorithm>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kManifest = "tapestry-manifest.json";

// Like a downloaded model: only its files and this manifest.
Attack listing(const std::string& name, const std::string& stage = "aa") {
    return {.name = "A1: " + name,
            .why = "a file is moved there when the commit is finished",
            .prepare =
                [=](const Target& target) {
                    ManifestText manifest;
                    manifest.stage = "\"" + stage + "\"";
                    manifest.list(name, "hostile\n");
                    manifest.write(target.directory);
                    put_staged(target.directory, name, "hostile\n", stage);
                },
            .refusal = kManifest};
}

void remove_manifest(const AttackPlace& place) {
    fs::remove(place.target().directory / kManifest);
    set_back_times(place.path());
}

const Command& reader(const std::string& name) {
    return find_command(reading_commands(Kind::run), name);
}
const Command& writer(const std::string& name) {
    return find_command(writing_commands(Kind::run), name);
}

bool has(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("classes: A1, a manifest that moves a file over one outside") {
    auto place = std::make_unique<AttackPlace>(Kind::run);
    const std::string victim = place->target().victim.native();
    const std::vector<Attack> attacks{listing("../victim/notes.txt"),
                                      listing("best/../../victim/notes.txt"),
                                      listing("../victim/notes.txt", kStage)};
    const std::vector<Command>& all = reading_commands(Kind::run);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!try_readers(*place, attacks[i % attacks.size()], {all[i]})) {
            place = std::make_unique<AttackPlace>(Kind::run);
        }
    }
    for (const std::string name : {"resume", "resume with another rate", "export into"}) {
        try_writers(*place, attacks[0], {writer(name)});
    }
}

TEST_CASE("classes: A1, a name that is absolute") {
    const AttackPlace place(Kind::run);
    const Attack attack = listing((place.target().victim / "notes.txt").native());
    try_readers(place, attack, {reader("sample")});
}

TEST_CASE("classes: A1, a stage that moves a file in from outside") {
    const AttackPlace place(Kind::run);
    const Attack attack{.name = "A1: a stage with slashes",
                        .why = "the name of what is moved begins with it",
                        .prepare =
                            [](const Target& target) {
                                fs::create_directory(target.directory / ".saving-a");
                                ManifestText manifest(target.directory);
                                manifest.stage = "\"a/../../victim/secret\"";
                                manifest.write(target.directory);
                            },
                        .refusal = kManifest};
    try_readers(place, attack, {reader("sample"), reader("export")});
}

TEST_CASE("classes: A1, a manifest in the directory above") {
    const AttackPlace place(Kind::run);
    const Attack attack{.name = "A1: a manifest above",
                        .why = "the model's directory may be a folder of a run's",
                        .prepare = [](const Target& target) {
                            Attack above = listing("victim/notes.txt");
                            above.prepare({target.directory.parent_path(), target.victim});
                        }};
    try_readers(place, attack, {reader("sample"), reader("rewind")});
}

TEST_CASE("classes: A2, a run that takes the directory over removes what is listed outside") {
    const AttackPlace place(Kind::run);
    const Attack attack{.name = "A2",
                        .why = "what another run's manifest lists is removed",
                        .prepare = [](const Target& target) {
                            ManifestText manifest(target.directory);
                            manifest.list("../victim/notes.txt",
                                          slurp(target.victim / "notes.txt"));
                            manifest.write(target.directory);
                        }};
    try_writers(place, attack, {writer("train into")});
}

TEST_CASE("classes: A3, a state that is another program's") {
    const AttackPlace place(Kind::run);
    const Attack attack{.name = "A3",
                        .why = "it was removed before anything was known, without a word",
                        .prepare =
                            [](const Target& target) {
                                spill(target.directory / "checkpoints/step-1000.safetensors",
                                      "mine");
                            },
                        .foreign = {"checkpoints/step-1000.safetensors"}};
    for (const std::string name : {"train into", "resume", "resume with nonsense",
                                   "resume with another rate", "train without text"}) {
        try_writers(place, attack, {writer(name)});
    }
    place.prepare(attack);
    const Outcome outcome = place.run(writer("train into"));
    CHECK_EQ(outcome.code, 0);
    CHECK(has(outcome.err, "step-1000.safetensors"));
}

TEST_CASE("classes: A4, the advice for a changed file loses no state") {
    const AttackPlace place(Kind::run);
    place.prepare({});
    const fs::path directory = place.target().directory;
    std::string weights = slurp(directory / "model.safetensors");
    weights.back() = static_cast<char>(weights.back() ^ 1);
    spill(directory / "model.safetensors", weights);
    const Outcome changed = place.run(reader("sample"));
    check_refused(changed, "model.safetensors': not what was saved");
    CHECK_FALSE(has(changed.err, "remove the manifest"));

    place.prepare({});
    remove_manifest(place);
    const Tree before = place.inside();
    const Outcome resumed = place.run(writer("resume"));
    INFO("stderr: " << resumed.err);
    CHECK_EQ(resumed.code, 0);
    CHECK(has(resumed.out, "after step 60 of 63"));
    CHECK_EQ(std::count(resumed.out.begin(), resumed.out.end(), '\n') > 0, true);
    CHECK(fs::exists(directory / "checkpoints/step-00000063.safetensors"));
}

TEST_CASE("classes: A4, without a manifest a run that is refused removes no state") {
    const AttackPlace place(Kind::run);
    for (const std::string name : {"resume with another rate", "resume with nonsense",
                                   "train without text", "resume at the end"}) {
        CAPTURE(name);
        place.prepare({});
        remove_manifest(place);
        const Outcome outcome = place.run(writer(name));
        check_ended(writer(name), outcome);
        for (const char* state :
             {"checkpoints/step-00000060.safetensors", "checkpoints/step-00000040.safetensors",
              "rewind/step-00000020.safetensors"}) {
            CHECK(fs::exists(place.target().directory / state));
        }
    }
}

// media_test.cpp tests A5 and A6.

TEST_CASE("classes: A7, a configuration nested 100,000 deep") {
    const AttackPlace place(Kind::run);
    const Attack attack{.name = "A7",
                        .why = "inside a checkpoint it was copied level by level",
                        .prepare = [](const Target& target) {
                            change_text(target.directory, "config", [](std::string& text) {
                                const std::string model = "\"model\": {";
                                text.insert(text.find(model) + model.size(),
                                            "\"note\":" + nested_lists() + ",");
                            });
                        }};
    for (const char* name : {"rewind", "bisect", "fork from"}) {
        place.prepare(attack);
        const Outcome outcome = place.run(reader(name));
        check_ended(reader(name), outcome);
        CHECK_EQ(outcome.code, 2);
    }
}

TEST_CASE("classes: A8, one kind of directory is not written into another") {
    const AttackPlace run(Kind::run), data(Kind::data), pairs(Kind::hugging_face);
    const auto check_kept = [](const AttackPlace& place, const std::string& name) {
        CAPTURE(name);
        place.prepare({});
        const Tree before = place.inside();
        const Outcome outcome = place.run(writer(name));
        check_ended(writer(name), outcome);
        CHECK_EQ(outcome.code, 2);
        CHECK_EQ(difference(without_times(before), without_times(place.inside())), "");
    };
    check_kept(run, "tokenize into");
    check_kept(pairs, "tokenize into");
    check_kept(data, "train into");
    check_kept(data, "fork into");
    check_kept(data, "export into");
}
