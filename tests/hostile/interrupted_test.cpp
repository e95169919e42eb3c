// After a commit interrupted at any point, every reading command gives the same results as after a
// complete one; a writing command completes it.
#include <tapestry/tests/hostile/interrupted.h>
#include <tapestry/tests/hostile/manifest_text.h>

#include <array>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

constexpr std::array kLayouts{Layout::beside, Layout::on_top};

const auto kAll = [](std::size_t) { return true; };
const auto kEven = [](std::size_t i) { return i % 2 == 0; };
const auto kOdd = [](std::size_t i) { return i % 2 == 1; };

// Every command gives the right result and changes nothing; some of them, cyclically, or all.
void check_answers(const AttackPlace& place, Kind kind, std::size_t turn) {
    const std::vector<Command>& commands = reading_commands(kind);
    const Tree inside = place.inside(), outside = place.outside();
    for (std::size_t i = 0; i < commands.size(); ++i) {
        const bool may_wait = commands[i].slow || (commands.size() > 4 && (i + turn) % 3 != 0);
        if (!is_long() && may_wait) continue;
        CAPTURE(commands[i].name);
        const Answer& right = right_answer(kind, commands[i]);
        const Answer answer = answer_of(place, commands[i]);
        CHECK_EQ(answer.err, right.err);
        CHECK_EQ(answer.code, right.code);
        CHECK_EQ(answer.out, right.out);
        CHECK(answer.files == right.files);
        CHECK_EQ(difference(inside, place.inside()), "");
        CHECK_EQ(difference(outside, place.outside()), "");
    }
}

std::map<std::string, std::string> contents_of(const fs::path& directory) {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        const std::string name = fs::relative(entry.path(), directory).native();
        if (entry.is_regular_file() && name != "tapestry-manifest.json") {
            contents[name] = slurp(entry.path());
        }
    }
    return contents;
}

}  // namespace

TEST_CASE("interrupted: every command reads what is staged") {
    const AttackPlace place(Kind::run);
    std::size_t turn = 0;
    for (const Layout layout : kLayouts) {
        for (const std::string older : {"", "an older file\n"}) {
            CAPTURE(static_cast<int>(layout));
            CAPTURE(older);
            place.prepare({});
            interrupt(place.target().directory, layout, kAll, older);
            check_answers(place, Kind::run, turn++);
        }
        place.prepare({});
        interrupt(place.target().directory, layout, kEven, "an older file\n");
        check_answers(place, Kind::run, turn++);
        place.prepare({});
        interrupt(place.target().directory, layout, kOdd, "an older file\n");
        check_answers(place, Kind::run, turn++);
    }
}

TEST_CASE("interrupted: so are traps, Hugging Face's models, encoder-decoders") {
    for (const Kind kind : {Kind::trap, Kind::hugging_face, Kind::transformer}) {
        CAPTURE(static_cast<int>(kind));
        const AttackPlace place(kind);
        for (const Layout layout : kLayouts) {
            place.prepare({});
            const fs::path directory = place.target().directory;
            interrupt(directory, layout, kAll, "an older file\n");
            if (kind == Kind::trap) interrupt(directory / "trap", layout, kAll, "an older file\n");
            check_answers(place, kind, static_cast<std::size_t>(layout));
        }
    }
}

