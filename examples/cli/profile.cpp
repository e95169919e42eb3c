// tapestry profile: where a training step spends its time, compared with the least the machine
// would need. Profiles a GPT of any shape on random tokens, or a trained one on a text.
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/terminal.h>
#include <tapestry/nn/bench/report.h>
#include <tapestry/nn/distributed/mpi.h>

#include <fmt/core.h>

namespace tapestry::cli {
namespace {

struct ProfileSettings {
    GPTConfig model{.vocab = 65};
    std::string directory, text;
    std::int64_t batch = 12;
    bench::ProfileOptions options;
    int depth = 3;
    std::uint64_t seed = 1;
    int threads = num_threads();
    double latency = 0;  // ms
    bool json = false;
};

int profile(ProfileSettings s, Communicator& processes) {
    require(s.directory.empty() == s.text.empty(),
            "profile: --model and --text must be given together");
    s.options.communicator = &processes;
    processes.set_latency(s.latency / 1e3);
    set_num_threads(s.threads);
    const bench::ModelProfile profile =
        s.directory.empty()
            ? bench::profile_on_random_tokens(s.model, s.batch, s.options, s.seed)
            : bench::profile_on_text(s.directory, s.text, s.batch, s.options, s.seed);
    if (processes.rank() > 0) return kSuccess;
    s.json ? print_json(bench::to_json(profile, s.depth))
           : print("{}\n", bench::to_text(profile, s.depth));
    return kSuccess;
}

// Usage errors are the same in all processes and process 0 reports them; any other error aborts
// all.
int run_profile(const ProfileSettings& s) {
    if (!has_mpi() && launched_rank() > 0) return kSuccess;  // process 0 prints the reason
    const std::unique_ptr<Communicator> processes = join_processes();
    try {
        return profile(s, *processes);
    } catch (const ValueError&) {
        if (processes->rank() == 0) throw;
        return kSuccess;
    } catch (const Error& error) {
        if (processes->size() == 1) throw;
        warn(fmt::format("process {} on {}: {}", processes->rank(), processes->host(),
                         error.what()));
        abort_processes(kFailure);
        return kFailure;
    }
}

}  // namespace

void add_profile(Options& app) {
    auto s = std::make_shared<ProfileSettings>();
    Options& o = app.subcommand("profile",
                                "Where a training step's time goes, per operation and per module");
    Option model = o.text(
        "--model", s->directory,
        "Directory written by `tapestry train`, or one from Hugging Face; --context shortens "
        "its sequences");
    o.text("--text", s->text,
           "Text to run --model on; for another model than a language model its examples");
    add_model_options(o, s->model, s->batch);
    o.count("--vocab", s->model.vocab, "Vocabulary size");
    for (const char* shape : {"--layers", "--heads", "--dim", "--vocab", "--compute"}) {
        model.excludes(o.option(shape));
    }
    o.count("--steps", s->options.steps, "Steps to measure");
    o.count("--micro-batches", s->options.micro_batches,
            "Parts that a batch is split into, shared by mpirun's processes");
    o.number("--latency", s->latency, 0, 1e3,
             "Under mpirun: latency added to every message, in milliseconds");
    o.count("--depth", s->depth,
            "Depth of module paths in the table: 3 for blocks.*.attention; 0: all", {0, 100});
    o.seed(s->seed, "Seed for weights and batches");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s, &o] {
        if (o.given("--context")) s->options.context = s->model.context;
        return run_profile(*s);
    });
}

}  // namespace tapestry::cli
