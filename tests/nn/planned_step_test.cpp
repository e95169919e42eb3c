// Training with planned step memory: the bits of training without, also when interrupted by other
// work, in as much memory as is live at once, without system allocations.
#include <tapestry/core/file.h>
#include <tapestry/core/parallel.h>
#include <tapestry/core/planned_memory.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/catalog/checked_modules.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/optim/adam.h>
#include <tapestry/nn/train/session.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>

using namespace tapestry;

namespace {

using Numbers = std::vector<std::vector<double>>;

void check_report(const PlannedMemory* memory, std::int64_t steps) {
    REQUIRE(memory != nullptr);
    const auto report = memory->report();
    INFO(plan_text(report));
    CHECK_GE(report.followed, steps - 3);  // two are observed, one more has other moments
    CHECK_EQ(report.left, 0);
    CHECK_GE(report.places + 2, report.blocks);  // a batch is freed when the next one exists
    CHECK_LE(static_cast<double>(report.bytes), 1.05 * static_cast<double>(report.least));
}

// A small GPT, trained with accumulation, dropout and clipping.
struct Training {
    explicit Training(bool plan, TrainStepOptions options = {.accumulate = 2, .clip = 0.5})
        : model(kConfig, generator), optimizer(decay_groups(model, 0.1), {.lr = 1e-2}) {
        options.plan = plan;
        step.emplace(optimizer, options);
    }

    Tensor loss() {
        const Tensor ids = randint(0, kConfig.vocab, {batch, kConfig.context + 1}, generator);
        return model.loss(views::slice(ids, 1, 0, kConfig.context),
                          views::slice(ids, 1, 1, kConfig.context + 1));
    }

    void take(int steps) {
        for (int i = 0; i < steps; ++i) {
            const StepResult result = step->take(++taken, 1e-2, [this] { return loss(); });
            losses.push_back(result.loss);
            losses.push_back(result.grad_norm);
        }
    }

    const GPTConfig kConfig{
        .vocab = 13, .context = 12, .layers = 2, .heads = 2, .dim = 24, .dropout = 0.2};
    Generator generator{5};
    std::int64_t batch = 4;
    GPT model;
    AdamW optimizer;
    std::optional<TrainStep> step;
    std::int64_t taken = 0;
    std::vector<double> losses;
};

void check_same(const Training& planned, const Training& eager) {
    CHECK(planned.losses == eager.losses);
    CHECK(test::numbers_of(planned.model) == test::numbers_of(eager.model));
}

}  // namespace

TEST_CASE("planned step: the bits of one without a plan, every module of the catalogue") {
    constexpr std::int64_t kSteps = 7;
    const auto trained = [](const std::string& name, bool plan) {
        const catalog::CheckedModule example = catalog::checked_module(name);
        if (example.module->parameters().empty()) return Numbers();
        AdamW optimizer(*example.module, {.lr = 1e-3});
        TrainStep step(optimizer, {.plan = plan});
        for (std::int64_t i = 1; i <= kSteps; ++i) {
            step.take(i, 1e-3, [&] { return mean(square(example.value())); });
        }
        if (plan) check_report(step.planned_memory(), kSteps);
        return test::numbers_of(*example.module);
    };
    for (const std::string& name : catalog::checked_module_names()) {
        INFO(name);
        CHECK(trained(name, true) == trained(name, false));
    }
}

TEST_CASE("planned step: dropout, accumulation and clipping; an evaluation, another shape") {
    for (const int threads : {1, 2}) {
        const ThreadsGuard guard(threads);
        Training planned(true), eager(false);
        for (Training* training : {&planned, &eager}) {
            training->take(8);
            training->losses.push_back(training->loss().item());  // outside a step
            training->take(4);
            training->batch = 3;
            training->take(2);
            training->batch = 4;
            training->take(4);
        }
        check_same(planned, eager);
        const auto report = planned.step->planned_memory()->report();
        CHECK_EQ(report.left, 2);
        CHECK_EQ(report.followed, 13);
        CHECK(report.why_left.starts_with("step 13 allocated "));
    }
}

TEST_CASE("planned step: micro-batches") {
    const TrainStepOptions options{.accumulate = 2, .micro_batches = 2};
    Training planned(true, options), eager(false, options);
    planned.take(9);
    eager.take(9);
    check_same(planned, eager);
    check_report(planned.step->planned_memory(), 9);
}

TEST_CASE("planned step: gradients that are kept do not change") {
    Training planned(true), eager(false);
    std::vector<Tensor> kept;
    std::vector<std::vector<double>> wanted;
    for (int i = 0; i < 10; ++i) {
        planned.take(1);
        eager.take(1);
        kept.push_back(planned.model.parameters()[1].grad());
        wanted.push_back(kept.back().to_vector<double>());
    }
    check_same(planned, eager);
    for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i].to_vector<double>() == wanted[i]);
}

TEST_CASE("planned step: nothing is asked of the system, and no more is held than is needed") {
    if (test::kAddressSanitizer) return;
    Training planned(true);
    planned.take(6);
    release_cached_memory();
    reset_peak_memory();
    const auto before = memory_statistics();
    planned.take(10);
    const auto after = memory_statistics();
    CHECK_EQ(after.system, before.system);
    CHECK_EQ(after.current, before.current);
    CHECK_EQ(after.cached, before.cached);
    // Bytes held, compared with the peak of live tensors: includes parameters and moments.
    CHECK_LE(static_cast<double>(after.current + after.cached),
             1.05 * static_cast<double>(after.peak));
}

TEST_CASE("planned step: a session with dropout and evaluations") {
    const test::Scratch scratch;
    std::string text;
    for (int i = 0; i < 40; ++i) text += "The cat sat on mat " + std::to_string(i * i % 17) + ".\n";
    write_file_atomically(scratch / "t.txt", text);
    const auto trained = [&](bool plan) {
        set_planning(plan);
        Session session(
            {.text = (scratch / "t.txt").string(),
             .model = {.context = 8, .layers = 1, .heads = 2, .dim = 16, .dropout = 0.1},
             .batch = 4,
             .steps = 12,
             .warmup = 2,
             .eval_every = 4,
             .eval_batches = 2});
        set_planning(false);
        std::vector<double> losses;
        while (!session.is_finished()) {
            const StepMetrics m = session.take_step();
            losses.push_back(m.val_loss.value_or(m.loss));
        }
        CHECK_EQ(session.planned_memory() != nullptr, plan);
        if (plan) check_report(session.planned_memory(), 12);
        return std::pair{losses, test::numbers_of(session.model())};
    };
    CHECK(trained(true) == trained(false));
}

TEST_CASE("planned step: what became of it, in a line") {
    CHECK_EQ(plan_text({}), "plan: none (no two consecutive steps allocated the same blocks)\n");
    CHECK_EQ(plan_text({.blocks = 110,
                        .places = 110,
                        .bytes = 2521088,
                        .least = 2519040,
                        .followed = 996,
                        .left = 1,
                        .why_left = "step 5 ended after 3 blocks; 110 were planned"}),
             "plan: the 110 blocks of a step in 2.52 MB, at most 2.52 MB in use at once; 996 steps "
             "followed it, 1 did not (step 5 ended after 3 blocks; 110 were planned)\n");
}
