// tapestry bench: how fast a training step, its parts, and writing are, here and now, and which
// share of what the machine can do that is.
#include <tapestry/examples/cli/bench.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>

#include <memory>

namespace tapestry::cli {
namespace {

CLI::Option* add_count(CLI::App& command, const std::string& name, std::int64_t& count,
                       const std::string& description) {
    return command.add_option(name, count, description)
        ->capture_default_str()
        ->check(count_from(1));
}

void add_json(CLI::App& command, bool& json) {
    command.add_flag("--json", json, "Print one JSON object");
}

// A table's: one measurement per row.
void add_table_options(CLI::App& command, BenchSettings& s) {
    command.add_option("--dtype", s.dtype, "f32 or f64")
        ->capture_default_str()
        ->check(CLI::IsMember({"f32", "f64"}));
    command.add_option("--seconds", s.seconds, "Time for each row; it is run five times at least")
        ->capture_default_str()
        ->check(number_in(0, 60));
    add_threads(command, s.threads);
    add_json(command, s.json);
}

void add_step(CLI::App& bench, Run& run) {
    auto s = std::make_shared<BenchSettings>();
    CLI::App& step = *bench.add_subcommand("step", "One training step on random tokens");
    add_model_options(step, s->model, s->batch);
    add_count(step, "--vocab", s->model.vocab, "Tokens in the vocabulary");
    add_count(step, "--steps", s->steps, "Steps to measure");
    add_threads(step, s->threads);
    add_json(step, s->json);
    step.callback([s, &run] { run = [s] { return bench_step(*s); }; });
}

void add_gemm(CLI::App& bench, Run& run) {
    auto s = std::make_shared<BenchSettings>();
    CLI::App& gemm = *bench.add_subcommand("gemm", "Matrix products, all transpositions");
    gemm.add_flag(
        "--model", s->model_shapes,
        "Those of the linear layers of a GPT, dim 128 and 384, 768 and 4096 rows, instead "
        "of square ones");
    add_table_options(gemm, *s);
    gemm.callback([s, &run] { run = [s] { return bench_gemm(*s); }; });
}

void add_attention(CLI::App& bench, Run& run) {
    auto s = std::make_shared<AttentionBenchSettings>();
    s->batch = 4;
    CLI::App& attention = *bench.add_subcommand("attention", "Attention, forward and backward");
    add_count(attention, "--batch", s->batch, "Sequences");
    add_count(attention, "--heads", s->heads, "Attention heads");
    add_count(attention, "--context", s->context, "Tokens in a sequence");
    add_count(attention, "--head-dim", s->head_dim, "Width of a head");
    attention.add_flag("--causal,!--no-causal", s->causal, "Look back only; the default");
    add_table_options(attention, *s);
    attention.callback([s, &run] { run = [s] { return bench_attention(*s); }; });
}

void add_ops(CLI::App& bench, Run& run) {
    auto s = std::make_shared<OpsBenchSettings>();
    CLI::App& ops = *bench.add_subcommand("ops", "What a step consists of besides products");
    add_count(ops, "--rows", s->rows, "Rows: batch times context");
    add_count(ops, "--dim", s->dim, "Width of a row");
    add_count(ops, "--vocab", s->vocab, "Tokens in the vocabulary");
    add_table_options(ops, *s);
    ops.callback([s, &run] { run = [s] { return bench_ops(*s); }; });
}

void add_sample_bench(CLI::App& bench, Run& run) {
    auto s = std::make_shared<BenchSettings>();
    CLI::App& sample = *bench.add_subcommand("sample", "Writing tokens one at a time");
    add_model_options(sample, s->model, s->batch);
    add_count(sample, "--tokens", s->tokens, "Tokens to write");
    add_threads(sample, s->threads);
    add_json(sample, s->json);
    sample.callback([s, &run] { run = [s] { return bench_sample(*s); }; });
}

}  // namespace

void add_bench(CLI::App& app, Run& run) {
    CLI::App& bench = *app.add_subcommand("bench", "Measure speed");
    bench.require_subcommand(1);
    add_step(bench, run);
    add_gemm(bench, run);
    add_attention(bench, run);
    add_ops(bench, run);
    add_sample_bench(bench, run);
}

}  // namespace tapestry::cli
