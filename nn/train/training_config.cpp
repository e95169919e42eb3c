#include <tapestry/nn/train/training_config.h>

#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/config_file.h>

#include <type_traits>
#include <utility>

namespace tapestry {

std::int64_t TrainingConfig::micro_batch_size() const {
    require(micro_batches >= 1, "train: micro_batches {}; at least 1 is needed", micro_batches);
    require(batch % micro_batches == 0,
            "train: micro_batches {} does not divide batch {}; all parts are of one size",
            micro_batches, batch);
    return batch / micro_batches;
}

TrainOptions TrainingConfig::loop() const {
    TrainOptions options{.steps = steps,
                         .accumulate = accumulate,
                         .micro_batches = micro_batches,
                         .clip = clip,
                         .schedule = {},
                         .eval_every = eval_every};
    if (schedule == RateCurve::cosine) {
        options.schedule = warmup_cosine_schedule(
            {.rate = lr, .min_rate = min_lr, .warmup = warmup, .steps = steps});
    } else {
        options.schedule = trapezoid_schedule({.rate = lr,
                                               .min_rate = min_lr,
                                               .warmup = warmup,
                                               .steps = steps,
                                               .cooldown = cooldown});
    }
    return options;
}

void check_names(const TrainingConfig& config) {
    for_each_field<TrainingConfig>([&](const auto& one) {
        if constexpr (std::is_same_v<decltype(config.*one.member), const std::string&>) {
            const std::string& name = config.*one.member;
            require(!utf8::find_flaw(name),
                    "training: {} {} is not UTF-8, and a checkpoint could not say where it lies; a "
                    "link of another name will do",
                    one.name, utf8::quoted(name, 300));
        }
    });
}

std::string to_json(const TrainingConfig& config) {
    check_names(config);
    ConfigWriter model, all;
    write_fields(model, config.model, WhichFields::all);  // the deviation at the start, too
    write_fields(all, config);
    all.set("model", model);
    return all.text();
}

void check_counts(const TrainingConfig& config) {
    check_positive("training", config);
    require(config.model.context > 0, "training: context is {}; it must be positive",
            config.model.context);
    std::int64_t tokens = config.batch;
    const bool overflows = __builtin_mul_overflow(tokens, config.model.context, &tokens) ||
                           __builtin_mul_overflow(tokens, config.accumulate, &tokens);
    require(!overflows, "training: {} batches of {} sequences of {} tokens are too many to count",
            config.accumulate, config.batch, config.model.context);
}

TrainingConfig training_config_from_json(std::string_view json, std::string what) {
    const ConfigFile file(json, what);
    auto config = read_fields<TrainingConfig>(file);
    config.model = read_fields<GPTConfig>(file.object("model"), WhichFields::all);
    try {
        check_counts(config);
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", what, error.what());
    }
    return config;
}

}  // namespace tapestry
