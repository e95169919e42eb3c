// tapestry bench: how fast a training step, its parts, and writing are, here and now, and which
// share of what the machine can do that is. What is measured, and how, is in nn/bench.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/bench/report.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/core.h>

namespace tapestry::cli {
namespace {

struct BenchSettings {
    GPTConfig model{.vocab = 65};
    std::int64_t batch = 12;
    std::int64_t steps = 50;
    std::int64_t tokens = 256;
    int threads = num_threads();
    bool json = false;
};

int run_step(const BenchSettings& s) {
    set_num_threads(s.threads);
    check_memory(s.model, s.batch);
    const MachinePeak peak = measure_peak();
    const bench::StepRow row =
        bench::measure_step({.model = s.model, .batch = s.batch, .steps = s.steps});
    if (s.json) {
        fmt::print("{}\n", bench::to_json(row, peak));
    } else {
        fmt::print("{}\n{}\n", bench::peak_text(peak), bench::to_text(row, peak));
    }
    return kSuccess;
}

int run_sampling(const BenchSettings& s) {
    set_num_threads(s.threads);
    check_memory(s.model, 1);
    const MachinePeak peak = measure_peak();
    const bench::SamplingRow row = bench::measure_sampling({.model = s.model, .tokens = s.tokens});
    if (s.json) {
        fmt::print("{}\n", bench::to_json(row, peak));
    } else {
        fmt::print("{}\n{}\n", bench::peak_text(peak), bench::to_text(row));
    }
    return kSuccess;
}

void add_step(Options& parent) {
    auto s = std::make_shared<BenchSettings>();
    Options& o = parent.subcommand("step", "One training step on random tokens");
    add_model_options(o, s->model, s->batch);
    o.count("--vocab", s->model.vocab, "Tokens in the vocabulary");
    o.count("--steps", s->steps, "Steps to measure");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] { return run_step(*s); });
}

void add_sampling(Options& parent) {
    auto s = std::make_shared<BenchSettings>();
    Options& o = parent.subcommand("sample", "Writing tokens one at a time");
    add_model_options(o, s->model, s->batch);
    o.count("--tokens", s->tokens, "Tokens to write");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] { return run_sampling(*s); });
}

}  // namespace

void add_bench(Options& app) {
    Options& o = app.subcommand("bench", "Measure speed");
    add_step(o);
    add_bench_tables(o);
    add_sampling(o);
    add_bench_data(o);
    add_bench_checkpoint(o);
}

}  // namespace tapestry::cli
