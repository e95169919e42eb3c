// nn/bench as a library: the counted work, rows as they are measured, a profile of a model that is
// not a GPT. tests/cli tests what the command prints.
#include <tapestry/nn/bench/report.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/optim/sgd.h>
#include <tapestry/ops/loss.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

using namespace tapestry;
using doctest::Approx;
using Json = nlohmann::json;

namespace {

const MachinePeak kPeak{.flops_per_second = 1e9, .levels = {{1 << 20, 1e9}}};

GPTConfig small_gpt() { return {.vocab = 30, .context = 8, .layers = 2, .heads = 2, .dim = 16}; }

}  // namespace

TEST_CASE("bench: median and fastest") {
    const bench::Times odd = bench::times_of({3, 1, 2});
    CHECK_EQ(odd.median, 2);
    CHECK_EQ(odd.min, 1);
    CHECK_EQ(bench::times_of({4}).median, 4);
    int calls = 0;
    const bench::Times counted = bench::repeated(0, [&] { return static_cast<double>(++calls); });
    CHECK_EQ(calls, 6);  // the first is a warm-up
    CHECK_EQ(counted.min, 2);
    CHECK_EQ(counted.median, 4);
}

TEST_CASE("bench: the 95th percentile leaves one of twenty out") {
    std::vector<double> seconds;
    for (int i = 40; i > 0; --i) seconds.push_back(i);
    CHECK_EQ(bench::times_of(seconds).p95, 38);
    CHECK_EQ(bench::times_of({3, 1, 2}).p95, 3);
    CHECK_EQ(bench::times_of({4}).p95, 4);
}

TEST_CASE("bench: a peak is doubtful if it moved or was beaten") {
    const auto doubt = [](double before, double after, double fastest) {
        return bench::PeakCheck{.peak = {}, .before = before, .after = after, .fastest = fastest}
            .doubt();
    };
    CHECK_EQ(doubt(100e9, 96e9, 90e9), "");
    CHECK_EQ(doubt(96e9, 100e9, 100.5e9), "");
    CHECK_EQ(doubt(100e9, 94e9, 0),
             "doubtful: the peak was 100.0 GFLOP/s before and 94.0 after; the machine changed its "
             "clock, or other programs ran");
    CHECK(doubt(94e9, 100e9, 0).find("94.0 GFLOP/s before and 100.0 after") != std::string::npos);
    CHECK(doubt(99e9, 100e9, 102e9).starts_with("doubtful: something ran at 102.0 GFLOP/s, but"));
    const bench::PeakCheck check = bench::check_peak(kPeak, 5e8);
    CHECK_EQ(check.before, 1e9);
    CHECK_GT(check.after, 1e6);
    CHECK_EQ(check.peak.flops_per_second, std::max(check.before, check.after));
    CHECK_EQ(check.peak.levels.size(), kPeak.levels.size());
    const Json json = Json::parse(bench::with_check(R"({"a": 1})", check));
    CHECK_EQ(json.at("a"), 1);
    CHECK_EQ(json.at("peak_check").at("gflops_before"), 1);
    CHECK_EQ(json.at("peak_check").at("fastest_gflops"), 0.5);
    CHECK_EQ(json.at("peak_check").at("doubt"), check.doubt());
}

TEST_CASE("bench: of the peak is the least time over the median") {
    const bench::Measurement m{.what = "x", .times = {.median = 2, .min = 1}, .flops = 1e9};
    CHECK_EQ(m.of_peak(kPeak), Approx(0.5));
    CHECK_EQ(bench::percent(0.5), "50%");
    CHECK_EQ(bench::percent(0), "-");
    const std::string row = bench::table_row(m, kPeak);
    CHECK(row.starts_with("x "));
    CHECK(row.find(" 50%") != std::string::npos);
}

TEST_CASE("bench gemm: products, their work, and rows as they are measured") {
    CHECK_EQ(bench::square_products({255, 3}).size(), 8);
    CHECK_EQ(bench::square_products({255, 3})[4].m, 3);
    CHECK_EQ(bench::square_products(bench::GemmOptions{}.sizes).back().n, 2048);
    const auto layers = bench::gpt_products();
    REQUIRE_EQ(layers.size(), 48);
    CHECK(std::any_of(layers.begin(), layers.end(), [](const bench::Product& p) {
        return p.name == "up dW" && p.form == "TN" && p.m == 1536 && p.n == 384 && p.k == 4096;
    }));
    std::vector<std::string> told;
    const auto rows = bench::measure_gemm({{3, 5, 7, "NT"}, {4, 4, 4, "TT", "up dW"}},
                                          {.dtype = DType::f64, .seconds = 0},
                                          [&](const auto& m) { told.push_back(m.what); });
    CHECK_EQ(told, std::vector<std::string>{"NT 3 x 5 x 7", "up dW, TT 4 x 4 x 4"});
    REQUIRE_EQ(rows.size(), 2);
    CHECK_EQ(rows[0].measurement.flops, 2 * 3 * 5 * 7);
    CHECK_EQ(rows[0].measurement.bytes, 8 * (3 * 7 + 7 * 5 + 3 * 5));
    CHECK_GT(rows[0].measurement.times.min, 0);
    CHECK_LE(rows[0].measurement.times.min, rows[0].measurement.times.median);
    const Json json = Json::parse(bench::to_json(rows, DType::f64, kPeak));
    CHECK_EQ(json.at("dtype"), "f64");
    CHECK_EQ(json.at("products")[1].at("form"), "TT");
    CHECK_FALSE(json.contains("gflops"));  // only for square products
}

