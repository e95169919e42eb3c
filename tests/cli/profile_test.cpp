// profile: its FLOPs are the model's, and its parts add up to the total, in text and JSON.
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

using namespace tapestry::test;
using Json = nlohmann::json;

namespace {

const Arguments kSmall{"profile", "--layers",  "2",  "--heads", "2", "--dim",   "32", "--vocab",
                       "50",      "--context", "16", "--batch", "4", "--steps", "3"};

Json profiled(const Place& place, const Arguments& arguments) {
    const Outcome outcome = place.run(arguments + Arguments{"--json"});
    check_done(outcome);
    return Json::parse(outcome.out);
}

double sum_over(const Json& rows, const char* pass, const char* field) {
    double sum = 0;
    for (const Json& row : rows) sum += row.at(pass).at(field).get<double>();
    return sum;
}

}  // namespace

TEST_CASE("cli profile: the FLOPs are those of the model") {
    const Place place;
    const Json json = profiled(place, kSmall);
    // B T (24 L d^2 + 2 d V + 2 L d (T + 1)) forward, plus ops that are not products.
    const double forward = 64.0 * (24 * 2 * 1024 + 2 * 32 * 50 + 2 * 2 * 32 * 17) / 1e9;
    CHECK_EQ(json.at("gflops").get<double>() * json.at("median_ms").get<double>(),
             doctest::Approx(3e3 * forward));
    double products[2] = {0, 0};
    for (const Json& row : json.at("ops")) {
        const auto op = row.at("op").get<std::string>();
        if (op.find("linear") == std::string::npos && op != "attention" && op != "matmul") continue;
        products[0] += row.at("forward").at("gflop").get<double>();
        products[1] += row.at("backward").at("gflop").get<double>();
    }
    CHECK_GE(products[0], 0.999 * forward);
    CHECK_LE(products[0], 1.05 * forward);
    CHECK_EQ(products[1], doctest::Approx(2 * products[0]).epsilon(0.02));
    const double all = sum_over(json.at("ops"), "total", "gflop");
    CHECK_GE(all, 3 * 0.999 * forward);
    CHECK_LE(all, 3 * 1.1 * forward);
}

TEST_CASE("cli profile: its table fits a terminal of 80 columns") {
    const Place place;
    const Outcome outcome = place.run(kSmall);
    check_done(outcome);
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
}

TEST_CASE("cli profile: operations, modules and the whole are the same sums") {
    const Place place;
    for (const char* depth : {"0", "1", "3"}) {
        const Json json = profiled(place, kSmall + Arguments{"--depth", depth});
        for (const char* field : {"calls", "ms", "gflop", "mb", "least_ms"}) {
            const double tape = json.at("tape").at(field).get<double>();
            INFO(field << " at depth " << depth);
            for (const char* rows : {"ops", "modules", "rows"}) {
                CHECK_EQ(sum_over(json.at(rows), "total", field), doctest::Approx(tape));
                CHECK_EQ(sum_over(json.at(rows), "forward", field) +
                             sum_over(json.at(rows), "backward", field),
                         doctest::Approx(tape));
            }
            CHECK_EQ(tape + sum_over(json.at("outside"), "total", field),
                     doctest::Approx(json.at("total").at(field).get<double>()));
        }
        const Json& total = json.at("total");
        CHECK_EQ(total.at("of_peak").get<double>() * total.at("ms").get<double>(),
                 doctest::Approx(total.at("least_ms").get<double>()));
        CHECK_GT(total.at("least_ms").get<double>(), 0);
        // The profiler's own time is not counted.
        CHECK_LE(json.at("total").at("ms").get<double>(),
                 1.001 * json.at("median_ms").get<double>());
        CHECK_GT(json.at("peak_bytes").get<double>(), 0);
        CHECK_GT(json.at("peak").at("gflops").get<double>(), 0);
    }
}

TEST_CASE("cli profile: layers are one module, cut as deep as asked") {
    const Place place;
    const auto modules = [&](const char* depth) {
        const Json json = profiled(place, kSmall + Arguments{"--depth", depth});
        std::vector<std::string> names;
        for (const Json& row : json.at("modules")) names.push_back(row.at("module"));
        return names;
    };
    const auto has = [](const std::vector<std::string>& names, const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    const auto three = modules("3");
    CHECK(has(three, "blocks.*.attention"));
    CHECK(has(three, "blocks.*.feed_forward"));
    CHECK_FALSE(has(three, "blocks.*.attention.qkv"));
    CHECK(has(modules("0"), "blocks.*.attention.qkv"));
    CHECK(has(modules("1"), "blocks"));
}

TEST_CASE("cli profile: a trained model on a text") {
    const Place place;
    put_model(place / "m");
    spill(place / "t.txt", simple_text());
    const Arguments trained{"profile", "--model", "m",       "--text", "t.txt",
                            "--batch", "3",       "--steps", "2"};
    const std::string before = slurp(place / "m" / "model.safetensors");
    const Json json = profiled(place, trained);
    CHECK_EQ(json.at("what"), "m");
    CHECK_EQ(json.at("dim"), 16);
    CHECK_EQ(json.at("batch"), 3);
    CHECK_EQ(json.at("steps"), 2);
    CHECK_EQ(slurp(place / "m" / "model.safetensors"), before);

    const Outcome text = place.run(trained);
    check_done(text);
    CHECK(text.out.starts_with("peak: "));
    for (const char* words :
         {"\nm: 1 layer, 2 heads, dim 16, context 16,\n  vocabulary ", "\nby operation, in ms ",
          "\nby module, in ms ", "\nblocks.*.attention ", "\noutside of the tape, in ms ",
          "\noptimizer ", "\nleast "}) {
        INFO(words);
        CHECK(text.out.find(words) != std::string::npos);
    }
}

TEST_CASE("cli profile: what makes no sense is refused") {
    const Place place;
    put_model(place / "m");
    spill(place / "t.txt", simple_text());
    spill(place / "short.txt", "The cat");
    const auto refused = [&](const Arguments& arguments, const std::string& words) {
        const Outcome outcome = place.run(Arguments{"profile"} + arguments);
        check_refused(outcome, words);
        CHECK_EQ(outcome.out, "");
    };
    refused({"--model", "m"}, "profile: --model and --text must be given together");
    refused({"--text", "t.txt"}, "profile: --model and --text must be given together");
    refused({"--model", "m", "--text", "t.txt", "--dim", "32"}, "excludes");
    refused({"--model", "m", "--text", "t.txt", "--compute", "bf16"}, "--model excludes --compute");
    refused({"--model", "nowhere", "--text", "t.txt"}, "nowhere");
    refused({"--model", "m", "--text", "short.txt"}, "short.txt");
    refused({"--dim", "16", "--heads", "3"}, "3 heads do not divide dim 16");
    refused({"--depth", "-1"}, "--depth: Value -1 not in range 0 to 100");
    refused({"--steps", "0"}, "--steps: Value 0 not in range 1 to 1000000000");
    const Outcome help = place.run({"profile", "--help"});
    check_done(help);
    CHECK(help.out.find("Usage: tapestry profile") != std::string::npos);
}
