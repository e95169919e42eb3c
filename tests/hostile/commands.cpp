#include <tapestry/tests/hostile/commands.h>

#include <algorithm>

namespace tapestry::test {
namespace {

const std::string kDirectory = "above/m";

// Training for a few steps, in almost no time.
Arguments short_training(const Arguments& more, const std::string& steps = "2") {
    return Arguments{"train",          "--steps", steps,         "--batch",   "2",
                     "--eval-batches", "1",       "--no-report", "--no-cache"} +
           more;
}

std::vector<Command> read_model(const std::string& model) {
    return {
        {"sample", {"sample", "--model", model, "--tokens", "3"}},
        {"eval", {"eval", "--model", model, "--text", "t.txt", "--batches", "1"}},
        {"export", {"export", "--model", model, "--out", "out/e"}},
        {.name = "inspect",
         .arguments = {"inspect", "--model", model, "--prompt", "The cat", "--print"},
         .slow = true},
        {"tokenize by", {"tokenize", "--text", "t.txt", "--tokenizer", model, "--out", "out/d"}},
        {"train from", short_training({"--model", model, "--text", "t.txt", "--out", "out/n"})},
        {"gradcheck", {"gradcheck", "--model", model, "--text", "t.txt", "--batch", "1"}},
        {.name = "profile",
         .arguments = {"profile", "--model", model, "--text", "t.txt", "--steps", "1"},
         .slow = true},
    };
}

std::vector<Command> read_run() {
    std::vector<Command> commands = read_model(kDirectory);
    const std::vector<Command> of_run{
        {"rewind", {"rewind", kDirectory, "--step", "42", "--no-cache"}},
        {"bisect", {"bisect", kDirectory, "--first", "non_finite", "--after", "58", "--no-cache"}},
        {"curve", {"curve", kDirectory}, false},
        {"curves", {"curve", kDirectory, "good"}, false},
        {"fork from",
         short_training({"--fork", kDirectory, "--step", "58", "--out", "out/f"}, "60")},
        {"sample best", {"sample", "--model", kDirectory + "/best", "--tokens", "3"}, false},
        {"export best", {"export", "--model", kDirectory + "/best", "--out", "out/e"}, false},
    };
    commands.insert(commands.end(), of_run.begin(), of_run.end());
    return commands;
}

std::vector<Command> read_trap() {
    return {
        {"replay", {"replay", kDirectory + "/trap", "--out", "out/page.html"}},
        {"sample trap", {"sample", "--model", kDirectory + "/trap", "--tokens", "3"}},
        {"export trap", {"export", "--model", kDirectory + "/trap", "--out", "out/e"}},
        {"rewind", {"rewind", kDirectory, "--step", "1", "--no-cache"}, false},
    };
}

Arguments shaped_training(const Arguments& more) {
    return short_training(
        more + Arguments{"--layers", "1", "--heads", "2", "--dim", "8", "--context", "8"});
}

std::vector<Command> read_data() {
    return {
        {"train on", shaped_training({"--data", kDirectory, "--out", "out/n"}), false},
        {"tokenize by",
         {"tokenize", "--text", "t.txt", "--tokenizer", kDirectory, "--out", "out/d"},
         false},
        {"eval on", {"eval", "--model", "pairs", "--data", kDirectory, "--batches", "1"}, false},
    };
}

std::vector<Command> write_model() {
    const Arguments fork{"--fork", "good", "--step", "58", "--overwrite", "--out", kDirectory};
    const Arguments into{"--out", kDirectory};
    return {
        {"train into", shaped_training(into + Arguments{"--text", "t.txt", "--overwrite"})},
        {"export into", {"export", "--model", "good", "--out", kDirectory, "--overwrite"}},
        {"tokenize into",
         {"tokenize", "--text", "t.txt", "--tokenizer", "bpe", "--vocab", "270", "--out",
          kDirectory}},
        {"fork into", short_training(fork, "60")},
        {.name = "train without text",
         .arguments = shaped_training(into + Arguments{"--text", "none.txt", "--overwrite"}),
         .refused = true},
        {.name = "train with report",
         .arguments = {"train", "--model", "good", "--text", "t.txt", "--out", kDirectory,
                       "--overwrite", "--steps", "2", "--batch", "2", "--eval-batches", "1",
                       "--best", "--no-cache"},
         .slow = true},
    };
}

std::vector<Command> write_run() {
    std::vector<Command> commands = write_model();
    const Arguments resumed{"--resume", "--out", kDirectory};
    const std::vector<Command> of_run{
        {"resume", short_training(resumed + Arguments{"--override", "steps", "--best"}, "63")},
        {"resume at the end",
         {"train", "--resume", "--out", kDirectory, "--no-report", "--no-cache"}},
        {.name = "resume with nonsense",
         .arguments = short_training(resumed + Arguments{"--override", "nonsense"}, "63"),
         .refused = true},
        {.name = "resume with another rate",
         .arguments = short_training(resumed + Arguments{"--lr", "0.5"}, "63"),
         .refused = true},
        {"trap into",
         {"train",          "--model",  "good",     "--text", "t.txt",      "--overwrite",
          "--out",          kDirectory, "--steps",  "5",      "--batch",    "2",
          "--eval-batches", "1",        "--warmup", "0",      "--lr",       "1000",
          "--weight-decay", "1000",     "--clip",   "0",      "--trap-nan", "--no-report",
          "--no-cache"}},
    };
    commands.insert(commands.end(), of_run.begin(), of_run.end());
    return commands;
}

}  // namespace

const std::vector<Command>& reading_commands(Kind kind) {
    static const std::vector<Command> run = read_run(), trap = read_trap(),
                                      model = read_model(kDirectory), data = read_data(),
                                      transformer{{"inspect",
                                                   {"inspect", "--model", kDirectory, "--prompt",
                                                    "abc", "--target", "cba", "--print"}}};
    switch (kind) {
        case Kind::run: return run;
        case Kind::trap: return trap;
        case Kind::hugging_face: return model;
        case Kind::data: return data;
        case Kind::transformer: return transformer;
    }
    return run;
}

const std::vector<Command>& writing_commands(Kind kind) {
    static const std::vector<Command> run = write_run(), model = write_model();
    return kind == Kind::run || kind == Kind::trap ? run : model;
}

const Command& find_command(const std::vector<Command>& commands, const std::string& name) {
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& command) { return command.name == name; });
    REQUIRE(found != commands.end());
    return *found;
}

}  // namespace tapestry::test
