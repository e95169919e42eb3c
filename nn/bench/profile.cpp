#include <tapestry/nn/bench/profile.h>

#include <tapestry/core/error.h>
#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/bench/measurement.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/models/gpt_config.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/task.h>
#include <tapestry/ops/machine_peak.h>

#include <algorithm>
#include <array>
#include <limits>

namespace tapestry::bench {

NetworkCost network_cost(const SharedStep& step, const Line& line) {
    require(!step.to_go.empty(), "network cost: a step without buckets");
    require(line.bytes_per_second > 0, "network cost: {} bytes per second", line.bytes_per_second);
    const double others = step.processes - 1;
    const double slice = step.bytes / step.processes;
    const double messages = others * line.seconds_per_message;
    const auto buckets = static_cast<double>(step.to_go.size());
    const double bucket =
        step.subtrees * (others * slice / buckets / line.bytes_per_second + messages);
    NetworkCost cost;
    if (step.processes > 1) {
        double end = -std::numeric_limits<double>::infinity();  // relative to the end of backward
        for (const double to_go : step.to_go) end = std::max(end, -to_go) + bucket;
        cost.gradients = bucket * buckets;
        cost.exposed = std::max(0.0, end + line.latency);
        cost.rest = others * slice / line.bytes_per_second + 3 * messages + 3 * line.latency;
    }
    cost.total = step.compute + cost.exposed + cost.rest;
    return cost;
}

SharedStep shared_by(const SharedStep& step, int processes, double work) {
    SharedStep other = step;
    other.processes = processes;
    other.compute *= work;
    for (double& to_go : other.to_go) to_go *= work;
    return other;
}

namespace {

// The work of a step outside the tape, computed from the parameters.
struct Outside {
    double numbers = 0;
    double bytes = 0;

    Outside(const Tensors& parameters, bool several) : several_(several) {
        for (const Tensor& p : parameters) {
            numbers += static_cast<double>(p.numel());
            bytes += static_cast<double>(p.bytes());
        }
    }

    double parameter_bytes() const { return bytes; }

    void mark(StepPhase phase, Profiler& profiler) const {
        switch (phase) {
            case StepPhase::zero_grad: return profiler.mark("zero_grad");
            case StepPhase::backward: return profiler.mark("gradients into grad()");
            case StepPhase::gradients: return profiler.mark("end of the tape");
            case StepPhase::reduce: return several_ ? profiler.mark("gradients of all") : void();
            case StepPhase::check: return profiler.mark("grad_norm", 2 * numbers, bytes);
            case StepPhase::update:  // reads p, g, m, v; writes p, m, v
                return profiler.mark("optimizer", 14 * numbers, 7 * bytes);
        }
    }

private:
    bool several_;  // more than one process
};

// The growth of DataParallel's counters in a step.
class MessageCount {
public:
    MessageCount(const TrainStep& step, const ProfileOptions& options, double bytes)
        : step_(step), options_(options), bytes_(bytes) {}

    void restart() { before_ = count(); }

    /// For the step since restart(), which took `seconds`.
    Messages of_step(double seconds) const {
        Messages m = count();
        for (double Messages::*number : kNumbers) m.*number -= before_.*number;
        if (m.processes == 1) return m;
        m.step = {.compute = std::max(0.0, seconds - m.waiting),
                  .to_go = step_.traffic().to_go,
                  .bytes = bytes_,
                  .processes = m.processes};
        return m;
    }

private:
    static constexpr std::array kNumbers{&Messages::bytes, &Messages::gradients, &Messages::waited,
                                         &Messages::parameters, &Messages::waiting};

    Messages count() const {
        if (options_.communicator == nullptr || options_.communicator->size() == 1) return {};
        const StepTraffic t = step_.traffic();
        return {.processes = options_.communicator->size(),
                .bytes = static_cast<double>(options_.communicator->bytes_sent()),
                .gradients = t.gradients,
                .waited = t.waited,
                .parameters = t.parameters,
                .waiting = options_.communicator->seconds()};
    }

