// bench: every part runs at a small size, its JSON has its fields, and each reports its share of
// the peak, as train does.
#include <tapestry/autograd/profile/roofline.h>
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace tapestry::test;
using tapestry::MachinePeak;
using Json = nlohmann::json;

namespace {

Json benched(const Arguments& arguments) {
    const Place place;
    const Outcome outcome = place.run(Arguments{"bench"} + arguments + Arguments{"--json"});
    check_done(outcome);
    CHECK_EQ(lines_of(outcome.out).size(), 1);
    return Json::parse(outcome.out);
}

void check_peak(const Json& json, const std::string& dtype = "f32") {
    const Json& peak = json.at("peak");
    CHECK_EQ(peak.at("dtype"), dtype);
    CHECK_EQ(peak.at("threads"), 1);
    CHECK_GT(peak.at("gflops").get<double>(), 0);
    CHECK_GT(peak.at("gb_per_s").get<double>(), 0);
    CHECK_EQ(peak.at("levels").back().at("gb_per_s"), peak.at("gb_per_s"));
}

MachinePeak peak_of(const Json& json) {
    MachinePeak peak{.flops_per_second = 1e9 * json.at("gflops").get<double>()};
    for (const Json& level : json.at("levels")) {
        peak.levels.push_back(
            {level.at("bytes").get<std::size_t>(), 1e9 * level.at("gb_per_s").get<double>()});
    }
    return peak;
}

// rate [1e9/s] times time [ms]
double total(const Json& row, const char* rate) {
    return row.at(rate).get<double>() * 1e6 * row.at("median_ms").get<double>();
}

// The share of the peak: the least possible time over the actual time. It has no bound to test: a
// machine that was busy while the peak was measured exceeds it afterwards.
void check_row(const Json& row, const Json& peak) {
    INFO(row.dump());
    const double least = peak_of(peak).least_seconds(total(row, "gflops"), total(row, "gb_per_s"));
    CHECK_EQ(row.at("of_peak").get<double>() * row.at("median_ms").get<double>(),
             doctest::Approx(1e3 * least));
    CHECK_GT(row.at("min_ms").get<double>(), 0);
    CHECK_LE(row.at("min_ms").get<double>(), row.at("median_ms").get<double>());
    CHECK_GT(row.at("peak_bytes").get<double>(), 0);
    CHECK_GT(row.at("gb_per_s").get<double>(), 0);
}

}  // namespace

TEST_CASE("cli bench step: the peak, and how much of it") {
    const Json json = benched({"step", "--layers", "2", "--heads", "2", "--dim", "16", "--context",
                               "8", "--batch", "3", "--steps", "3", "--vocab", "30"});
    check_peak(json);
    const Json& check = json.at("peak_check");
    CHECK_EQ(
        std::max(check.at("gflops_before").get<double>(), check.at("gflops_after").get<double>()),
        doctest::Approx(json.at("peak").at("gflops").get<double>()));
    CHECK_GT(check.at("fastest_gflops").get<double>(), 0);
    CHECK_EQ(json.at("of_peak").get<double>() * json.at("peak").at("gflops").get<double>(),
             doctest::Approx(json.at("gflops").get<double>()));
    // B T (72 L d^2 + 6 d V + 6 L d (T + 1))
    const double flops = 24.0 * (72 * 2 * 256 + 6 * 16 * 30 + 6 * 2 * 16 * 9);
    CHECK_EQ(total(json, "gflops"), doctest::Approx(flops));
}

TEST_CASE("cli bench step: what computes in bf16 has the peak of products of bf16") {
    const Json json =
        benched({"step", "--layers", "1", "--heads", "2", "--dim", "16", "--context", "8",
                 "--batch", "3", "--steps", "3", "--vocab", "30", "--compute", "bf16"});
    CHECK_GT(json.at("peak_check").at("fastest_gflops").get<double>(), 0);
    check_peak(json, "bf16");
}

TEST_CASE("cli bench busy: steps with a spinning loop") {
    const Arguments small{"busy", "--layers", "1", "--heads", "2", "--dim",    "16", "--context",
                          "8",    "--batch",  "3", "--steps", "3", "--rounds", "1"};
    const Json json = benched(small);
    for (const char* kind : {"quiet", "busy"}) {
        const Json& times = json.at(kind);
        CHECK_GT(times.at("min_ms").get<double>(), 0);
        CHECK_LE(times.at("median_ms").get<double>(), times.at("p95_ms").get<double>());
    }
    CHECK_EQ(json.at("median_ratio").get<double>() * json.at("quiet").at("median_ms").get<double>(),
             doctest::Approx(json.at("busy").at("median_ms").get<double>()));
    const Place place;
    const Outcome lines = place.run(Arguments{"bench"} + small);
    check_done(lines);
    CHECK(lines.out.find("\nwith a spinning loop ") != std::string::npos);
    CHECK(lines.out.find("\ntimes as long ") != std::string::npos);
    check_refused(place.run({"bench", "busy", "--rounds", "0"}), "--rounds");
}

