// tapestry bench: how fast a step, its parts and writing are, beside the machine's peak (nn/bench).
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/config_options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/bench/report.h>
#include <tapestry/ops/machine_peak.h>

namespace tapestry::cli {
namespace {

// `measured` are the options of what is measured.
template <class Measured>
struct Bench {
    Measured measured;
    std::int64_t batch = 12;  ///< of what has none
    std::string directory = std::filesystem::temp_directory_path().string();
    int threads = num_threads();
    bool json = false;
};

int show(bool json, const std::string& object, const std::string& text) {
    json ? print_json(object) : print("{}\n", text);
    return kSuccess;
}

// The same, what is doubtful about the peak below it.
int show(bool json, const std::string& object, const std::string& text,
         const bench::PeakCheck& check) {
    const std::string doubt = check.doubt();
    return show(json, with_check(object, check), doubt.empty() ? text : text + "\n" + doubt);
}

void add_step(Options& parent) {
    auto s = std::make_shared<Bench<bench::StepOptions>>();
    Options& o = parent.subcommand("step", "One training step on random tokens");
    add_model_options(o, s->measured.model, s->measured.batch);
    o.count("--vocab", s->measured.model.vocab, "Tokens in the vocabulary");
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

void add_sampling(Options& parent) {
    auto s = std::make_shared<Bench<bench::SamplingOptions>>();
    Options& o = parent.subcommand("sample", "Writing tokens one at a time");
    add_model_options(o, s->measured.model, s->batch);
    o.count("--tokens", s->measured.tokens, "Tokens to write");
    add_choice(o, "--weights", s->measured.weights, "What the weights are kept in");
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
    o.text("--text", s->measured.text, "UTF-8 text to do it with").required();
    o.count("--vocab", s->measured.vocab, "Tokens of the byte pairs", {257, 1'000'000});
    o.count("--batch", s->measured.batch, "Sequences per batch");
    o.count("--context", s->measured.context, "Tokens in a sequence");
    o.number("--seconds", s->measured.seconds, 0, 60, "Time for a row, of five runs or more");
    add_json(o, s->json);
    o.run([s] {
        const bench::DataRow row = bench::measure_data(s->measured);
        return show(s->json, to_json(row), to_text(row));
    });
}

void add_checkpoint(Options& parent) {
    auto s = std::make_shared<Bench<bench::CheckpointBench>>();
    Options& o = parent.subcommand("checkpoint", "A training with checkpoints, and without");
    add_model_options(o, s->measured.model, s->measured.batch);
    o.count("--vocab", s->measured.model.vocab, "Characters in the text", {2, 1'000'000});
    o.count("--steps", s->measured.steps, "Steps of each training", {3, 1'000'000'000});
    o.count("--rounds", s->measured.rounds, "Trainings of each kind, in turn");
    o.number("--interval", s->measured.interval, 0.001, 1e6, "Seconds between checkpoints");
    o.text("--directory", s->directory, "Where they are written for the time of the measurement");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] {
        set_num_threads(s->threads);
        s->measured.directory = s->directory;
        const bench::CheckpointRow row = bench::measure_checkpoints(s->measured);
        return show(s->json, to_json(row), to_text(row));
    });
}

}  // namespace

void add_bench(Options& app) {
    Options& o = app.subcommand("bench", "Measure speed");
    add_step(o);
    add_bench_busy(o);
    add_bench_tables(o);
    add_sampling(o);
    add_data(o);
    add_checkpoint(o);
}

}  // namespace tapestry::cli
