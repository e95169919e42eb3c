// Every command that writes, told to write into every kind of directory that something else made,
// and pages named like other files: exit code 2, and all files as they were. (Directories that
// attack, and --overwrite into them: tests/hostile.)
#include <doctest/doctest.h>
#include <tapestry/tests/cli/command.h>

using namespace tapestry;
using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

using Files = std::map<std::string, std::string>;

Files files_in(const fs::path& directory) {
    Files files;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        const std::string name = fs::relative(entry.path(), directory).native();
        if (entry.is_regular_file()) files[name] = slurp(entry.path());
    }
    return files;
}

const Arguments kTiny{"--layers", "1", "--heads", "1", "--dim",          "8", "--context",  "8",
                      "--batch",  "2", "--steps", "2", "--eval-batches", "1", "--no-report"};

void copy_files(const fs::path& from, const fs::path& to, const Arguments& names) {
    fs::create_directories(to);
    for (const std::string& name : names) fs::copy_file(from / name, to / name);
}

// A directory of each kind, by its name.
Arguments make_kinds(const Place& place) {
    spill(place / "t.txt", simple_text());
    std::string labelled = "label,text\n";
    for (int i = 0; i < 60; ++i) labelled += i % 2 == 0 ? "a,good news\n" : "b,bad luck\n";
    spill(place / "l.csv", labelled);
    const Arguments text{"--text", "t.txt"};
    check_done(place.run(Arguments{"train", "--out", "run"} + text + kTiny));
    check_done(place.run(Arguments{"tokenize", "--out", "data"} + text));
    check_done(place.run(Arguments{"tokenize", "--out", "pairs"} + text +
                         Arguments{"--tokenizer", "bpe", "--vocab", "280"}));
    check_done(place.run({"export", "--model", "run", "--out", "gpt2"}));
    check_done(place.run({"train", "--task", "classify", "--text", "l.csv", "--steps", "2", "--out",
                          "classifier", "--no-report", "--buckets", "64", "--dim", "8"}));
    copy_files(place / "run", place / "model",
               {"config.json", "model.safetensors", "tokenizer.json"});
    copy_files(place / "pairs", place / "byte pairs", {"vocab.json", "merges.txt"});
    copy_files(place / "run", place / "characters", {"tokenizer.json"});
    return {"run", "data", "pairs", "gpt2", "classifier", "model", "byte pairs", "characters"};
}

// Whatever writes a directory, without --overwrite or --resume; the directory follows.
std::vector<Arguments> writers() {
    return {Arguments{"train", "--text", "t.txt"} + kTiny + Arguments{"--out"},
            Arguments{"train", "--data", "data"} + kTiny + Arguments{"--out"},
            {"train", "--task", "classify", "--text", "l.csv", "--steps", "2", "--out"},
            {"train", "--fork", "run", "--step", "1", "--out"},
            {"train", "--model", "gpt2", "--text", "t.txt", "--steps", "1", "--out"},
            {"tokenize", "--text", "t.txt", "--out"},
            {"tokenize", "--text", "t.txt", "--tokenizer", "bpe", "--vocab", "300", "--out"},
            {"export", "--model", "run", "--out"}};
}

}  // namespace

TEST_CASE("cli: no command writes over what another made, in any kind of directory") {
    const Place place;
    const fs::path there = place / "there";
    for (const std::string& kind : make_kinds(place)) {
        for (const Arguments& writer : writers()) {
            CAPTURE(kind);
            CAPTURE(writer);
            fs::remove_all(there);
            fs::copy(place / kind, there, fs::copy_options::recursive);
            const Files before = files_in(there);
            const Outcome outcome = place.run(writer + Arguments{"there"});
            check_refused(outcome, "contains");
            CHECK(files_in(there) == before);
        }
    }
}

TEST_CASE("cli: a page or a plot replaces an earlier one, and no other file") {
    const Place place;
    spill(place / "t.txt", simple_text());
    put_model(place / "m");
    const Arguments inspect{"inspect", "--model", "m", "--prompt", "The cat", "--out"};
    const Arguments plot{"gradcheck", "--op", "exp", "--plot"};
    for (const Arguments& writer : {inspect, plot}) {
        const std::string own = writer[0] + " result";
        check_done(place.run(writer + Arguments{own}));
        check_done(place.run(writer + Arguments{own}));
        for (const std::string file : {"m/model.safetensors", "m/config.json", "t.txt"}) {
            CAPTURE(file);
            const std::string before = slurp(place / file);
            const Outcome outcome = place.run(writer + Arguments{file});
            check_refused(outcome, "already exists and is another kind of file");
            CHECK_EQ(outcome.out, "");  // refused before the work
            CHECK(slurp(place / file) == before);
        }
    }
}
