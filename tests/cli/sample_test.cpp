// Samples of a trained model, and the report of its loss.
#include <tapestry/core/text/utf8.h>
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

using namespace tapestry::test;
using Json = nlohmann::json;

namespace {

struct ModelPlace : Place {
    ModelPlace() { put_model(*this / "m"); }

    std::string sample(const Arguments& more) const {
        const Outcome outcome = run(Arguments{"sample", "--model", "m", "--tokens", "40"} + more);
        check_done(outcome);
        return outcome.out;
    }
};

}  // namespace

TEST_CASE("cli sample: the seed decides, and at temperature 0 nothing but the model") {
    const ModelPlace place;
    const std::string first = place.sample({});
    CHECK_EQ(first.size(), 41);
    CHECK_EQ(first.back(), '\n');
    CHECK_EQ(place.sample({}), first);
    CHECK_EQ(place.sample({"--threads", "2"}), first);
    CHECK(place.sample({"--seed", "2"}) != first);
    CHECK_EQ(place.sample({"--temperature", "0", "--seed", "2"}),
             place.sample({"--temperature", "0", "--seed", "3"}));
    CHECK_EQ(place.sample({"--temperature", "0"}), place.sample({"--top-k", "1"}));
    CHECK_EQ(place.sample({"--temperature", "0"}), place.sample({"--top-p", "1e-9"}));
}

TEST_CASE("cli sample: a prompt is continued") {
    const ModelPlace place;
    const std::string text = place.sample({"--prompt", "The cat"});
    CHECK(text.starts_with("The cat"));
    CHECK_EQ(text.size(), 7 + 40 + 1);
    CHECK_EQ(place.run({"sample", "--model", "m", "--prompt", "The", "--tokens", "0"}).out,
             "The\n");
    CHECK_EQ(place.run({"sample", "--model", "m", "--tokens", "0"}).out, "\n");
    // Longer than the context.
    const std::string longer = simple_text(100);
    CHECK(place.sample({"--prompt", longer}).starts_with(longer));
    CHECK(place.sample({"--prompt", "was it?\nIt"}).starts_with("was it?\nIt"));
}

TEST_CASE("cli sample: several samples are those of the next seeds") {
    const ModelPlace place;
    const std::string text = place.sample({"-n", "3", "--seed", "5", "--prompt", "It"});
    std::string expected;
    for (const char* seed : {"5", "6", "7"}) {
        expected += fmt::format("--- sample {} of 3, --seed {}\n", seed[0] - '4', seed) +
                    place.sample({"--seed", seed, "--prompt", "It"});
    }
    CHECK_EQ(text, expected);
    CHECK_EQ(place.sample({"--samples", "1", "--seed", "5", "--prompt", "It"}),
             place.sample({"--seed", "5", "--prompt", "It"}));
}

TEST_CASE("cli sample: a prompt from a file or standard input, without its last newline") {
    const ModelPlace place;
    spill(place / "p.txt", "was it?\nIt\n");
    const std::string expected = place.sample({"--prompt", "was it?\nIt"});
    CHECK_EQ(place.sample({"--prompt-file", "p.txt"}), expected);
    spill(place / "w.txt", "\xEF\xBB\xBFwas it?\nIt\r\n");
    CHECK_EQ(place.sample({"--prompt-file", "w.txt"}), expected);
    const Outcome piped =
        place.run({"sample", "--model", "m", "--tokens", "40", "--prompt-file", "-"},
                  {.stdin_from = (place / "p.txt").string()});
    check_done(piped);
    CHECK_EQ(piped.out, expected);
    check_refused(place.run({"sample", "--model", "m", "--prompt-file", "none"}), "none");
    check_refused(place.run({"sample", "--model", "m", "--prompt", "x", "--prompt-file", "p.txt"}),
                  "--prompt excludes --prompt-file");
    CHECK_EQ(place.sample({"--prompt", "was"}).substr(0, 3), "was");
}

