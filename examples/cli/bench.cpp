// tapestry bench: how fast a training step, its parts, and writing are, here and now, and which
// share of what the machine can do that is.
#include <tapestry/examples/cli/bench.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>

#include <memory>

namespace tapestry::cli {
namespace {

// A table's: one measurement per row.
void add_table_options(Options& o, BenchSettings& s) {
    o.choice("--dtype", s.dtype, {"f32", "f64"}, "f32 or f64");
    o.number("--seconds", s.seconds, 0, 60, "Time for each row; it is run five times at least");
    o.threads(s.threads);
    add_json(o, s.json);
}

void add_step(Options& bench) {
    auto s = std::make_shared<BenchSettings>();
    Options& o = bench.subcommand("step", "One training step on random tokens");
    add_model_options(o, s->model, s->batch);
    o.count("--vocab", s->model.vocab, "Tokens in the vocabulary");
    o.count("--steps", s->steps, "Steps to measure");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] { return bench_step(*s); });
}

void add_gemm(Options& bench) {
    auto s = std::make_shared<BenchSettings>();
    Options& o = bench.subcommand("gemm", "Matrix products, all transpositions");
    o.flag("--model", s->model_shapes,
           "Those of the linear layers of a GPT, dim 128 and 384, 768 and 4096 rows, instead "
           "of square ones");
    add_table_options(o, *s);
    o.run([s] { return bench_gemm(*s); });
}

void add_attention(Options& bench) {
    auto s = std::make_shared<AttentionBenchSettings>();
    s->batch = 4;
    Options& o = bench.subcommand("attention", "Attention, forward and backward");
    o.count("--batch", s->batch, "Sequences");
    o.count("--heads", s->heads, "Attention heads");
    o.count("--context", s->context, "Tokens in a sequence");
    o.count("--head-dim", s->head_dim, "Width of a head");
    o.flag("--causal,!--no-causal", s->causal, "Look back only; the default");
    add_table_options(o, *s);
    o.run([s] { return bench_attention(*s); });
}

void add_ops(Options& bench) {
    auto s = std::make_shared<OpsBenchSettings>();
    Options& o = bench.subcommand("ops", "What a step consists of besides products");
    o.count("--rows", s->rows, "Rows: batch times context");
    o.count("--dim", s->dim, "Width of a row");
    o.count("--vocab", s->vocab, "Tokens in the vocabulary");
    add_table_options(o, *s);
    o.run([s] { return bench_ops(*s); });
}

void add_sample_bench(Options& bench) {
    auto s = std::make_shared<BenchSettings>();
    Options& o = bench.subcommand("sample", "Writing tokens one at a time");
    add_model_options(o, s->model, s->batch);
    o.count("--tokens", s->tokens, "Tokens to write");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] { return bench_sample(*s); });
}

}  // namespace

void add_bench(Options& app) {
    Options& bench = app.subcommand("bench", "Measure speed");
    add_step(bench);
    add_gemm(bench);
    add_attention(bench);
    add_ops(bench);
    add_sample_bench(bench);
}

}  // namespace tapestry::cli
