// tapestry profile: where the time of a training step goes, and how much of it the machine would
// need at least. Of a GPT of any shape on random tokens, or of a trained one on a text.
#include <tapestry/autograd/profile/profiler.h>
#include <tapestry/autograd/tape.h>
#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/team.h>
#include <tapestry/core/views.h>
#include <tapestry/examples/cli/bench_report.h>
#include <tapestry/examples/cli/commands.h>
#include <tapestry/examples/cli/options.h>
#include <tapestry/examples/cli/profile_report.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/optim/clip.h>
#include <tapestry/ops/machine_peak.h>

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <optional>

namespace tapestry::cli {
namespace {

struct ProfileSettings {
    GPTConfig model{.vocab = 65};
    std::string directory, text;
    std::int64_t batch = 12;
    std::int64_t steps = 10;
    int depth = 3;
    std::uint64_t seed = 1;
    int threads = num_threads();
    bool json = false;
};

// A model and where its batches come from.
struct Subject {
    std::unique_ptr<GPT> model;
    std::function<Batch()> next;
};

Subject random_subject(const ProfileSettings& s, Generator& generator) {
    const GPTConfig config = s.model;
    check_memory(config, s.batch);
    const auto next = [config, batch = s.batch, &generator] {
        const Tensor ids = randint(0, config.vocab, {batch, config.context + 1}, generator);
        return Batch{views::slice(ids, 1, 0, config.context),
                     views::slice(ids, 1, 1, config.context + 1)};
    };
    return {std::make_unique<GPT>(config, generator), next};
}

Subject trained_subject(const ProfileSettings& s, Generator& generator) {
    LoadedModel loaded = load_model(s.directory);
    const Tokenizer& tokenizer = require_tokenizer(loaded, s.directory);
    auto data = std::make_shared<TextData>(tokenizer.encode(read_text(s.text), s.text),
                                           TextOptions{.name = s.text});
    const std::int64_t context = loaded.model->config().context;
    data->check_context(context);
    check_memory(loaded.model->config(), s.batch);
    loaded.model->train();
    const auto next = [data, batch = s.batch, context, &generator] {
        return data->random_batch(Split::train, batch, context, generator);
    };
    return {std::move(loaded.model), next};
}

// One step as nn/train/loop.cpp takes it, each part of it marked.
void take_step(const Subject& subject, AdamW& optimizer, Profiler& profiler) {
    const Tensors parameters = optimizer.parameters();
    double bytes = 0;
    for (const Tensor& p : parameters) bytes += static_cast<double>(p.bytes());
    const double count = bytes / 4;
    optimizer.zero_grad();
    profiler.mark("zero_grad");
    const Batch batch = subject.next();
    profiler.mark("batch");
    {
        Tape tape;
        tape.backward(subject.model->loss(batch.inputs, batch.targets));
        profiler.mark("gradients into grad()");
    }
    profiler.mark("end of the tape");
    const double norm = grad_norm(parameters);
    profiler.mark("grad_norm", 2 * count, bytes);
    optimizer.step(norm > 1 ? 1 / norm : 1);
    profiler.mark("optimizer", 14 * count, 7 * bytes);  // reads p, g, m, v; writes p, m, v
}

int run_profile(const ProfileSettings& s) {
    require(s.directory.empty() == s.text.empty(),
            "profile: --model needs --text, and the reverse");
    set_num_threads(s.threads);
    Generator generator(s.seed);
    const Subject subject =
        s.directory.empty() ? random_subject(s, generator) : trained_subject(s, generator);
    // So small a rate that a trained model stays what it is; it takes the same time.
    AdamW optimizer(decay_groups(*subject.model, 0.1), {.lr = 1e-9});
    ProfileReport report{.what = s.directory.empty() ? "GPT on random tokens" : s.directory,
                         .config = subject.model->config(),
                         .batch = s.batch,
                         .parameters = subject.model->parameter_count(),
                         .depth = s.depth,
                         .peak = measure_peak()};
    Profiler profiler(report.peak);
    constexpr std::int64_t kWarmUp = 3;
    double fastest = 0;
    Team::run([&] {  // as train() does
        for (std::int64_t step = 0; step < kWarmUp; ++step) take_step(subject, optimizer, profiler);
        reset_peak_memory();
        for (std::int64_t step = 0; step < s.steps; ++step) {
            profiler.restart();
            const double seconds = seconds_of([&] { take_step(subject, optimizer, profiler); });
            report.step_seconds.push_back(seconds);
            if (step > 0 && seconds >= fastest) continue;
            fastest = seconds;
            report.rows = profiler.rows();
            report.outside = profiler.outside();
        }
    });
    report.peak_bytes = memory_statistics().peak;
    fmt::print("{}\n", s.json ? to_json(report) : to_string(report));
    return kSuccess;
}

}  // namespace

void add_profile(Options& app) {
    auto s = std::make_shared<ProfileSettings>();
    Options& o = app.subcommand("profile",
                                "Where a training step's time goes, per operation and per module");
    Option model =
        o.text("--model", s->directory, "A directory that `tapestry train` wrote, or a GPT-2");
    o.text("--text", s->text, "The text that --model is run on");
    add_model_options(o, s->model, s->batch);
    o.count("--vocab", s->model.vocab, "Tokens in the vocabulary");
    for (const char* shape : {"--layers", "--heads", "--dim", "--context", "--vocab"}) {
        model.excludes(o.option(shape));
    }
    o.count("--steps", s->steps, "Steps to measure");
    o.count("--depth", s->depth,
            "Parts of a module's path to tell apart: 3 for blocks.*.attention; 0: all", {0, 100});
    o.seed(s->seed, "Of weights and batches");
    o.threads(s->threads);
    add_json(o, s->json);
    o.run([s] { return run_profile(*s); });
}

}  // namespace tapestry::cli