TEST_CASE("cli sample: it ends at a stop text, and penalties change it") {
    const ModelPlace place;
    const std::string whole = place.sample({"--prompt", "The"});
    const std::string stop = whole.substr(20, 3);
    const std::size_t at = whole.find(stop, 3);
    CHECK_EQ(place.sample({"--prompt", "The", "--stop", "%%", "--stop", stop}),
             whole.substr(0, at) + "\n");
    check_refused(place.run({"sample", "--model", "m", "--stop", ""}), "a stop text is empty");
    CHECK(place.sample({"--prompt", "The", "--repeat-penalty", "1.8"}) != whole);
    CHECK(place.sample({"--prompt", "The", "--repeat-penalty", "1.8", "--repeat-last", "1"}) !=
          place.sample({"--prompt", "The", "--repeat-penalty", "1.8"}));
    check_refused(place.run({"sample", "--model", "m", "--repeat-last", "1"}),
                  "--repeat-last requires --repeat-penalty");
    CHECK_EQ(place.sample({"--prompt", "The", "--min-p", "1"}),
             place.sample({"--prompt", "The", "--temperature", "0"}));
    check_refused(place.run({"sample", "--model", "m", "--min-p", "1.5"}), "--min-p");
}

TEST_CASE("cli sample: probabilities of each token as a table and as JSON") {
    const ModelPlace place;
    const Arguments five{"--tokens", "5", "--prompt", "Th", "--probabilities", "2"};
    const Outcome table = place.run(Arguments{"sample", "--model", "m"} + five);
    check_done(table);
    const auto lines = lines_of(table.out);
    REQUIRE_EQ(lines.size(), 7);
    CHECK(lines[0].starts_with("Th"));
    CHECK(lines[1].starts_with("token"));
    CHECK(lines[1].ends_with("likeliest"));
    const Outcome outcome =
        place.run(Arguments{"sample", "--model", "m", "--json", "-n", "2"} + five);
    check_done(outcome);
    REQUIRE_EQ(lines_of(outcome.out).size(), 2);
    for (const std::string& line : lines_of(outcome.out)) {
        const Json json = Json::parse(line);
        CHECK_EQ(json.at("prompt"), "Th");
        REQUIRE_EQ(json.at("tokens").size(), 5);
        std::string text;
        for (const Json& token : json.at("tokens")) {
            text += token.at("text").get<std::string>();
            REQUIRE_EQ(token.at("likeliest").size(), 2);
            const double best = token.at("likeliest")[0].at("probability");
            CHECK_GE(best, token.at("likeliest")[1].at("probability").get<double>());
            CHECK_GE(best, token.at("probability").get<double>());
            CHECK_LE(best, 1);
        }
        CHECK_EQ(json.at("text"), text);
    }
    CHECK_EQ(Json::parse(lines_of(outcome.out)[0]).at("text"), lines[0].substr(2));
    CHECK_EQ(Json::parse(lines_of(outcome.out)[1]).at("seed"), 1338);
}

TEST_CASE("cli sample: narrower weights write the same text with any number of threads") {
    const ModelPlace place;
    for (const char* type : {"bf16", "int8"}) {
        const Arguments weights{"--weights", type, "--prompt", "The"};
        const std::string text = place.sample(weights);
        CHECK(text.starts_with("The"));
        CHECK_EQ(text.size(), 3 + 40 + 1);
        CHECK_EQ(place.sample(weights + Arguments{"--threads", "2"}), text);
    }
    CHECK_EQ(place.sample({"--weights", "f32"}), place.sample({}));
    check_refused(place.run({"sample", "--model", "m", "--weights", "int4"}), "int4");
    spill(place / "t.txt", simple_text());
    const auto train = [&](const char* type) {
        return place.run({"train", "--text", "t.txt", "--out", "x", "--weights", type});
    };
    check_refused(train("int8"),
                  "a step changes a weight by less than the distance between two int8 numbers");
    check_refused(train("f16"), "f16 is not a type for training weights");
}

