// tapestry bench busy: training steps while another program keeps a core to itself, beside the same
// ones without.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/options/output.h>
#include <tapestry/nn/bench/report.h>

namespace tapestry::cli {
namespace {

struct Busy {
    bench::BusyOptions measured;
    int threads = num_threads();
    bool json = false;
};

}  // namespace

void add_bench_busy(Options& parent) {
    auto s = std::make_shared<Busy>();
    bench::StepOptions& step = s->measured.step;
    Options& o =
        parent.subcommand("busy", "Training steps beside a loop that spins on one core, in turn");
    add_model_options(o, step.model, step.batch);
    o.count("--vocab", step.model.vocab, "Tokens in the vocabulary");
    o.count("--steps", step.steps, "Steps to measure, of each kind in each round");
    o.count("--rounds", s->measured.rounds, "Rounds of quiet steps, then busy ones");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] {
        set_num_threads(s->threads);
        check_memory(s->measured.step.model, s->measured.step.batch);
        const bench::BusyRow row = bench::measure_busy(s->measured);
        s->json ? print_json(to_json(row)) : print("{}\n", to_text(row));
        return kSuccess;
    });
}

}  // namespace tapestry::cli