    const TrainStep& step_;
    const ProfileOptions& options_;
    double bytes_;  // size of all parameters
    Messages before_ = {};
};

}  // namespace

StepProfile profile_step(Optimizer& optimizer, double lr, const std::function<void()>& draw,
                         const BatchLoss& loss, const ProfileOptions& options) {
    StepProfile profile{.peak = measure_peak(options.products)};
    Profiler profiler(profile.peak);
    const bool several = options.communicator != nullptr && options.communicator->size() > 1;
    const Outside outside(optimizer.parameters(), several);
    TrainStep step(optimizer, {.micro_batches = options.micro_batches,
                               .communicator = options.communicator,
                               .ended = [&](StepPhase phase) { outside.mark(phase, profiler); }});
    const auto drawn_loss = [&] {
        draw();
        profiler.mark("batch");
        return loss();
    };
    double fastest = 0;
    for (std::int64_t i = 1; i <= options.warm_up; ++i) step.take(i, lr, drawn_loss);
    reset_peak_memory();
    MessageCount messages(step, options, outside.parameter_bytes());
    for (std::int64_t i = 1; i <= options.steps; ++i) {
        profiler.restart();
        messages.restart();
        const double seconds = seconds_of([&] { step.take(options.warm_up + i, lr, drawn_loss); });
        profile.step_seconds.push_back(seconds);
        if (i > 1 && seconds >= fastest) continue;
        fastest = seconds;
        profile.rows = profiler.rows();
        profile.outside = profiler.outside();
        profile.messages = messages.of_step(seconds);
    }
    profile.peak_bytes = memory_statistics().peak;
    return profile;
}

namespace {

constexpr double kTinyRate = 1e-9;  // the time is the same

}  // namespace

ModelProfile profile_model(const std::string& what, LanguageModel& model, std::int64_t batch,
                           const std::function<Batch()>& next, const ProfileOptions& options) {
    require(batch % options.micro_batches == 0,
            "profile: micro_batches {} does not divide batch {}", options.micro_batches, batch);
    AdamW optimizer(decay_groups(model, 0.1), {.lr = kTinyRate});
    ProfileOptions of_model = options;
    of_model.products = product_dtype(model.model_config());
    Batch b;
    return {.what = what,
            .config = model.model_config(),
            .batch = batch,
            .parameters = model.parameter_count(),
            .flops = step_flops(model.model_config(), batch),
            .profile = profile_step(
                optimizer, kTinyRate, [&] { b = next(); },
                [&] { return model.loss(b.inputs, b.targets); }, of_model)};
}

ModelProfile profile_on_random_tokens(const ModelConfig& config, std::int64_t batch,
                                      const ProfileOptions& options, std::uint64_t seed) {
    check_memory(config, batch);
    Generator generator(seed);
    const auto model = make_model(config, generator);
    const std::int64_t vocab = common_settings(config).vocab;
    const std::int64_t context = common_settings(config).context;
    const auto next = [&] {
        const std::int64_t rows = batch / options.micro_batches;
        const Tensor ids = randint(0, vocab, {rows, context + 1}, generator);
        return Batch{views::slice(ids, 1, 0, context), views::slice(ids, 1, 1, context + 1)};
    };
    return profile_model(fmt::format("{} on random tokens", row_of(config).title), *model, batch,
                         next, options);
}

namespace {

ModelProfile profile_on_examples(const std::string& model, const std::string& file,
                                 std::int64_t batch, const ProfileOptions& options,
                                 std::uint64_t seed) {
    require(batch % options.micro_batches == 0,
            "profile: micro_batches {} does not divide batch {}", options.micro_batches, batch);
    const auto task = task_on_examples(model, file, batch / options.micro_batches);
    AdamW optimizer(decay_groups(task->model(), 0.1), {.lr = kTinyRate});
    ProfileOptions of_model = options;
    of_model.products = product_dtype(task->model_config());
    Generator generator(seed);
    Batch b;
    return {.what = model,
            .config = task->model_config(),
            .batch = batch,
            .parameters = task->model().parameter_count(),
            .flops = task->step_flops(batch),
            .profile = profile_step(
                optimizer, kTinyRate, [&] { b = task->next_batch(generator); },
                [&] { return task->loss(b); }, of_model)};
}

}  // namespace

ModelProfile profile_on_text(const std::string& model, const std::string& text, std::int64_t batch,
                             const ProfileOptions& options, std::uint64_t seed) {
    if (model_kind(model) != ModelKind::language_model) {
        require(options.context == 0, "profile: --context is for language models");
        return profile_on_examples(model, text, batch, options, seed);
    }
    const ModelWithText loaded = load_model_with_text(model, text);
    ModelConfig config = loaded.model->model_config();
    const std::int64_t most = common_settings(config).context;
    require(options.context <= most, "profile: --context {} is more than the model's context of {}",
            options.context, most);
    const std::int64_t context = options.context > 0 ? options.context : most;
    set_context(config, context);
    loaded.data.check_context(context);
    check_memory(config, batch);
    Generator generator(seed);
    const auto next = [&] {
        return loaded.data.random_batch(Split::train, batch / options.micro_batches, context,
                                        generator);
    };
    ModelProfile profile = profile_model(model, *loaded.model, batch, next, options);
    profile.config = config;
    profile.flops = step_flops(config, batch);
    return profile;
}

}  // namespace tapestry::bench
