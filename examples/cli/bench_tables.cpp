// tapestry bench gemm, attention, ops: a row for each thing that is measured.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/bench/report.h>
#include <tapestry/ops/machine_peak.h>

#include <algorithm>

namespace tapestry::cli {
namespace {

// `measured` are the options of what is measured.
template <class Measured>
struct Table {
    Measured measured;
    int threads = num_threads();
    bool json = false;
};

template <class Measured>
void add_table_options(Options& o, Table<Measured>& s) {
    DType& dtype = s.measured.dtype;
    o.choice(
        "--dtype", "f32", {"f32", "f64"},
        [&dtype](const std::string& name) { dtype = name == "f64" ? DType::f64 : DType::f32; },
        "f32 or f64");
    o.number("--seconds", s.measured.seconds, 0, 60,
             "Time for each row; it is run five times at least");
    o.threads(s.threads);
    add_json(o, s.json);
}

// Prints rows as they are measured; or JSON at the end. `measure(told)` returns them all,
// `json_of(rows, peak)` what is said of them.
template <class Measured, class Measure, class JsonOf>
int print_table(const Table<Measured>& s, const std::string& title, const Measure& measure,
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

int run_gemm(const Table<bench::GemmOptions>& s) {
    return print_table(
        s, "C [M, N] = op(A) [M, K] op(B) [K, N], by M x N x K\n",
        [&](const bench::Told& told) { return bench::measure_gemm(s.measured, told); },
        [&](const auto& rows, const MachinePeak& peak) {
            return bench::to_json(rows, s.measured.dtype, peak);
        });
}

int run_attention(const Table<bench::AttentionOptions>& s) {
    return print_table(
        s, bench::title_of(s.measured) + "\n",
        [&](const bench::Told& told) { return bench::measure_attention(s.measured, told); },
        [&](const auto& rows, const MachinePeak& peak) {
            return bench::to_json(rows, s.measured, peak);
        });
}

int run_ops(const Table<bench::OpsOptions>& s) {
    return print_table(
        s, "", [&](const bench::Told& told) { return bench::measure_ops(s.measured, told); },
        [&](const auto& rows, const MachinePeak& peak) {
            return bench::to_json(rows, s.measured, peak);
        });
}

}  // namespace

void add_bench_tables(Options& parent) {
    auto gemm = std::make_shared<Table<bench::GemmOptions>>();
    Options& g = parent.subcommand("gemm", "Matrix products, all transpositions");
    g.counts("--sizes", gemm->measured.sizes, "M = N = K of the square ones");
    g.flag("--model", gemm->measured.of_layers,
           "Those of the linear layers of a GPT, dim 128 and 384, 768 and 4096 rows, instead "
           "of square ones");
    add_table_options(g, *gemm);
    g.run([gemm] { return run_gemm(*gemm); });

    auto attention = std::make_shared<Table<bench::AttentionOptions>>();
    Options& a = parent.subcommand("attention", "Attention, forward and backward");
    a.count("--batch", attention->measured.batch, "Sequences");
    a.count("--heads", attention->measured.heads, "Attention heads");
    a.count("--kv-heads", attention->measured.kv_heads,
            "Heads of keys and values, which heads share; 0: one for each", {0});
    a.count("--context", attention->measured.context, "Tokens in a sequence");
    a.count("--head-dim", attention->measured.head_dim, "Width of a head");
    a.flag("--causal,!--no-causal", attention->measured.causal, "Look back only; the default");
    add_table_options(a, *attention);
    a.run([attention] { return run_attention(*attention); });

    auto ops = std::make_shared<Table<bench::OpsOptions>>();
    Options& o = parent.subcommand("ops", "What a step consists of besides products");
    o.count("--rows", ops->measured.rows, "Rows: batch times context");
    o.count("--dim", ops->measured.dim, "Width of a row");
    o.count("--vocab", ops->measured.vocab, "Tokens in the vocabulary");
    add_table_options(o, *ops);
    o.run([ops] { return run_ops(*ops); });
}

}  // namespace tapestry::cli
