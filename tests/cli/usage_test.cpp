// The command line itself: --help, names, numbers, the environment.
#include <tapestry/core/cpu.h>
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>

#include <algorithm>

using namespace tapestry::test;

TEST_CASE("cli: --help of every subcommand and --version go to stdout") {
    const Place place;
    const std::vector<Arguments> commands{{},
                                          {"train"},
                                          {"sample"},
                                          {"eval"},
                                          {"export"},
                                          {"info"},
                                          {"gradcheck"},
                                          {"bench", "step"},
                                          {"bench", "gemm"},
                                          {"bench", "attention"},
                                          {"bench", "ops"},
                                          {"bench", "busy"},
                                          {"bench", "data"},
                                          {"tokenize"},
                                          {"bench"},
                                          {"profile"}};
    for (const Arguments& command : commands) {
        const Outcome outcome = place.run(command + Arguments{"--help"});
        check_done(outcome);
        CHECK(outcome.out.find("Usage: tapestry") != std::string::npos);
        if (!command.empty()) CHECK(outcome.out.find(command.back()) != std::string::npos);
    }
    const Outcome version = place.run({"--version"});
    check_done(version);
    CHECK(version.out.starts_with("tapestry "));
    CHECK_EQ(lines_of(version.out).size(), 1);
}

TEST_CASE("cli: without a subcommand, the list of them") {
    const Place place;
    CHECK_EQ(place.run({}).out, place.run({"--help"}).out);
    CHECK_EQ(place.run({"bench"}).out, place.run({"bench", "--help"}).out);
    check_done(place.run({}));
    check_done(place.run({"bench"}));
    check_refused(place.run({"bench", "nothing"}), "not expected: nothing");
}

TEST_CASE("cli: --help is at most 80 columns wide, in groups") {
    const Place place;
    const std::vector<Arguments> commands{{},          {"train"},   {"sample"}, {"tokenize"},
                                          {"inspect"}, {"profile"}, {"bench"},  {"bench", "step"},
                                          {"curve"},   {"eval"},    {"rewind"}, {"gradcheck"}};
    for (const Arguments& command : commands) {
        for (const std::string& line : lines_of(place.run(command + Arguments{"--help"}).out)) {
            CHECK_MESSAGE(line.size() <= 80, line);
        }
    }
    const std::string train = place.run({"train", "--help"}).out;
    for (const char* heading : {"\nData:\n  --text", "\nModel:\n  --kind", "\nOptimiser:\n",
                                "\nCheckpoints:\n", "\nSteps and learning rate:\n"}) {
        CHECK_MESSAGE(train.find(heading) != std::string::npos, heading);
    }
    // A name and what it is; what follows is below that.
    const std::vector<std::pair<const char*, std::size_t>> lists{{"\nOptimisers, ", 11},
                                                                 {"\nKinds of ", 15}};
    for (const auto& [heading, column] : lists) {
        const auto begin = train.find('\n', train.find(heading) + 1) + 1;
        const std::string list = train.substr(begin, train.find("\nKinds of ", begin) - begin);
        for (const std::string& line : lines_of(list)) {
            if (line.empty()) continue;
            const std::size_t first = line.find_first_not_of(' ');
            CHECK_MESSAGE((first == 2 || first == column), line);
            CHECK_MESSAGE(line.substr(column - 1, 1) == " ", line);
            CHECK_MESSAGE(line.substr(column, 1) != " ", line);
        }
    }
}

TEST_CASE("cli: colours on a terminal only, and not with NO_COLOR") {
    if (!has_terminals()) return skip("no pseudo-terminals");
    const Place place;
    const auto run = [&](const Arguments& arguments, const char* no_colour, const char* term) {
        return place
            .run(arguments,
                 {.environment = {{"NO_COLOR", no_colour}, {"TERM", term}}, .terminal = true})
            .out;
    };
    CHECK(run({"sample", "--help"}, "", "xterm").find("\033[1mOptions:\033[0m") !=
          std::string::npos);
    const std::string pass = run({"gradcheck", "--op", "exp"}, "", "xterm");
    CHECK(pass.find(" \033[32mPASS\033[0m, 0 FAIL,") != std::string::npos);
    CHECK(run({"trian"}, "", "xterm").starts_with("\033[31mtapestry:\033[0m "));
    for (const char* command : {"--help", "trian"}) {
        CHECK(run({command}, "1", "xterm").find('\033') == std::string::npos);
        CHECK(run({command}, "", "dumb").find('\033') == std::string::npos);
    }
    const Outcome piped =
        place.run({"sample", "--help"}, {.environment = {{"NO_COLOR", ""}, {"TERM", "xterm"}}});
    CHECK(piped.out.find('\033') == std::string::npos);
}