TEST_CASE("interrupted: best/ opened by itself, of a run whose commit waits") {
    const AttackPlace place(Kind::run);
    for (const Layout layout : kLayouts) {
        place.prepare({});
        const fs::path directory = place.target().directory;
        const std::vector<std::string> names = ManifestText(directory).names();
        const auto in_best = [&](std::size_t i) { return names[i].starts_with("best/"); };
        interrupt(directory, layout, in_best, "an older file\n");
        for (const std::string name : {"sample best", "export best"}) {
            CAPTURE(name);
            const Command& command = find_command(reading_commands(Kind::run), name);
            CHECK(answer_of(place, command) == right_answer(Kind::run, command));
        }
        // By any path to it.
        fs::create_symlink("m/best", directory.parent_path() / "latest");
        const std::string wanted =
            right_answer(Kind::run, find_command(reading_commands(Kind::run), "sample best")).out;
        for (const auto& [from, model] :
             {std::pair<fs::path, std::string>(place.path(), "above/m/best/"),
              {place.path(), "above/m/best/."},
              {place.path(), "above/latest"},
              {place.path(), "above/./m//best"},
              {directory, "best"},
              {directory / "best", "."},
              {directory / "checkpoints", "../best"}}) {
            CAPTURE(model);
            const Outcome outcome =
                Process({"sample", "--model", model, "--tokens", "3"}, from).wait();
            CHECK_EQ(outcome.err, "");
            CHECK_EQ(outcome.out, wanted);
        }
    }
}

// Metrics are staged while they are open, and grow.
TEST_CASE("interrupted: metrics that have grown since they were staged") {
    const AttackPlace place(Kind::run);
    place.prepare({});
    const fs::path directory = place.target().directory;
    ManifestText manifest(directory);
    const std::string lines = slurp(directory / "metrics.jsonl");
    const auto half = lines.find('\n', lines.size() / 2) + 1;
    manifest.drop("metrics.jsonl");
    manifest.list("metrics.jsonl", lines.substr(0, half));
    manifest.write(directory);
    fs::rename(directory / "metrics.jsonl", directory / staged_beside("metrics.jsonl"));
    set_back_times(place.path());
    const Command& curve = find_command(reading_commands(Kind::run), "curve");
    const Outcome outcome = place.run(curve);
    check_done(outcome);
    CHECK_EQ(outcome.out, right_answer(Kind::run, curve).out);
}

TEST_CASE("interrupted: of neither place nor stage the right file") {
    const AttackPlace place(Kind::run);
    for (const std::string name : {"config.json", "model.safetensors", "tokenizer.json"}) {
        place.prepare({});
        const fs::path directory = place.target().directory;
        ManifestText(directory).write(directory);
        spill(directory / staged_beside(name), "hostile\n");
        // In place it is valid and accepted.
        const Command& sample = find_command(reading_commands(Kind::run), "sample");
        CHECK(answer_of(place, sample) == right_answer(Kind::run, sample));
        spill(directory / name, "older\n");
        check_refused(place.run(sample), name);
    }
}

TEST_CASE("interrupted: a command that writes there finishes it") {
    const AttackPlace place(Kind::run);
    place.prepare({});
    const fs::path directory = place.target().directory;
    const auto& writers = writing_commands(Kind::run);
    const Command& resume = find_command(writers, "resume");
    check_done(place.run(resume));
    const std::string weights = slurp(directory / "model.safetensors");
    for (const Layout layout : kLayouts) {
        CAPTURE(static_cast<int>(layout));
        place.prepare({});
        interrupt(directory, layout, kAll, "an older file\n");
        check_done(place.run(resume));
        CHECK(slurp(directory / "model.safetensors") == weights);
        for (const auto& [name, contents] : contents_of(directory)) {
            CAPTURE(name);
            CHECK_EQ(name.find(".saving-"), std::string::npos);
            CHECK_NE(contents, "an older file\n");
        }
        CHECK(fs::exists(directory / "best/model.safetensors"));
    }
}

// Training that is refused leaves it for the next run.
TEST_CASE("interrupted: a run that is refused does not change it") {
    const AttackPlace place(Kind::run);
    for (const Layout layout : kLayouts) {
        place.prepare({});
        interrupt(place.target().directory, layout, kEven, "an older file\n");
        const Tree inside = place.inside();
        for (const std::string name :
             {"resume with nonsense", "resume with another rate", "train without text"}) {
            CAPTURE(name);
            const Outcome outcome = place.run(find_command(writing_commands(Kind::run), name));
            check_ended(find_command(writing_commands(Kind::run), name), outcome);
            CHECK_EQ(outcome.code, 2);
            CHECK_EQ(difference(without_times(inside), without_times(place.inside())), "");
        }
    }
}
