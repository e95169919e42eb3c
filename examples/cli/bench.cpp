// tapestry bench: the speed of a training step, its parts and checkpoint writing, compared with the
// machine's peak (nn/bench). gemm, attention and ops print a row per measurement.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/bench/report.h>
#include <tapestry/ops/machine_peak.h>

#include <algorithm>

namespace tapestry::cli {
namespace {

// `measured`: the options of the measurement itself.
template <class Measured>
struct Bench {
    Measured measured;
    std::string directory = {};
    int threads = num_threads();
    bool json = false;
};

int show(bool json, const std::string& object, const std::string& text) {
    json ? print_json(object) : print("{}\n", text);
    return kSuccess;
}

// Also prints any doubt about the measured peak below the text.
int show(bool json, const std::string& object, const std::string& text,
         const bench::PeakCheck& check) {
    const std::string doubt = check.doubt();
    return show(json, with_check(object, check), doubt.empty() ? text : text + "\n" + doubt);
}

void add_step(Options& parent) {
    auto s = std::make_shared<Bench<bench::StepOptions>>();
    Options& o = parent.subcommand("step", "One training step on random tokens");
    add_model_options(o, s->measured.model, s->measured.batch);
    o.count("--vocab", s->measured.model.vocab, "Vocabulary size");
    add_fields(o, s->measured.model, {"weights"});
    o.count("--steps", s->measured.steps, "Steps to measure");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] {
        set_num_threads(s->threads);
        check_memory(s->measured.model, s->measured.batch);
        const MachinePeak before = measure_peak(product_dtype(s->measured.model));
        const bench::StepRow row = bench::measure_step(s->measured);
        const bench::PeakCheck check = bench::check_peak(before, row.fastest_flops);
        return show(s->json, to_json(row, check.peak),
                    bench::peak_text(check.peak) + "\n" + to_text(row, check.peak), check);
    });
}

// Training steps with and without another program keeping a core busy.
void add_busy(Options& parent) {
    auto s = std::make_shared<Bench<bench::BusyOptions>>();
    bench::StepOptions& step = s->measured.step;
    Options& o =
        parent.subcommand("busy", "Training steps with and without a spinning loop on one core");
    add_model_options(o, step.model, step.batch);
    o.count("--vocab", step.model.vocab, "Vocabulary size");
    o.count("--steps", step.steps, "Steps to measure per kind and round");
    o.count("--rounds", s->measured.rounds, "Rounds of quiet and busy steps");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] {
        set_num_threads(s->threads);
        check_memory(s->measured.step.model, s->measured.step.batch);
        const bench::BusyRow row = bench::measure_busy(s->measured);
        return show(s->json, to_json(row), to_text(row));
    });
}

void add_sampling(Options& parent) {
    auto s = std::make_shared<Bench<bench::SamplingOptions>>();
    Options& o = parent.subcommand("sample", "Writing tokens one at a time");
    add_model_options(o, s->measured.model);
    o.count("--tokens", s->measured.tokens, "Tokens to generate");
    add_choice(o, "--weights", s->measured.weights, "Type of the weights");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] {
        set_num_threads(s->threads);
        check_memory(s->measured.model, 1);
        const MachinePeak before = measure_peak();
        const bench::SamplingRow row = bench::measure_sampling(s->measured);
        const bench::PeakCheck check = bench::check_peak(before);
        return show(s->json, to_json(row, check.peak),
                    bench::peak_text(check.peak) + "\n" + to_text(row), check);
    });
}

void add_data(Options& parent) {
    auto s = std::make_shared<Bench<bench::DataOptions>>();
    Options& o = parent.subcommand("data", "Tokenizing, learning byte pairs, drawing batches");
    o.text("--text", s->measured.text, "UTF-8 text to use").required();
    o.count("--vocab", s->measured.vocab, "Byte-pair vocabulary size", {257, 1'000'000});
    o.count("--batch", s->measured.batch, "Sequences per batch");
    o.count("--context", s->measured.context, "Tokens in a sequence");
    o.number("--seconds", s->measured.seconds, 0, 60, "Time per row, for at least five runs");
    add_json(o, s->json);
    o.run([s] {
        const bench::DataRow row = bench::measure_data(s->measured);
        return show(s->json, to_json(row), to_text(row));
    });
}

// Thrown after a step; unwinding removes the checkpoints.
struct BenchInterrupted {};

void add_checkpoint(Options& parent) {
    auto s = std::make_shared<Bench<bench::CheckpointBench>>();
    Options& o =
        parent.subcommand("checkpoint", "A training run with checkpoints, and one without");
    add_model_options(o, s->measured.model, s->measured.batch);
    o.count("--vocab", s->measured.model.vocab, "Characters in the text", {2, 1'000'000});
    o.count("--steps", s->measured.steps, "Steps of each training run", {3, 1'000'000'000});
    o.count("--rounds", s->measured.rounds, "Training runs of each kind, alternating");
    o.number("--interval", s->measured.interval, 0.001, 1e6, "Seconds between checkpoints");
    o.text("--directory", s->directory,
           "Directory for the checkpoints during the measurement; default: $TMPDIR or /tmp")
        .without_default();
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] {
        set_num_threads(s->threads);
        s->measured.directory = s->directory;
        catch_interrupts();
        s->measured.stepped = [] {
            if (interrupted()) throw BenchInterrupted{};
        };
        try {
            const bench::CheckpointRow row = bench::measure_checkpoints(s->measured);
            return show(s->json, to_json(row), to_text(row));
        } catch (const BenchInterrupted&) {
            return kInterrupted;
        }
    });
}