TEST_CASE("cli sample: a reader that goes away ends it") {
    const ModelPlace place;
    const Outcome outcome =
        place.run({"sample", "--model", "m", "--tokens", "100000000"}, {.read_at_most = 10});
    CHECK_EQ(outcome.code, -SIGPIPE);
    CHECK_EQ(outcome.out.size(), 10);
    CHECK_EQ(outcome.err, "");
}

TEST_CASE("cli sample: an interrupt ends it with 130") {
    const ModelPlace place;
    Process process({"sample", "--model", "m", "--tokens", "100000000"}, place.path(),
                    {.stdout_to = "/dev/null"});
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    process.send(SIGINT);
    const Outcome outcome = process.wait();
    CHECK((outcome.code == 130 || outcome.code == -SIGINT));  // or before the handler was installed
    CHECK_EQ(outcome.err, "");
}

TEST_CASE("cli: a Chinese text is characters like any other") {
    const Place place;
    std::string text;
    for (int i = 0; i < 60; ++i) text += "猫坐在垫子上。狗说：「你好吗？」猫说：我很好！\n";
    spill(place / "t.txt", text);
    const Outcome trained = place.run(tiny_training({"--steps", "30", "--lr", "1e-2"}));
    check_done(trained);
    CHECK(trained.out.find("t.txt: 1440 characters, 20 different") != std::string::npos);
    const Outcome outcome =
        place.run({"sample", "--model", "m", "--prompt", "猫坐", "--tokens", "50"});
    check_done(outcome);
    CHECK(outcome.out.starts_with("猫坐"));
    CHECK_FALSE(tapestry::utf8::find_flaw(outcome.out).has_value());
    CHECK_EQ(tapestry::utf8::decode("sample", outcome.out).size(), 2 + 50 + 1);
    check_refused(place.run({"sample", "--model", "m", "--prompt", "猫坐狼"}),
                  "character '狼' (U+72FC) at position 2");
}

TEST_CASE("cli sample: the end of a document ends it, unless it is told to go on") {
    const Place place;
    std::string lines;
    for (int i = 0; i < 60; ++i) lines += "{\"text\": \"ab\"}\n";
    spill(place / "t.jsonl", lines);
    check_done(place.run(tiny_training({"--text", "t.jsonl", "--steps", "60", "--lr", "3e-2"})));
    const Arguments sample{"sample", "--model", "m", "--prompt", "a", "--temperature", "0"};
    CHECK_EQ(place.run(sample).out, "ab\n");
    const Outcome past = place.run(sample + Arguments{"--past-end", "--tokens", "6"});
    check_done(past);
    CHECK_EQ(past.out,
             "ab\x03"
             "ab\x03"
             "a\n");
}

TEST_CASE("cli eval: the same number every time, and its fields") {
    const ModelPlace place;
    spill(place / "t.txt", simple_text());
    const Arguments eval{"eval", "--model", "m", "--text", "t.txt", "--batches", "5"};
    const Outcome first = place.run(eval + Arguments{"--json"});
    check_done(first);
    CHECK_EQ(lines_of(first.out).size(), 1);
    const Json json = Json::parse(first.out);
    const double loss = json.at("loss");
    CHECK_GT(loss, 0);
    CHECK_LT(loss, 10);
    CHECK_EQ(json.at("perplexity").get<double>(), doctest::Approx(std::exp(loss)));
    CHECK_EQ(json.at("tokens"), 5 * 12 * 16);
    CHECK_EQ(place.run(eval + Arguments{"--json", "--threads", "2"}).out, first.out);
    CHECK(place.run(eval + Arguments{"--json", "--seed", "2"}).out != first.out);
    const Outcome plain = place.run(eval);
    check_done(plain);
    CHECK(plain.out.starts_with(fmt::format("loss {:.4f} nats per character", loss)));
}