TEST_CASE("bench attention: half of the pairs where it looks back alone") {
    bench::AttentionOptions options{
        .batch = 2, .heads = 3, .context = 20, .head_dim = 8, .seconds = 0};
    const auto causal = bench::measure_attention(options);
    REQUIRE_EQ(causal.size(), 2);
    CHECK_EQ(causal[0].flops, Approx(4.0 * 210 * 8 * 6));
    CHECK_EQ(causal[1].flops, Approx(3 * causal[0].flops));
    CHECK_EQ(bench::title_of(options),
             "causal attention, batch 2, 3 heads, context 20, 8 per head, f32");
    options.causal = false;
    CHECK_EQ(bench::measure_attention(options)[0].flops, Approx(4.0 * 400 * 8 * 6));
    options.kv_heads = 1;  // the same products over a third as many keys and values
    CHECK_EQ(bench::title_of(options),
             "attention, batch 2, 3 heads over 1 of keys and values, context 20, 8 per head, f32");
    const auto shared = bench::measure_attention(options);
    CHECK_EQ(shared[0].flops, Approx(4.0 * 400 * 8 * 6));
    CHECK_EQ(shared[0].bytes, 4.0 * 2 * 20 * 8 * (3 + 1 + 1 + 3));
}

TEST_CASE("bench ops: a backward row follows its op, whose name it bears") {
    std::vector<std::string> told;
    const auto rows = bench::measure_ops({.rows = 64, .dim = 16, .seconds = 0}, [&](const auto& m) {
        told.push_back(m.what.substr(0, m.what.find(' ')));
    });
    REQUIRE_EQ(rows.size(), told.size());
    const auto gelu = std::find(told.begin(), told.end(), "gelu") - told.begin();
    const auto i = static_cast<std::size_t>(gelu);
    REQUIRE_LT(i + 1, rows.size());
    CHECK_EQ(told[i + 1], "gelu");
    CHECK_FALSE(rows[i].backward);
    CHECK(rows[i + 1].backward);
    CHECK_EQ(rows[i + 1].bytes, 12 * 64 * 64);  // g and x read, dx written
    CHECK(bench::table_row(rows[i + 1], kPeak).starts_with("  backward "));
    CHECK_EQ(told.back(), "adamw_update_");
}

TEST_CASE("bench step: the arithmetic of a training step") {
    const bench::StepRow row = bench::measure_step({.model = small_gpt(), .batch = 3, .steps = 3});
    // B T (72 L d^2 + 6 d V + 6 L d (T + 1))
    CHECK_EQ(row.measurement.flops, Approx(24.0 * (72 * 2 * 256 + 6 * 16 * 30 + 6 * 2 * 16 * 9)));
    CHECK_EQ(row.tokens_per_second * row.measurement.times.median, Approx(24));
    Generator generator(1);
    CHECK_EQ(row.parameters, GPT(small_gpt(), generator).parameter_count());
}