// ---- tables: a row for each measurement

template <class Measured>
void add_table_options(Options& o, Bench<Measured>& s) {
    DType& dtype = s.measured.dtype;
    o.choice(
        "--dtype", "f32", {"f32", "f64"},
        [&dtype](const std::string& name) { dtype = name == "f64" ? DType::f64 : DType::f32; },
        "f32 or f64");
    o.number("--seconds", s.measured.seconds, 0, 60, "Time per row, for at least five runs");
    o.threads(s.threads);
    add_json(o, s.json);
}

// Prints rows as they are measured, or JSON at the end. `measure(told)` returns all rows;
// `json_of(rows, peak)` turns them into JSON.
template <class Measured, class Measure, class JsonOf>
int print_table(const Bench<Measured>& s, const std::string& title, const Measure& measure,
                const JsonOf& json_of) {
    set_num_threads(s.threads);
    const MachinePeak peak = measure_peak(s.measured.dtype);
    if (!s.json) {
        print("{}\n{}{}\n", bench::peak_text(peak), title, bench::table_head());
    }
    double fastest = 0;
    const auto rows = measure([&](const bench::Measurement& m) {
        fastest = std::max(fastest, m.fastest_flops());
        if (s.json) return;
        print("{}\n", bench::table_row(m, peak));
    });
    const bench::PeakCheck check = bench::check_peak(peak, fastest);
    if (s.json) print_json(with_check(json_of(rows, check.peak), check));
    if (!s.json && !check.doubt().empty()) print("{}\n", check.doubt());
    return kSuccess;
}

int run_gemm(const Bench<bench::GemmOptions>& s) {
    return print_table(
        s, "C [M, N] = op(A) [M, K] op(B) [K, N], by M x N x K\n",
        [&](const bench::Told& told) { return bench::measure_gemm(s.measured, told); },
        [&](const auto& rows, const MachinePeak& peak) {
            return bench::to_json(rows, s.measured.dtype, peak);
        });
}

int run_attention(const Bench<bench::AttentionOptions>& s) {
    return print_table(
        s, bench::title_of(s.measured) + "\n",
        [&](const bench::Told& told) { return bench::measure_attention(s.measured, told); },
        [&](const auto& rows, const MachinePeak& peak) {
            return bench::to_json(rows, s.measured, peak);
        });
}

int run_ops(const Bench<bench::OpsOptions>& s) {
    return print_table(
        s, "", [&](const bench::Told& told) { return bench::measure_ops(s.measured, told); },
        [&](const auto& rows, const MachinePeak& peak) {
            return bench::to_json(rows, s.measured, peak);
        });
}

void add_tables(Options& parent) {
    auto gemm = std::make_shared<Bench<bench::GemmOptions>>();
    Options& g = parent.subcommand("gemm", "Matrix products, all transpositions");
    g.counts("--sizes", gemm->measured.sizes, "M = N = K of the square products");
    g.flag("--model", gemm->measured.of_layers,
           "Products of a GPT's linear layers (dim 128 and 384, 768 and 4096 rows) instead of "
           "square ones")
        .excludes(g.option("--sizes"));
    add_table_options(g, *gemm);
    g.run([gemm] { return run_gemm(*gemm); });

    auto attention = std::make_shared<Bench<bench::AttentionOptions>>();
    Options& a = parent.subcommand("attention", "Attention, forward and backward");
    a.count("--batch", attention->measured.batch, "Sequences");
    a.count("--heads", attention->measured.heads, "Attention heads");
    a.count("--kv-heads", attention->measured.kv_heads,
            "Key and value heads, shared by groups of heads; 0: one per head", {0});
    a.count("--context", attention->measured.context, "Tokens in a sequence");
    a.count("--head-dim", attention->measured.head_dim, "Head dimension");
    a.flag("--causal,!--no-causal", attention->measured.causal,
           "Attend to earlier positions only (default)");
    add_table_options(a, *attention);
    a.run([attention] { return run_attention(*attention); });

    auto ops = std::make_shared<Bench<bench::OpsOptions>>();
    Options& o = parent.subcommand("ops", "Operations of a step other than matrix products");
    o.count("--rows", ops->measured.rows, "Rows: batch times context");
    o.count("--dim", ops->measured.dim, "Row length");
    o.count("--vocab", ops->measured.vocab, "Vocabulary size");
    add_table_options(o, *ops);
    o.run([ops] { return run_ops(*ops); });
}

}  // namespace

void add_bench(Options& app) {
    Options& o = app.subcommand("bench", "Measure speed");
    add_step(o);
    add_busy(o);
    add_tables(o);
    add_sampling(o);
    add_data(o);
    add_checkpoint(o);
}

}  // namespace tapestry::cli