TEST_CASE("cli: every option of the issue is in --help, with its default") {
    const Place place;
    const std::string train = place.run({"train", "--help"}).out;
    for (const char* option : {"--text TEXT",
                               "--data TEXT",
                               "--test-fraction",
                               "--order TEXT:{random,epoch}=random\n",
                               "--layers INT=4 ",
                               "--dropout FLOAT:0..0.99=0 ",
                               "For example:\n  tapestry train --text",
                               "--out TEXT REQUIRED",
                               "--resume",
                               "--override",
                               "--checkpoint-every",
                               "--keep",
                               "--best",
                               "--rewind-budget",
                               "--layers",
                               "--heads",
                               "--dim",
                               "--context",
                               "--batch",
                               "--steps",
                               "--lr",
                               "--min-lr",
                               "--warmup",
                               "--weight-decay",
                               "--beta2",
                               "--clip",
                               "--dropout",
                               "--accumulate",
                               "--optimizer TEXT:{sgd,rmsprop,adam,adamw,lion,",
                               "\n  lion     the sign of a mean of gradients",
                               "--lr 0.0003 --weight-decay 0.3 --beta1 0.9 --beta2 0.99\n",
                               "--nesterov TEXT:{no,yes}=no ",
                               "--micro-batches",
                               "--eval-every",
                               "--eval-batches",
                               "--seed",
                               "--threads",
                               "=2000",
                               "=1337",
                               "=0.99",
                               "=250",
                               "=128"}) {
        INFO(option);
        CHECK(train.find(option) != std::string::npos);
    }
    for (const char* never : {"Excludes", "1000000000", "INT in"}) {
        INFO(never);
        CHECK(train.find(never) == std::string::npos);
    }
    const std::string sample = place.run({"sample", "--help"}).out;
    for (const char* option : {"--model TEXT REQUIRED", "--prompt", "--tokens", "--temperature",
                               "--top-k", "--top-p", "--seed", "=300", "=0.8"}) {
        INFO(option);
        CHECK(sample.find(option) != std::string::npos);
    }
}

TEST_CASE("cli: what is missing, unknown or given twice is named") {
    const Place place;
    const auto refused = [&](const Arguments& arguments, const std::string& words) {
        const Outcome outcome = place.run(arguments);
        check_refused(outcome, words);
        CHECK_EQ(outcome.out, "");
    };
    refused({"trian"}, "not expected: trian; did you mean train? (see tapestry --help)");
    refused({"smaple"}, "not expected: smaple; did you mean sample?");
    refused({"nothing"}, "not expected: nothing (see");
    refused({"--verbose"}, "not expected: --verbose");
    refused({"caf\xE9"}, "not expected: caf\\xE9");
    refused({"train", "--text", "t.txt", "--out", "m", "--stepz", "5"}, "--stepz");
    refused({"train", "--stepz", "5"}, "not expected: --stepz; did you mean --steps?");
    refused({"eval", "--txet"}, "not expected: --txet; did you mean --text?");
    refused({"train", "--text", "t.txt", "--out", "m", "extra"}, "not expected: extra");
    refused({"train", "--text"}, "--text needs a value (see tapestry train --help)");
    refused({"train", "--text", "t.txt", "--out", "m", "--optimizer", "nadam"},
            "--optimizer: nadam not in {sgd,rmsprop,adam,adamw,lion,");
    refused({"train", "--text", "t.txt", "--out", "m", "--optimizer", "lion", "--alpha", "0.9"},
            "train: --optimizer lion has no --alpha; its options are --lr, --weight-decay, "
            "--beta1, --beta2");
    refused({"train", "--text", "t.txt", "--out", "m", "--muon-lr", "2"},
            "train: --optimizer adamw has no --muon-lr; its options are");
    refused({"train", "--out", "m"}, "--text is required (see tapestry train --help)");
    refused({"train", "--text", "t.txt"}, "--out is required");
    refused({"train", "--text", "a", "--text", "b", "--out", "m"},
            "--text is given more than once (see tapestry train --help)");
    refused({"sample"}, "--model is required");
    refused({"eval", "--model", "m"}, "m");
    refused({"bench", "conv"}, "not expected: conv");
    refused({"info", "train"}, "not expected: train");
    refused({"gradcheck", "--op", "nosuch"}, "unknown op \"nosuch\"");
    refused({"gradcheck", "--module", "nosuch"},
            "unknown module \"nosuch\"; must be one of linear");
    refused({"gradcheck", "--op", "exp", "--module", "gpt"}, "--op excludes --module");
    refused({"gradcheck", "--plot", "p.svg"}, "--plot needs an op, a module or a model");
    refused({"gradcheck", "--dtype", "f32", "--order", "1"}, "--order needs f64");
    refused({"gradcheck", "--op", "exp", "--dtype", "f32", "--certainty", "0.9"},
            "--certainty needs f64; in other types every entry is compared");
    refused({"gradcheck", "--op", "exp", "--order", "3"}, "--order: Value 3 not in range 1 to 2");
    CHECK_EQ(place.names().size(), 0);
}