TEST_CASE("bench busy: a spinner spins, and both kinds of steps are taken") {
    const auto processor_time = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
    {
        const double before = processor_time();
        const bench::Spinner spinner;
        // This thread sleeps, so any CPU time is the spinner's.
        for (int i = 0; i < 60'000 && processor_time() - before < 0.02; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        CHECK_GE(processor_time() - before, 0.02);
    }
    const bench::BusyRow row = bench::measure_busy(
        {.step = {.model = small_gpt(), .batch = 3, .steps = 3, .warm_up = 1}, .rounds = 2});
    for (const bench::Times& times : {row.quiet, row.busy}) {
        CHECK_GT(times.min, 0);
        CHECK_LE(times.min, times.median);
        CHECK_LE(times.median, times.p95);
    }
    const Json json = Json::parse(bench::to_json(row));
    CHECK_EQ(json.at("busy").at("median_ms").get<double>(), Approx(1e3 * row.busy.median));
    CHECK_EQ(json.at("p95_ratio").get<double>(), Approx(row.busy.p95 / row.quiet.p95));
    CHECK_EQ(bench::to_text(row).find("with a spinning loop") != std::string::npos, true);
}

TEST_CASE("bench checkpoint: the model that is trained has the vocabulary that was asked for") {
    const test::Scratch scratch;
    bench::CheckpointBench options{
        .model = small_gpt(), .batch = 2, .steps = 3, .rounds = 1, .directory = scratch.path()};
    for (const std::int64_t vocab : {2, 14, 30}) {
        CAPTURE(vocab);
        options.model.vocab = vocab;
        const bench::CheckpointRow row = bench::measure_checkpoints(options);
        CHECK_EQ(row.with.at(0).parameters, row.parameters);
        CHECK_EQ(row.without.at(0).parameters, row.parameters);
    }
    options.stepped = [] { fail("enough"); };
    test::check_message<ValueError>([&] { bench::measure_checkpoints(options); }, "enough");
    CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("bench sampling: the same tokens with the cache and without") {
    const bench::SamplingRow row = bench::measure_sampling({.model = small_gpt(), .tokens = 6});
    CHECK(row.same_tokens);
    CHECK_EQ(row.bytes, 4.0 * static_cast<double>(row.parameters - 8 * 16));
    CHECK_GT(row.tokens_per_second_without_cache, 0);
    CHECK_EQ(row.of_peak() * row.read_speed, Approx(row.bytes_per_second()));
}

TEST_CASE("bench profile: a custom model, its batches and its optimiser") {
    Generator generator(1);
    Linear model(3, 2, true, generator);
    SGD optimizer({{.parameters = model.parameters()}}, {});
    Tensor x, y;
    int drawn = 0;
    const bench::StepProfile profile = bench::profile_step(
        optimizer, 1e-3,
        [&] {
            ++drawn;
            x = randn({4, 3}, generator);
            y = randn({4, 2}, generator);
        },
        [&] { return mse_loss(model(x), y); }, {.steps = 4, .warm_up = 2});
    CHECK_EQ(drawn, 6);
    CHECK_EQ(profile.step_seconds.size(), 4);
    std::vector<std::string> outside;
    for (const ProfileRow& row : profile.outside) {
        outside.push_back(row.op);
        CHECK_EQ(row.forward.calls, 1);  // in one step
        if (row.op == "grad_norm") CHECK_EQ(row.forward.bytes, 4 * 8);
    }
    std::sort(outside.begin(), outside.end());
    CHECK_EQ(outside, std::vector<std::string>{"batch", "end of the tape", "grad_norm",
                                               "gradients into grad()", "optimizer", "zero_grad"});
    const bool has_linear =
        std::any_of(profile.rows.begin(), profile.rows.end(),
                    [](const ProfileRow& row) { return row.op.find("linear") == 0; });
    CHECK(has_linear);
}

TEST_CASE("bench profile: a GPT's parameters stay what they are") {
    Generator generator(1);
    GPT model(small_gpt(), generator);
    const auto before = model.parameters().front().to_vector<float>();
    const auto next = [&] {
        return Batch{randint(0, 30, {3, 8}, generator), randint(0, 30, {3, 8}, generator)};
    };
    const bench::ModelProfile profile =
        bench::profile_model("mine", model, 3, next, {.steps = 2, .warm_up = 1});
    const auto after = model.parameters().front().to_vector<float>();
    double largest = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(before[i] - after[i])));
    }
    CHECK_LT(largest, 1e-7);
    const Json json = Json::parse(bench::to_json(profile, 3));
    CHECK_EQ(json.at("what"), "mine");
    CHECK_EQ(json.at("steps"), 2);
    CHECK_EQ(json.at("batch"), 3);
    CHECK(bench::to_text(profile, 0).find("blocks.1.attention.qkv") == std::string::npos);
    CHECK(bench::to_text(profile, 0).find("blocks.*.attention.qkv") != std::string::npos);
}

TEST_CASE("bench profile: a GPT of any shape, or a trained one on a text") {
    const bench::ProfileOptions options{.steps = 2, .warm_up = 1};
    const bench::ModelProfile random = bench::profile_on_random_tokens(small_gpt(), 3, options);
    CHECK_EQ(random.what, "GPT on random tokens");
    CHECK_EQ(random.batch, 3);
    CHECK_EQ(random.profile.step_seconds.size(), 2);
    CHECK_FALSE(random.profile.rows.empty());

    const test::Scratch scratch;
    const std::string text = (scratch / "t.txt").string(), model = (scratch / "m").string();
    std::string letters;
    while (letters.size() < 400) letters += "abc abd ";
    test::spill(text, letters);
    GPTConfig config = small_gpt();
    config.vocab = 5;
    Generator generator(1);
    save_model(model, GPT(config, generator), CharTokenizer::from_text("abcd "));
    const bench::ModelProfile trained = bench::profile_on_text(model, text, 2, options);
    CHECK_EQ(trained.what, model);
    CHECK_EQ(common_settings(trained.config).vocab, 5);
    CHECK(bench::to_text(trained, 3).find("vocabulary 5, batch 2, ") != std::string::npos);
    bench::ProfileOptions shorter = options;
    shorter.context = 3;
    const bench::ModelProfile of_three = bench::profile_on_text(model, text, 2, shorter);
    CHECK_EQ(common_settings(of_three.config).context, 3);
    CHECK_LT(of_three.flops, trained.flops);
    shorter.context = config.context + 1;
    test::check_message<ValueError>([&] { bench::profile_on_text(model, text, 2, shorter); },
                                    "more than the model's context of");
    test::spill(text, "abc");
    test::check_message<ValueError>([&] { bench::profile_on_text(model, text, 2, options); },
                                    "context");
    config.dim = 1 << 20;
    test::check_message<ValueError>([&] { bench::profile_on_random_tokens(config, 2, options); },
                                    " GB of memory");
}