TEST_CASE("cli bench gemm: squares, in every form") {
    const Json square =
        benched({"gemm", "--seconds", "0", "--dtype", "f64", "--sizes", "64", "31", "128"});
    check_peak(square, "f64");
    REQUIRE_EQ(square.at("gflops").size(), 3);
    CHECK_EQ(square.at("gflops")[1].at("n"), 31);
    for (const char* form : {"nn", "nt", "tn", "tt"}) {
        CHECK_GT(square.at("gflops")[0].at(form).get<double>(), 0);
    }
    REQUIRE_EQ(square.at("products").size(), 12);
    for (const Json& row : square.at("products")) check_row(row, square.at("peak"));
    const Json& second = square.at("products")[1];
    CHECK_EQ(second.at("form"), "NT");
    CHECK_EQ(total(second, "gflops"), doctest::Approx(2.0 * 64 * 64 * 64));
    CHECK_EQ(total(second, "gb_per_s"), doctest::Approx(8.0 * 3 * 64 * 64));
    CHECK_EQ(square.at("products")[6].at("what"), "TN 31 x 31 x 31");
}

// The largest products take seconds: in short, reads only the first row, which ends the command.
// All sizes are tested in tests/nn/bench_test.cpp.
TEST_CASE("cli bench gemm: squares by default, or the shapes of a model's layers") {
    const Place place;
    const Outcome squares = place.run({"bench", "gemm", "--seconds", "0"}, {.read_at_most = 600});
    CAPTURE(squares.out);
    CHECK(squares.out.find("of peak peak MB\nNN 64 x 64 x 64 ") != std::string::npos);
    const Outcome layers =
        place.run({"bench", "gemm", "--seconds", "0", "--model"}, {.read_at_most = 600});
    CAPTURE(layers.out);
    CHECK(layers.out.find("of peak peak MB\nqkv y, NT 768 x 384 x 128 ") != std::string::npos);
    if (!is_long()) return;

    const Json model = benched({"gemm", "--seconds", "0", "--model"});
    check_peak(model);
    REQUIRE_EQ(model.at("products").size(), 48);
    bool found = false;
    for (const Json& row : model.at("products")) {
        check_row(row, model.at("peak"));
        const double flops =
            2.0 * row.at("m").get<double>() * row.at("n").get<double>() * row.at("k").get<double>();
        CHECK_EQ(total(row, "gflops"), doctest::Approx(flops));
        found = found || row.at("what") == "up dW, TN 1536 x 384 x 4096";
    }
    CHECK(found);
    CHECK_FALSE(model.contains("gflops"));
}

TEST_CASE("cli bench attention: work as far as it is needed") {
    const Arguments small{"attention", "--batch",   "2", "--heads",    "3", "--context",
                          "20",        "--seconds", "0", "--head-dim", "8"};
    const Json causal = benched(small);
    check_peak(causal);
    REQUIRE_EQ(causal.at("rows").size(), 2);
    for (const Json& row : causal.at("rows")) check_row(row, causal.at("peak"));
    CHECK_EQ(causal.at("rows")[0].at("what"), "forward");
    CHECK_EQ(total(causal.at("rows")[0], "gflops"), doctest::Approx(4.0 * 210 * 8 * 6));
    CHECK_EQ(total(causal.at("rows")[1], "gflops"), doctest::Approx(12.0 * 210 * 8 * 6));
    const Json full = benched(small + Arguments{"--no-causal"});
    CHECK_EQ(total(full.at("rows")[0], "gflops"), doctest::Approx(4.0 * 400 * 8 * 6));
}

TEST_CASE("cli bench ops: forward and backward of each") {
    const Json json = benched({"ops", "--rows", "64", "--dim", "16", "--seconds", "0"});
    check_peak(json);
    std::vector<std::string> both;
    double gelu_back = 0;
    for (const Json& row : json.at("rows")) {
        check_row(row, json.at("peak"));
        const auto what = row.at("what").get<std::string>();
        if (row.at("backward").get<bool>()) both.push_back(what.substr(0, what.find(' ')));
        if (both.size() == 1 && gelu_back == 0) gelu_back = total(row, "gb_per_s");
    }
    CHECK_EQ(both, std::vector<std::string>{"gelu", "layer_norm", "softmax", "rotary", "dropout",
                                            "embedding", "cross_entropy"});
    CHECK_EQ(gelu_back, doctest::Approx(12.0 * 64 * 64));  // g and x read, dx written
    CHECK_EQ(json.at("rows").back().at("what"), "adamw_update_ [192, 16]");
}