TEST_CASE("cli: invalid or absurd numbers") {
    const Place place;
    spill(place / "t.txt", simple_text());
    put_model(place / "m");
    const std::string before = slurp(place / "m" / "model.safetensors");
    const auto refused = [&](const Arguments& command, const std::string& option,
                             const std::vector<std::string>& values) {
        for (const std::string& value : values) {
            const Outcome outcome = place.run(command + Arguments{option + "=" + value});
            INFO(option << "=" << value);
            check_refused(outcome, option);
            CHECK(outcome.err.find(value) != std::string::npos);
            CHECK_EQ(outcome.out, "");
        }
    };
    const Arguments train{"train", "--text", "t.txt", "--out", "m"};
    const Arguments sample{"sample", "--model", "m"};
    const Arguments eval{"eval", "--model", "m", "--text", "t.txt"};
    const Arguments bench{"bench", "step"};

    // Misspellings all look alike to the parser: testing one option suffices.
    refused(train, "--steps",
            {"0", "-1", "many", "1e3", "1.5", "12x", "nan", "9999999999999999999999"});
    for (const char* option : {"--layers", "--heads", "--dim", "--context", "--batch",
                               "--accumulate", "--micro-batches", "--eval-batches", "--threads"}) {
        refused(train, option, {"0", "-1", "x", "9999999999999999999999"});
    }
    for (const char* option : {"--warmup", "--eval-every"}) refused(train, option, {"-1", "x"});
    for (const char* option :
         {"--lr", "--min-lr", "--weight-decay", "--clip", "--beta2", "--dropout"}) {
        refused(train, option, {"-1", "x", "nan", "inf", "1e30"});
    }
    refused({"train", "--text", "t.txt", "--out", "new"}, "--min-lr", {"0.1"});    // above --lr
    refused({"train", "--text", "t.txt", "--out", "new"}, "--cooldown", {"0.2"});  // of a cosine
    refused(train, "--dropout", {"1"});
    refused(train, "--beta2", {"1"});
    refused(train, "--seed", {"-1", "x", "1.5", "99999999999999999999"});
    refused(sample, "--tokens", {"-1", "x"});
    refused(sample, "--temperature", {"-1", "x", "nan", "inf"});
    refused(sample, "--top-k", {"-1", "x"});
    refused(sample, "--top-p", {"0", "-1", "1.1", "nan"});
    refused(sample, "--seed", {"-1"});
    refused(sample, "--threads", {"0", "1025"});
    refused(eval, "--batches", {"0", "-1", "x"});
    for (const char* option : {"--layers", "--heads", "--dim", "--context", "--batch", "--vocab",
                               "--steps", "--threads"}) {
        refused(bench, option, {"0"});
    }
    refused({"bench", "gemm"}, "--threads", {"0"});
    CHECK_EQ(slurp(place / "m" / "model.safetensors"), before);
}

TEST_CASE("cli: TAPESTRY_ISA, _THREADS and _FUSE that mean nothing") {
    const Place place;
    put_model(place / "m");
    const Arguments sample{"sample", "--model", "m", "--prompt", "The"};
    const auto refused = [&](const std::string& name, const std::string& value,
                             const std::string& words) {
        const Outcome outcome = place.run(sample, {.environment = {{name, value}}});
        check_refused(outcome, fmt::format("{}={}: {}", name, value, words));
        CHECK_EQ(outcome.out, "");
    };
    refused("TAPESTRY_ISA", "nonsense", "unknown instruction set; must be one of baseline, avx2");
    refused("TAPESTRY_ISA", "", "unknown instruction set");
    const auto isas = tapestry::available_isas();
    for (const auto isa : {tapestry::Isa::avx2, tapestry::Isa::avx512, tapestry::Isa::neon}) {
        if (std::find(isas.begin(), isas.end(), isa) != isas.end()) continue;
        refused("TAPESTRY_ISA", std::string(name_of(isa)), "not available; this machine");
    }
    for (const char* value : {"2", "", "off"}) refused("TAPESTRY_FUSE", value, "must be 0 or 1");
    for (const char* value : {"0", "x", "-1", "", "1025", "2 "}) {
        refused("TAPESTRY_THREADS", value, "must be a number of threads from 1 to 1024");
    }
}

TEST_CASE("cli: output that cannot be written is an error, not silence") {
    const Place place;
    if (!std::filesystem::exists("/dev/full")) return skip("there is no /dev/full");
    check_refused(place.run({"info"}, {.stdout_to = "/dev/full"}), "output could not be written");
}
