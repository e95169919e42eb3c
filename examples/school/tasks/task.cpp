#include <tapestry/examples/school/tasks/task.h>

#include <tapestry/core/file.h>
#include <tapestry/nn/inspect/inspector.h>

namespace tapestry::examples {

bool held_out(std::string_view question, std::uint64_t every) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : question) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return (hash ^ hash >> 32) % every == 0;
}

void fit(Module& model, const TaskOptions& options, const std::function<Tensor()>& loss,
         const std::function<Score()>& score) {
    if (options.print) fmt::print("{} parameters\n", model.parameter_count());
    AdamW optimizer(decay_groups(model, 0.1), {.lr = options.rate, .beta2 = 0.99});
    const TrainOptions settings{.steps = options.steps,
                                .schedule = warmup_cosine_schedule(
                                    {.rate = options.rate,
                                     .min_rate = options.rate / 20,
                                     .warmup = std::min<std::int64_t>(100, options.steps / 10),
                                     .steps = options.steps}),
                                .eval_every = std::max<std::int64_t>(1, options.steps / 10)};
    const auto report = [&](const StepMetrics& m) {
        if (options.print && m.val_loss) {
            fmt::print("step {:5}  loss {:.4f}  held out {:5.1f} % right  {:.1f} s\n", m.step,
                       m.loss, 100 * *m.val_loss, m.seconds);
            std::fflush(stdout);
        }
        return true;
    };
    train(optimizer, settings,
          {.loss = loss,
           .evaluate =
               [&] {
                   const Answering answering(model);
                   return score().share();
               },
           .report = report});
}

void write_page(const TaskOptions& options, Module& model, const TaskQuestion& question) {
    if (options.page.empty()) return;
    const WatchedStep step(model, question.loss);
    const PageOptions page{
        .title = question.what,
        .subtitle = fmt::format("{}: {}, {} parameters; held out; loss {:.4f}", model.kind(),
                                model.settings(), model.parameter_count(), step.loss()),
        .texts = question.texts,
        .name_of = question.name_of,
        .image = question.image};
    write_result(options.page, to_html(step.inspector(), page));
    if (options.print) fmt::print("{}: one step on {}\n", options.page, question.what);
}

std::vector<std::string> characters_of(std::string_view text) {
    std::vector<std::string> characters;
    for (const char c : text) characters.emplace_back(1, c);
    return characters;
}

}  // namespace tapestry::examples
