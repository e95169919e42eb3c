#include <tapestry/nn/bench/profile.h>

#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/bench/measurement.h>
#include <tapestry/nn/io/model_with_text.h>
#include <tapestry/nn/models/check_memory.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/ops/machine_peak.h>

namespace tapestry::bench {
namespace {

// The work of a step that no tape records, counted from the parameters.
struct Outside {
    double numbers = 0;
    double bytes = 0;

    explicit Outside(const Tensors& parameters) {
        for (const Tensor& p : parameters) {
            numbers += static_cast<double>(p.numel());
            bytes += static_cast<double>(p.bytes());
        }
    }

    void mark(StepPhase phase, Profiler& profiler) const {
        switch (phase) {
            case StepPhase::zero_grad: return profiler.mark("zero_grad");
            case StepPhase::backward: return profiler.mark("gradients into grad()");
            case StepPhase::gradients: return profiler.mark("end of the tape");
            case StepPhase::reduce: return;
            case StepPhase::check: return profiler.mark("grad_norm", 2 * numbers, bytes);
            case StepPhase::update:  // reads p, g, m, v; writes p, m, v
                return profiler.mark("optimizer", 14 * numbers, 7 * bytes);
        }
    }
};

}  // namespace

StepProfile profile_step(Optimizer& optimizer, double lr, const std::function<void()>& draw,
                         const BatchLoss& loss, const ProfileOptions& options) {
    StepProfile profile{.peak = measure_peak()};
    Profiler profiler(profile.peak);
    const Outside outside(optimizer.parameters());
    TrainStep step(optimizer, {.ended = [&](StepPhase phase) { outside.mark(phase, profiler); }});
    const auto drawn_loss = [&] {
        draw();
        profiler.mark("batch");
        return loss();
    };
    double fastest = 0;
    for (std::int64_t i = 1; i <= options.warm_up; ++i) step.take(i, lr, drawn_loss);
    reset_peak_memory();
    for (std::int64_t i = 1; i <= options.steps; ++i) {
        profiler.restart();
        const double seconds = seconds_of([&] { step.take(options.warm_up + i, lr, drawn_loss); });
        profile.step_seconds.push_back(seconds);
        if (i > 1 && seconds >= fastest) continue;
        fastest = seconds;
        profile.rows = profiler.rows();
        profile.outside = profiler.outside();
    }
    profile.peak_bytes = memory_statistics().peak;
    return profile;
}

GPTProfile profile_gpt(const std::string& what, GPT& model, std::int64_t batch,
                       const std::function<Batch()>& next, const ProfileOptions& options) {
    constexpr double kRate = 1e-9;  // it takes the same time
    AdamW optimizer(decay_groups(model, 0.1), {.lr = kRate});
    Batch b;
    return {.what = what,
            .config = model.config(),
            .batch = batch,
            .parameters = model.parameter_count(),
            .profile = profile_step(
                optimizer, kRate, [&] { b = next(); },
                [&] { return model.loss(b.inputs, b.targets); }, options)};
}

GPTProfile profile_on_random_tokens(const GPTConfig& config, std::int64_t batch,
                                    const ProfileOptions& options, std::uint64_t seed) {
    check_memory(config, batch);
    Generator generator(seed);
    GPT model(config, generator);
    const std::int64_t context = config.context;
    const auto next = [&] {
        const Tensor ids = randint(0, config.vocab, {batch, context + 1}, generator);
        return Batch{views::slice(ids, 1, 0, context), views::slice(ids, 1, 1, context + 1)};
    };
    return profile_gpt("GPT on random tokens", model, batch, next, options);
}

GPTProfile profile_on_text(const std::string& model, const std::string& text, std::int64_t batch,
                           const ProfileOptions& options, std::uint64_t seed) {
    const ModelWithText loaded = load_model_with_text(model, text);
    const std::int64_t context = loaded.model->config().context;
    loaded.data.check_context(context);
    check_memory(loaded.model->config(), batch);
    Generator generator(seed);
    const auto next = [&] {
        return loaded.data.random_batch(Split::train, batch, context, generator);
    };
    return profile_gpt(model, *loaded.model, batch, next, options);
}

}  // namespace tapestry::bench