TEST_CASE("cli bench sample: every weight once per token") {
    const Json json = benched({"sample", "--layers", "1", "--heads", "2", "--dim", "16",
                               "--context", "16", "--tokens", "8"});
    check_peak(json);
    CHECK_EQ(json.at("same_tokens"), true);
    // 12 d^2 + 13 d per layer, the final norm, and the head's [vocab, d], which is the embedding.
    const double weights = 12 * 256 + 13 * 16 + 2 * 16 + 65 * 16;
    CHECK_EQ(total(json, "gb_per_s"), doctest::Approx(4 * weights));
    CHECK_EQ(json.at("of_peak").get<double>() * json.at("reading_gb_per_s").get<double>(),
             doctest::Approx(json.at("gb_per_s").get<double>()));
    CHECK_GT(json.at("tokens_per_s_without_cache").get<double>(), 0);
    CHECK_LE(json.at("min_ms").get<double>(), json.at("median_ms").get<double>());
    const Place place;  // one sequence is written
    check_refused(place.run({"bench", "sample", "--batch=2"}), "not expected: --batch");
}

TEST_CASE("cli bench data: speeds of what a text goes through") {
    const Place place;
    const std::string text = simple_text(100'000);
    spill(place / "t.txt", text);
    const Arguments command{"bench",   "data", "--text",    "t.txt", "--vocab",   "270",
                            "--batch", "2",    "--context", "8",     "--seconds", "0"};
    const Outcome outcome = place.run(command + Arguments{"--json"});
    check_done(outcome);
    const Json json = Json::parse(outcome.out);
    CHECK_EQ(json.at("bytes"), text.size());
    CHECK_EQ(json.at("vocab"), 270);
    for (const char* speed :
         {"characters_mb_per_s", "learning_mb_per_s", "byte_pairs_mb_per_s", "batch_us"}) {
        INFO(speed);
        CHECK_GT(json.at(speed).get<double>(), 0);
    }
    const Outcome lines = place.run(command);
    check_done(lines);
    CHECK(lines.out.starts_with("0.1 MB of text, one thread\ncharacters, found and encoded "));
    CHECK(lines.out.find("learning 270 byte pairs ") != std::string::npos);
    check_refused(place.run({"bench", "data", "--text", "none"}), "'none': No such file");
    // Refused before the measurements, which would take minutes.
    const Arguments long_context{"--context", "100000", "--seconds", "60"};
    check_refused(
        place.run(Arguments{"bench", "data", "--text", "t.txt", "--vocab", "270"} + long_context,
                  {.seconds = 60}),
        "t.txt: too short: the training part has ");
}

TEST_CASE("cli bench: text for people, the peak first") {
    const Place place;
    const std::vector<Arguments> all{
        {"step", "--layers", "1", "--dim", "16", "--steps", "2", "--batch", "1"},
        {"attention", "--context", "8", "--seconds", "0"},
        {"ops", "--rows", "8", "--dim", "8", "--seconds", "0"},
        {"sample", "--layers", "1", "--dim", "16", "--context", "8", "--tokens", "2"}};
    for (const Arguments& part : all) {
        const Outcome outcome = place.run(Arguments{"bench"} + part);
        check_done(outcome);
        CHECK(outcome.out.starts_with("peak: "));
        CHECK(outcome.out.find('%') != std::string::npos);
    }
    const std::string step = place.run(Arguments{"bench"} + all[0]).out;
    CHECK(step.find(" of the peak), ") != std::string::npos);
    CHECK(step.find(", at most ") != std::string::npos);
}

TEST_CASE("cli bench: what makes no sense is refused") {
    const Place place;
    const auto refused = [&](const Arguments& arguments, const std::string& words) {
        const Outcome outcome = place.run(Arguments{"bench"} + arguments);
        check_refused(outcome, words);
        CHECK_EQ(outcome.out, "");
    };
    refused({"gemm", "--dtype", "f16"}, "--dtype: f16 not in {f32,f64}");
    refused({"gemm", "--sizes", "64", "0"}, "--sizes: Value 0 not in range 1 to 1000000000");
    refused({"gemm", "--model", "--sizes", "64"}, "excludes");
    refused({"gemm", "--seconds", "nan"}, "--seconds: nan is not a number from 0 to 60");
    refused({"attention", "--heads", "0"}, "--heads: Value 0 not in range 1 to 1000000000");
    refused({"ops", "--rows", "x"}, "--rows");
    refused({"attention", "--threads", "0"}, "--threads: Value 0 not in range 1 to 1024");
    refused({"everything"}, "The following argument was not expected: everything");
}

TEST_CASE("cli train: share of the peak, after tokens/s and in the last metrics") {
    const Place place;
    spill(place / "t.txt", simple_text());
    const Outcome outcome = place.run(tiny_training());
    check_done(outcome);
    const auto lines = lines_of(outcome.out);
    REQUIRE_GE(lines.size(), 3);
    const std::string& end = lines[lines.size() - 3];  // then two lines on model and report
    CHECK(end.starts_with("20 steps in 0:0"));
    CHECK(end.find(" tokens/s, ") != std::string::npos);
    CHECK(end.find("% of the peak): loss ") != std::string::npos);
    CHECK(outcome.out.find("% of the peak  0:0") != std::string::npos);  // then the time left
    const auto metrics = lines_of(slurp(place / "m" / "metrics.jsonl"));
    CHECK_GT(Json::parse(metrics.back()).at("of_peak").get<double>(), 0);
}
