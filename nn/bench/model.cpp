#include <tapestry/nn/bench/model.h>

#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/generate/sample.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/loop.h>
#include <tapestry/ops/machine_peak.h>

#if defined(__linux__)
#include <sched.h>
#endif

#include <utility>
#include <vector>

namespace tapestry::bench {

TakenSteps take_steps(const StepOptions& o) {
    Generator generator(1);
    GPT model(o.model, generator);
    AdamW optimizer(decay_groups(model, 0.1), {.lr = 1e-3, .beta2 = 0.99});
    const std::int64_t context = o.model.context;
    const auto loss = [&] {  // fresh random tokens each step, as in real training
        const Tensor ids = randint(0, o.model.vocab, {o.batch, context + 1}, generator);
        return model.loss(views::slice(ids, 1, 0, context), views::slice(ids, 1, 1, context + 1));
    };
    TakenSteps taken{.seconds = {}, .parameters = model.parameter_count()};
    const auto report = [&](const StepMetrics& m) {
        if (m.step == o.warm_up) reset_peak_memory();
        if (m.step > o.warm_up) taken.seconds.push_back(m.step_seconds);
        return true;
    };
    train(optimizer, {.steps = o.steps + o.warm_up},
          {.loss = loss, .evaluate = {}, .report = report});
    return taken;
}

StepRow measure_step(const StepOptions& o) {
    const TakenSteps taken = take_steps(o);
    const Times times = times_of(taken.seconds);
    const Measurement measurement{.what = "step",
                                  .times = times,
                                  .flops = step_flops(o.model, o.batch),
                                  .peak_bytes = memory_statistics().peak};
    return {.measurement = measurement,
            .parameters = taken.parameters,
            .tokens_per_second = static_cast<double>(o.batch * o.model.context) / times.median,
            .fastest_flops = measurement.fastest_flops()};
}

namespace {

// If the system refuses, the thread spins on any core.
void bind_to_last_core() {
#if defined(__linux__)
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (int core = CPU_SETSIZE; core-- > 0;) {
        if (!CPU_ISSET(core, &allowed)) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        static_cast<void>(::sched_setaffinity(0, sizeof one, &one));  // 0: the calling thread
        return;
    }
#endif
}

void append(std::vector<double>& all, const std::vector<double>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Spinner::Spinner()
    : thread_([this] {
          bind_to_last_core();
          spins_ = true;
          while (!over_) continue;
      }) {
    while (!spins_) std::this_thread::yield();
}

Spinner::~Spinner() {
    over_ = true;
    thread_.join();
}

BusyRow measure_busy(const BusyOptions& options) {
    std::vector<double> quiet, busy;
    BusyRow row;
    for (std::int64_t round = 0; round < options.rounds; ++round) {
        const TakenSteps alone = take_steps(options.step);
        append(quiet, alone.seconds);
        row.parameters = alone.parameters;
        const Spinner spinner;
        append(busy, take_steps(options.step).seconds);
    }
    row.quiet = times_of(std::move(quiet));
    row.busy = times_of(std::move(busy));
    return row;
}

namespace {

// Seconds to generate `tokens` tokens at temperature 0, and the tokens.
std::pair<double, std::vector<std::int64_t>> timed_sample(const LanguageModel& model,
                                                          std::int64_t tokens, bool cache) {
    Generator generator(1);
    const SampleOptions options{.tokens = tokens, .temperature = 0, .cache = cache};
    std::vector<std::int64_t> ids;
    const double seconds = seconds_of([&] { ids = sample(model, {0}, options, generator); });
    return {seconds, std::move(ids)};
}

}  // namespace

SamplingRow measure_sampling(const SamplingOptions& o) {
    Generator generator(1);
    GPT model(o.model, generator);
    model.eval();
    SamplingRow row;
    row.parameters = model.parameter_count();
    // The least that one token needs: every weight read once, except the position table, which is
    // looked up.
    const double size = o.weights == WeightType::f32 ? 4 : o.weights == WeightType::bf16 ? 2 : 1;
    row.bytes = size * static_cast<double>(row.parameters - o.model.context * o.model.dim);
    quantize_weights(model, o.weights);
    row.read_speed = measure_reading(static_cast<std::size_t>(row.bytes));
    timed_sample(model, o.tokens, true);  // warm-up
    reset_peak_memory();
    std::vector<double> seconds;
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 3; ++i) {
        auto [taken, written] = timed_sample(model, o.tokens, true);
        seconds.push_back(taken);
        ids = std::move(written);
    }
    row.peak_bytes = memory_statistics().peak;
    const auto [without, same] = timed_sample(model, o.tokens, false);
    const auto count = static_cast<double>(o.tokens);
    const Times times = times_of(seconds);
    row.token = {times.median / count, times.min / count};
    row.tokens_per_second_without_cache = count / without;
    row.same_tokens = ids == same;
    return row;
}

}  // namespace tapestry::bench
