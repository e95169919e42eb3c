// gradcheck, bench step and info: what they print, and that their JSON has its fields.
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
    CHECK_EQ(json.at("wrong"), 0);
    CHECK_EQ(json.at("checked"), json.at("results").size());
    REQUIRE_GE(json.at("results").size(), 1);
    const Json& result = json.at("results")[0];
    CHECK_EQ(result.at("op"), "exp");
    CHECK_EQ(result.at("order"), 1);
    CHECK_EQ(result.at("ok"), true);
    CHECK_LT(result.at("worst").get<double>(), 1e-4);
    CHECK_EQ(result.at("message"), "");

    const Outcome both = place.run({"gradcheck", "--op", "exp"});
    check_done(both);
    CHECK(both.out.find("order 1") != std::string::npos);
    CHECK(both.out.find("order 2") != std::string::npos);
    CHECK(both.out.find("2 gradients checked, 0 wrong") != std::string::npos);
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
        REQUIRE_EQ(lines.size(), 4);
        CHECK(lines[0].starts_with("tapestry "));
        CHECK(lines[1].starts_with("instruction set  " + name));
        CHECK(lines[2].starts_with("threads          3"));
        CHECK(lines[3].starts_with("compiler         "));
    }
}
