// tapestry bench checkpoint: what saving costs a training that goes on meanwhile.
#include <tapestry/core/parallel.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/nn/bench/report.h>

#include <fmt/core.h>

namespace tapestry::cli {

void add_bench_checkpoint(Options& parent) {
    struct Settings {
        bench::CheckpointBench measured;
        std::string directory = std::filesystem::temp_directory_path().string();
        int threads = num_threads();
        bool json = false;
    };
    auto s = std::make_shared<Settings>();
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
        fmt::print("{}\n", s->json ? bench::to_json(row) : bench::to_text(row));
        return kSuccess;
    });
}

}  // namespace tapestry::cli
