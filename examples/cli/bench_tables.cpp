// tapestry bench gemm, attention, ops: a row for each thing that is measured.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/bench/report.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/core.h>

#include <cstdio>

namespace tapestry::cli {
namespace {

// `measured` are the options of what is measured.
template <class Measured>
struct TableSettings {
    Measured measured;
    std::string dtype = "f32";
    bool of_layers = false;  ///< gemm's
    int threads = num_threads();
    bool json = false;
};

template <class Measured>
void add_table_options(Options& o, TableSettings<Measured>& s) {
    o.choice("--dtype", s.dtype, {"f32", "f64"}, "f32 or f64");
    o.number("--seconds", s.measured.seconds, 0, 60,
             "Time for each row; it is run five times at least");
    o.threads(s.threads);
    add_json(o, s.json);
}

// Prints rows as they are measured; or JSON at the end.
struct Table {
    MachinePeak peak;
    bool is_json;

    template <class Measured>
    Table(TableSettings<Measured>& s, const std::string& title) : is_json(s.json) {
        set_num_threads(s.threads);
        peak = measure_peak(s.measured.dtype);
        if (is_json) return;
        fmt::print("{}\n{}{}\n", bench::peak_text(peak, s.measured.dtype), title,
                   bench::table_head());
    }

    void operator()(const bench::Measurement& m) const {
        if (!is_json) fmt::print("{}\n", bench::table_row(m, peak));
        std::fflush(stdout);
    }

    int end(const std::string& json) const {
        if (is_json) fmt::print("{}\n", json);
        return kSuccess;
    }
};

template <class Measured>
void choose_dtype(TableSettings<Measured>& s) {
    s.measured.dtype = s.dtype == "f64" ? DType::f64 : DType::f32;
}

using GemmSettings = TableSettings<bench::GemmOptions>;
using AttentionSettings = TableSettings<bench::AttentionOptions>;
using OpsSettings = TableSettings<bench::OpsOptions>;

int run_gemm(GemmSettings& s) {
    choose_dtype(s);
    const Table table(s, "C [M, N] = op(A) [M, K] op(B) [K, N], by M x N x K\n");
    const auto products = s.of_layers ? bench::gpt_products() : bench::square_products();
    const auto rows = bench::measure_gemm(products, s.measured, table);
    return table.end(bench::to_json(rows, s.measured.dtype, table.peak));
}

int run_attention(AttentionSettings& s) {
    choose_dtype(s);
    const Table table(s, bench::title_of(s.measured) + "\n");
    const auto rows = bench::measure_attention(s.measured, table);
    return table.end(bench::to_json(rows, s.measured, table.peak));
}

int run_ops(OpsSettings& s) {
    choose_dtype(s);
    const Table table(s, "");
    const auto rows = bench::measure_ops(s.measured, table);
    return table.end(bench::to_json(rows, s.measured, table.peak));
}

}  // namespace

void add_bench_tables(Options& parent) {
    auto gemm = std::make_shared<GemmSettings>();
    Options& g = parent.subcommand("gemm", "Matrix products, all transpositions");
    g.flag("--model", gemm->of_layers,
           "Those of the linear layers of a GPT, dim 128 and 384, 768 and 4096 rows, instead "
           "of square ones");
    add_table_options(g, *gemm);
    g.run([gemm] { return run_gemm(*gemm); });

    auto attention = std::make_shared<AttentionSettings>();
    Options& a = parent.subcommand("attention", "Attention, forward and backward");
    a.count("--batch", attention->measured.batch, "Sequences");
    a.count("--heads", attention->measured.heads, "Attention heads");
    a.count("--context", attention->measured.context, "Tokens in a sequence");
    a.count("--head-dim", attention->measured.head_dim, "Width of a head");
    a.flag("--causal,!--no-causal", attention->measured.causal, "Look back only; the default");
    add_table_options(a, *attention);
    a.run([attention] { return run_attention(*attention); });

    auto ops = std::make_shared<OpsSettings>();
    Options& o = parent.subcommand("ops", "What a step consists of besides products");
    o.count("--rows", ops->measured.rows, "Rows: batch times context");
    o.count("--dim", ops->measured.dim, "Width of a row");
    o.count("--vocab", ops->measured.vocab, "Tokens in the vocabulary");
    add_table_options(o, *ops);
    o.run([ops] { return run_ops(*ops); });
}

}  // namespace tapestry::cli
