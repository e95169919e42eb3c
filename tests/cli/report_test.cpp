// gradcheck, bench step and info: their output, and the fields of their JSON.
#include <tapestry/core/cpu.h>
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

using namespace tapestry::test;
using Json = nlohmann::json;

TEST_CASE("cli gradcheck: one op, one order") {
    const Place place;
    const Outcome outcome = place.run({"gradcheck", "--op", "exp", "--order", "1", "--json"});
    check_done(outcome);
    const Json json = Json::parse(outcome.out);
    CHECK_EQ(json.at("failed"), 0);
    CHECK_EQ(json.at("inconclusive"), 0);
    CHECK_EQ(json.at("checked"), json.at("results").size());
    REQUIRE_GE(json.at("results").size(), 1);
    const Json& result = json.at("results")[0];
    CHECK_EQ(result.at("what"), "exp, sample 0");
    CHECK_EQ(result.at("check"), "order 1");
    CHECK_EQ(result.at("verdict"), "PASS");
    CHECK_EQ(result.at("reproduce"), "tapestry gradcheck --op exp --order 1");
    const Json& input = result.at("inputs").at(0);
    CHECK_EQ(input.at("shape"), Json({3, 5}));
    CHECK_LT(input.at("worst").at("allowed").get<double>(), 1e-6);
    REQUIRE_EQ(input.at("oracles").size(), 2);
    CHECK_EQ(input.at("oracles")[0].at("name"), "dual numbers");

    const Outcome both = place.run({"gradcheck", "--op", "exp"});
    check_done(both);
    CHECK(both.out.find("10 gradients checked: 10 PASS, 0 FAIL, 0 INCONCLUSIVE") !=
          std::string::npos);
}

TEST_CASE("cli gradcheck: modules, f32, a picture") {
    const Place place;
    const Outcome lstm =
        place.run({"gradcheck", "--module", "lstm", "--plot", (place / "lstm.svg").string()});
    check_done(lstm);
    CHECK(lstm.out.find("weight_hh") != std::string::npos);
    CHECK(lstm.out.find("2 PASS, 0 FAIL") != std::string::npos);
    const std::string svg = slurp(place / "lstm.svg");
    CHECK_EQ(svg.substr(0, 4), "<svg");
    CHECK(svg.find("<path") != std::string::npos);
    const Outcome narrow = place.run({"gradcheck", "--module", "gpt", "--dtype", "f32"});
    check_done(narrow);
    CHECK(narrow.out.find("f32 against f64; ulps") != std::string::npos);
}

TEST_CASE("cli gradcheck: a trained model on a text") {
    const Place place;
    put_model(place / "m");
    spill(place / "t.txt", simple_text());
    const Arguments check{"gradcheck", "--model", (place / "m").string(), "--text",
                          (place / "t.txt").string()};
    const Outcome outcome = place.run(check + Arguments{"--json"});
    check_done(outcome);
    const Json json = Json::parse(outcome.out);
    CHECK_EQ(json.at("failed"), 0);
    CHECK_GT(json.at("results")[0].at("inputs").size(), 10);
    check_done(place.run(check + Arguments{"--dtype", "f32"}));
    check_refused(place.run({"gradcheck", "--model", (place / "m").string()}),
                  "--model and --text must be given together");
    check_refused(place.run({"gradcheck", "--op", "exp", "--batch", "3"}),
                  "--batch requires --model");
}

TEST_CASE("cli gradcheck: an op without gradients has none to check") {
    const Place place;
    const Outcome outcome = place.run({"gradcheck", "--op", "argmax", "--json"});
    check_done(outcome);
    CHECK_EQ(Json::parse(outcome.out).at("results"), Json::array());
}

TEST_CASE("cli bench step: fields") {
    const Place place;
    const Arguments bench{"bench",     "step", "--layers", "1", "--heads", "2", "--dim",   "16",
                          "--context", "16",   "--batch",  "2", "--steps", "3", "--vocab", "30"};
    const Outcome outcome = place.run(bench + Arguments{"--json"});
    check_done(outcome);
    const Json json = Json::parse(outcome.out);
    for (const char* field : {"median_ms", "min_ms", "tokens_per_s", "gflops", "peak_bytes"}) {
        INFO(field);
        CHECK_GT(json.at(field).get<double>(), 0);
    }
    CHECK_LE(json.at("min_ms").get<double>(), json.at("median_ms").get<double>());
    CHECK_EQ(json.at("threads"), 1);
    check_done(place.run(bench));
    check_refused(place.run(bench + Arguments{"--heads", "3"}), "--heads");
    check_refused(place.run({"bench", "step", "--dim", "16", "--heads", "3"}),
                  "3 heads do not divide dim 16");
}

TEST_CASE("cli info: version, instruction set, threads, compiler") {
    const Place place;
    for (const tapestry::Isa isa : tapestry::available_isas()) {
        const std::string name(name_of(isa));
        const Outcome outcome = place.run(
            {"info"}, {.environment = {{"TAPESTRY_ISA", name}, {"TAPESTRY_THREADS", "3"}}});
        check_done(outcome);
        const auto lines = lines_of(outcome.out);
        REQUIRE_EQ(lines.size(), 5);
        CHECK(lines[0].starts_with("tapestry "));
        CHECK(lines[1].starts_with("instruction set  " + name));
        CHECK(lines[2].starts_with("threads          3"));
        CHECK_EQ(lines[3], "fused ops        yes (TAPESTRY_FUSE=0: the plain ones)");
        CHECK(lines[4].starts_with("compiler         "));
    }
}
