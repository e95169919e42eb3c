#include <tapestry/nn/bench/step.h>

#include <tapestry/core/random.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/loop.h>

namespace tapestry::bench {

TakenSteps take_steps(const StepOptions& o) {
    Generator generator(1);
    GPT model(o.model, generator);
    AdamW optimizer(decay_groups(model, 0.1), {.lr = 1e-3, .beta2 = 0.99});
    const std::int64_t context = o.model.context;
    const auto loss = [&] {  // fresh random tokens each step, as a real training has
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

}  // namespace tapestry::bench
